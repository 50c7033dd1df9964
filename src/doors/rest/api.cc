#include "doors/rest/api.h"

#include <nlohmann/json.hpp>

#include "doors/rest/json_body.h"
#include "doors/rest/openapi.h"
#include "doors/rest/tascaas_calls.h"

namespace dunlin::rest {

Family api_family() {
  Family family{
      .prefix = "/api/v1", .style = Style::problem, .bearer = true, .checked = true, .routes = {}};
  add_health_routes(family.routes);
  add_job_routes(family.routes);
  add_task_routes(family.routes);
  add_partition_routes(family.routes);
  add_event_routes(family.routes);
  add_pool_routes(family.routes);
  add_blob_routes(family.routes);
  add_document_routes(family.routes);
  return family;
}

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

std::vector<Family> all_families() { return {api_family(), tenant_family(), tascaas_family()}; }

}  // namespace dunlin::rest
