#include "doors/rest/families.h"

#include <nlohmann/json.hpp>

#include "doors/rest/api/api.h"
#include "doors/rest/bodies/json_body.h"
#include "doors/rest/bodies/openapi.h"
#include "doors/rest/tascaas/calls.h"

namespace dunlin::rest {
namespace {

Family tascaas_family() {
  Family family{
      .prefix = "", .style = Style::plain, .bearer = false, .checked = false, .routes = {}};
  add_node_routes(family.routes);
  add_lb_routes(family.routes);
  add_file_routes(family.routes);
  family.routes.push_back(
      {.method = "GET",
       .pattern = "/openapi.json",
       .summary = "This document",
       .reply_schema = R"({"type":"object","required":["openapi","info","paths"]})",
       .handler = [](Call& call, Store& /*store*/) {
         return reply_json(call, 200, openapi_document(*call.match().family));
       }});
  return family;
}

}  // namespace

std::vector<Family> all_families() { return {api_family(), tenant_family(), tascaas_family()}; }

}  // namespace dunlin::rest
