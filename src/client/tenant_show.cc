// What `dunlin tenant jobs` and `dunlin infra` show.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "balance/advice.h"
#include "base/env_posix.h"
#include "base/exit.h"
#include "base/text.h"
#include "client/tenant_verbs.h"
#include "tascaas/dispatcher.h"
#include "tascaas/overview.h"
#include "tascaas/tenants.h"

namespace dunlin {
namespace {

using nlohmann::ordered_json;

std::string job_json(const tascaas::JobStatus& job) {
  ordered_json object = json_object();
  object["job"] = job.id;
  object["file"] = job.file;
  object["state"] = job.state;
  if (!job.refused.empty()) object["refused"] = job.refused;
  object["taken_ms"] = job.taken_ms;
  if (job.refused.empty()) {
    object["iterations"] = job.iterations;
    object["done"] = job.done;
    object["partitions"] = job.partitions;
    object["waiting"] = job.waiting;
    object["running"] = job.running;
    object["finished"] = job.finished;
    object["eta_s"] = job.eta ? ordered_json(*job.eta) : ordered_json(nullptr);
  }
  return json_line(object);
}

std::string infra_json(const std::string& tenant, const balance::Infrastructure& one, bool live,
                       double required) {
  ordered_json object = json_object();
  object["tenant"] = tenant;
  object["infrastructure"] = one.id;
  object["slots"] = one.slots;
  object["max_slots"] = one.max_slots;
  object["seen_ms"] = one.seen.time_since_epoch().count();
  object["state"] = live ? "live" : "silent";
  object["required_cap"] = required;
  object["advised_slots"] = balance::slots_advised(required, one.slots, one.max_slots);
  return json_line(object);
}

}  // namespace

Result<int> run(const TenantJobsVerb& verb, const StoreTarget& target) {
  const auto store = TRY(open_target(target, Missing::refuse));
  const tascaas::Tenant tenant = TRY(tascaas::read_tenant(store->table(), verb.name));
  Columns columns({{"JOB"},
                   {"STATE"},
                   {"PARTS", true},
                   {"DONE", true},
                   {"OF", true},
                   {"ETA", true},
                   {"REASON"}});
  std::string lines;
  for (const tascaas::JobStatus& job :
       TRY(tascaas::list_jobs(store->table(), tenant, posix_clock().wall()))) {
    lines += target.json ? job_json(job) : fmt::format("{} {}\n", job.id, job.state);
    columns.add({job.id, job.state, std::to_string(job.partitions), std::to_string(job.done),
                 std::to_string(job.iterations),
                 job.eta ? human_duration(std::chrono::seconds(*job.eta)) : "-",
                 job.refused.empty() ? "-" : cell(job.refused)});
  }
  TRY(print(target.form() == Form::plain ? columns.text() : lines));
  return kExitDone;
}

Result<int> run(const InfraVerb&, const StoreTarget& target) {
  const auto store = TRY(open_target(target, Missing::refuse));
  const WallTime now = posix_clock().wall();
  Columns columns({{"TENANT"},
                   {"INFRASTRUCTURE"},
                   {"STATE"},
                   {"SLOTS", true},
                   {"MAX", true},
                   {"ADVISED", true},
                   {"SEEN"}});
  std::string lines;
  for (const tascaas::Tenant& tenant : TRY(tascaas::list_tenants(store->table()))) {
    const auto dispatch = TRY(tascaas::read_dispatch(store->table(), tenant.name(), now));
    for (const balance::Infrastructure& one : dispatch.infrastructures) {
      const bool live = balance::is_live(one, Millis(tenant.scale_ms()), now);
      const double seconds =
          std::chrono::duration<double>(std::max(now - one.seen, Millis(0))).count();
      lines +=
          target.json ? infra_json(tenant.name(), one, live, dispatch.required) : one.id + "\n";
      columns.add(
          {tenant.name(), one.id, live ? "live" : "silent", std::to_string(one.slots),
           std::to_string(one.max_slots),
           std::to_string(balance::slots_advised(dispatch.required, one.slots, one.max_slots)),
           ago(seconds)});
    }
  }
  TRY(print(target.form() == Form::plain ? columns.text() : lines));
  return kExitDone;
}

}  // namespace dunlin
