// /api/v1/version, and /api/v1/openapi.json: the document about this API.
#include <nlohmann/json.hpp>

#include "doors/rest/api/api.h"
#include "doors/rest/bodies/json_body.h"
#include "doors/rest/bodies/openapi.h"
#include "doors/rest/server/call.h"
#include "model/views/json.h"

namespace dunlin::rest {
namespace {

Result<void> get_document(Call& call, Store& /*store*/) {
  return reply_json(call, 200, openapi_document(*call.match().family));
}

Result<void> get_version(Call& call, Store& /*store*/) {
  nlohmann::ordered_json object = json_object();
  object["version"] = DUNLIN_VERSION;
  object["api"] = call.match().family->prefix;
  return reply_json(call, 200, object);
}

}  // namespace

void add_document_routes(std::vector<Route>& routes) {
  routes.push_back({.method = "GET",
                    .pattern = "/version",
                    .summary = "Which version this is",
                    .scope = "read",
                    .reply_schema = R"({"$ref":"#/components/schemas/Version"})",
                    .handler = get_version});
  routes.push_back({.method = "GET",
                    .pattern = "/openapi.json",
                    .summary = "This document",
                    .scope = "read",
                    .reply_schema = R"({"type":"object","required":["openapi","info","paths"]})",
                    .handler = get_document});
}

}  // namespace dunlin::rest
