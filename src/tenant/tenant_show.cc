// What `dunlin tenant jobs` and `dunlin infra` show.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/text.h"
#include "tascaas/infrastructures.h"
#include "tascaas/overview.h"
#include "tascaas/tenants.h"
#include "tenant/tenant_verbs.h"

namespace dunlin::tenant {
namespace {

// One row for each of its partitions.
Result<int> show_partitions(Table& table, const tascaas::Tenant& tenant, const std::string& job,
                            const cli::StoreTarget& target) {
  const tascaas::JobDetail detail =
      TRY(tascaas::read_job_detail(table, tenant, job, posix_clock().wall()));
  cli::Columns columns({{"PARTITION", true},
                        {"STATE"},
                        {"DONE", true},
                        {"OF", true},
                        {"SPEED", true},
                        {"INFRASTRUCTURE"}});
  std::string lines;
  for (const tascaas::PartitionStatus& one : detail.partitions) {
    lines += target.json ? cli::json_line(tascaas::partition_json(one))
                         : fmt::format("{} {}\n", one.partition, one.state);
    columns.add({std::to_string(one.partition), std::string(one.state), std::to_string(one.done),
                 std::to_string(one.assigned),
                 one.speed > 0 ? fmt::format("{:.4g}/s", one.speed) : "-",
                 one.holder.empty() ? "-" : one.holder});
  }
  TRY(cli::print(target.form() == cli::Form::plain ? columns.text() : lines));
  return kExitDone;
}

}  // namespace

Result<int> run(const TenantJobsVerb& verb, const cli::StoreTarget& target) {
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  const tascaas::Tenant tenant = TRY(tascaas::read_tenant(store->table(), verb.name));
  if (!verb.job.empty()) return show_partitions(store->table(), tenant, verb.job, target);
  cli::Columns columns({{"JOB"},
                        {"STATE"},
                        {"PARTS", true},
                        {"DONE", true},
                        {"OF", true},
                        {"ETA", true},
                        {"REASON"}});
  std::string lines;
  for (const tascaas::JobStatus& job :
       TRY(tascaas::list_jobs(store->table(), tenant, posix_clock().wall()))) {
    lines += target.json ? cli::json_line(tascaas::job_json(job))
                         : fmt::format("{} {}\n", job.id, job.state);
    columns.add({job.id, job.state, std::to_string(job.partitions), std::to_string(job.done),
                 std::to_string(job.iterations),
                 job.eta ? human_time(std::chrono::seconds(*job.eta)) : "-",
                 job.refused.empty() ? "-" : cli::cell(job.refused)});
  }
  TRY(cli::print(target.form() == cli::Form::plain ? columns.text() : lines));
  return kExitDone;
}

Result<int> run(const InfraVerb&, const cli::StoreTarget& target) {
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  const WallTime now = posix_clock().wall();
  cli::Columns columns({{"TENANT"},
                        {"INFRASTRUCTURE"},
                        {"STATE"},
                        {"SLOTS", true},
                        {"MAX", true},
                        {"ADVISED", true},
                        {"SEEN"}});
  std::string lines;
  for (const tascaas::InfraStatus& status :
       TRY(tascaas::list_infrastructures(store->table(), now))) {
    const balance::Infrastructure& one = status.infrastructure;
    const double seconds =
        std::chrono::duration<double>(std::max(now - one.seen, Millis(0))).count();
    lines += target.json ? cli::json_line(tascaas::infra_json(status)) : one.id + "\n";
    columns.add({status.tenant.empty() ? "-" : status.tenant, one.id, std::string(status.state()),
                 std::to_string(one.slots), std::to_string(one.max_slots),
                 std::to_string(status.advised()), cli::ago(seconds)});
  }
  TRY(cli::print(target.form() == cli::Form::plain ? columns.text() : lines));
  return kExitDone;
}

}  // namespace dunlin::tenant
