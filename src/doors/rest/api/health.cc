// /api/v1/health: whether the service and its store answer.
#include <nlohmann/json.hpp>

#include "doors/rest/api/api.h"
#include "doors/rest/server/call.h"
#include "model/keys.h"

namespace dunlin::rest {
namespace {

// Whether the service and its store answer. The store is asked for something that is not there, in
// a table that all tokens may read.
Result<void> get_health(Call& call, Store& store) {
  const std::string key = "health";
  TRY(store.table().get(kWorkers, std::span(&key, 1)));
  return call.reply(200, "application/json",
                    nlohmann::json{{"status", "ok"}, {"version", DUNLIN_VERSION}}.dump() + "\n");
}

}  // namespace

void add_health_routes(std::vector<Route>& routes) {
  routes.push_back({.method = "GET",
                    .pattern = "/health",
                    .summary = "Whether the service and its store answer",
                    .scope = "read",
                    .reply_schema = R"({"type":"object","properties":{"status":{"type":"string"},
                      "version":{"type":"string"}},"required":["status","version"]})",
                    .handler = get_health});
}

}  // namespace dunlin::rest
