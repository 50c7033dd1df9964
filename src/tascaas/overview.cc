#include "tascaas/overview.h"

#include <algorithm>

#include "balance/task.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

void describe(const Job& job, const Tenant& tenant, WallTime now, JobStatus& status) {
  status.iterations = job.iterations();
  status.done = done_of(job);
  status.partitions = static_cast<size_t>(job.partitions_size());
  for (const Job::Partition& one : job.partitions()) {
    if (one.finished()) {
      ++status.finished;
    } else if (one.started()) {
      ++status.running;
    } else {
      ++status.waiting;
    }
  }
  if (job.begun_ms() != 0 && job.eta() < balance::kEtaUnknown) status.eta = job.eta();
  if (job.ended_ms() != 0) {
    status.state = "done";
    status.eta = 0;
  } else if (now - last_sign(job) > Millis(tenant.timeout_ms())) {
    status.state = "lost";
  } else if (std::ranges::any_of(job.partitions(), is_hopeless)) {
    status.state = "failed";
  } else {
    status.state = job.begun_ms() != 0 ? "running" : "waiting";
  }
}

}  // namespace

Result<std::vector<JobStatus>> list_jobs(Table& table, const Tenant& tenant, WallTime now) {
  std::vector<JobStatus> all;
  const std::string prefix = intake_row(tenant.name(), "");
  for (const Row& row : TRY(scan_all(table, prefix))) {
    const auto intake = TRY(parse_row<Intake>(kTable, row)).record;
    JobStatus status;
    status.id = row.key.substr(prefix.size());
    status.file = intake.file();
    status.refused = intake.refused();
    status.taken_ms = intake.at_ms();
    status.state = "refused";
    if (intake.refused().empty()) {
      const auto job = read_tascaas_job(table, status.id);
      if (!job.ok() && job.error().code == Code::not_found) continue;  // Being removed.
      describe(TRY(job).record, tenant, now, status);
    }
    all.push_back(std::move(status));
  }
  std::ranges::stable_sort(all, {}, &JobStatus::taken_ms);
  return all;
}

}  // namespace dunlin::tascaas
