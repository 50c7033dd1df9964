// /api/v1/workers, queues and infrastructures: what there is to run jobs.
#include <nlohmann/json.hpp>

#include "doors/rest/api/api.h"
#include "doors/rest/api/calls.h"
#include "doors/rest/bodies/json_body.h"
#include "model/views/json.h"
#include "model/workers.h"
#include "tascaas/infrastructures.h"

namespace dunlin::rest {
namespace {

using nlohmann::ordered_json;

Result<void> get_workers(Call& call, Store& store) {
  const std::string* after = call.query("after");
  const auto max = static_cast<size_t>(call.number("max", kPageDefault));
  const auto workers = TRY(read_workers(store.table(), after == nullptr ? "" : *after, max));
  ordered_json reply;
  reply["workers"] = ordered_json::array();
  for (const model::WorkerInfo& worker : workers) {
    reply["workers"].push_back(worker_json(worker, call.now()));
  }
  if (workers.size() == max) reply["next"] = workers.back().id();
  return reply_json(call, 200, reply);
}

Result<void> get_queue(Call& call, Store& store) {
  const std::string& name = call.path("name");
  return reply_json(call, 200, depth_json(name, TRY(store.queue().depth(name))));
}

Result<void> get_infrastructures(Call& call, Store& store) {
  ordered_json reply;
  reply["infrastructures"] = ordered_json::array();
  for (const auto& one : TRY(tascaas::list_infrastructures(store.table(), call.now()))) {
    reply["infrastructures"].push_back(tascaas::infra_json(one));
  }
  return reply_json(call, 200, reply);
}

}  // namespace

void add_pool_routes(std::vector<Route>& routes) {
  routes.push_back({.method = "GET",
                    .pattern = "/workers",
                    .summary = "The workers, by id",
                    .parameters = {kMax,
                                   {.name = "after",
                                    .least = 1,
                                    .most = 512,
                                    .summary = "The id of the last worker of the page before"}},
                    .scope = "read",
                    .reply_schema = R"({"$ref":"#/components/schemas/Workers"})",
                    .handler = get_workers});
  routes.push_back({.method = "GET",
                    .pattern = "/queues/{name}",
                    .summary = "How many messages a queue has",
                    .parameters = {{.name = "name",
                                    .in = In::path,
                                    .required = true,
                                    .least = 1,
                                    .most = 64,
                                    .summary = "Of A-Z a-z 0-9 . _ -"}},
                    .scope = "read",
                    .reply_schema = R"({"$ref":"#/components/schemas/Depth"})",
                    .handler = get_queue});
  routes.push_back({.method = "GET",
                    .pattern = "/infrastructures",
                    .summary = "The infrastructures of all tenants, and what each is advised",
                    .scope = "admin",
                    .reply_schema = R"({"$ref":"#/components/schemas/Infrastructures"})",
                    .handler = get_infrastructures});
}

}  // namespace dunlin::rest
