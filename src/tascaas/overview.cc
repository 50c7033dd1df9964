#include "tascaas/overview.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "balance/task.h"
#include "base/names.h"
#include "model/views/json.h"
#include "tascaas/intake.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

// Nobody is heard of, and nothing waits that would go on as soon as an infrastructure comes.
bool is_silent(const Job& job, const Tenant& tenant, WallTime now) {
  return now - last_sign(job) > Millis(tenant.timeout_ms()) &&
         std::ranges::none_of(job.partitions(), &Job::Partition::queued);
}

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
  const bool forecast = is_balanced(job) && job.eta() < balance::kEtaUnknown;
  if (job.begun_ms() != 0 && forecast) status.eta = job.eta();
  if (job.ended_ms() != 0) {
    status.state = "done";
    status.eta = 0;
  } else if (is_silent(job, tenant, now)) {
    status.state = "lost";
  } else if (has_failed(job)) {
    status.state = "failed";
  } else {
    status.state = job.begun_ms() != 0 ? "running" : "waiting";
  }
}

std::string_view state_of(const Job::Partition& partition, bool results) {
  if (partition.spare()) return "spare";
  if (partition.finished()) return results || partition.done() == 0 ? "done" : "finished";
  if (is_hopeless(partition)) return "failed";
  if (partition.started()) return "running";
  return partition.queued() ? "waiting" : "handed";
}

}  // namespace

Result<JobDetail> read_job_detail(Table& table, const Tenant& tenant, const std::string& id,
                                  WallTime now) {
  const Job job = TRY(read_tascaas_job(table, id)).record;
  if (job.tenant() != tenant.name()) {
    return Error{Code::not_found, fmt::format("there is no job {}", quote(id))};
  }
  JobDetail detail;
  detail.job.id = id;
  detail.job.file = job.file();
  detail.job.taken_ms = job.created_ms();
  describe(job, tenant, now, detail.job);
  std::vector<std::string> rows;
  for (int i = 0; i < job.partitions_size(); ++i) {
    rows.push_back(file_row(tenant.name(), result_key(id, std::to_string(i), "results.dat")));
  }
  const std::vector<Row> results = TRY(get_rows(table, kTable, rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    const Job::Partition& one = job.partitions(static_cast<int>(i));
    const bool there = results[i].version != 0;
    detail.partitions.push_back(
        {.partition = i,
         .state = state_of(one, there),
         .assigned = one.assigned(),
         .done = one.done(),
         .speed = one.measures_size() > 0 ? one.measures().rbegin()->speed() : 0,
         .holder = one.holder(),
         .turn = one.turn(),
         .heard_ms = one.heard_ms(),
         .results = there});
  }
  return detail;
}

nlohmann::ordered_json job_json(const JobStatus& job) {
  nlohmann::ordered_json object = json_object();
  if (job.refused.empty()) object["job"] = job.id;
  object["file"] = job.file;
  object["state"] = job.state;
  if (!job.refused.empty()) object["refused"] = job.refused;
  object["taken_ms"] = job.taken_ms;
  if (!job.refused.empty()) return object;
  object["iterations"] = job.iterations;
  object["done"] = job.done;
  object["partitions"] = job.partitions;
  object["waiting"] = job.waiting;
  object["running"] = job.running;
  object["finished"] = job.finished;
  object["eta_s"] = job.eta ? nlohmann::ordered_json(*job.eta) : nlohmann::ordered_json(nullptr);
  return object;
}

nlohmann::ordered_json partition_json(const PartitionStatus& partition) {
  nlohmann::ordered_json object = json_object();
  object["partition"] = partition.partition;
  object["state"] = partition.state;
  object["assigned"] = partition.assigned;
  object["done"] = partition.done;
  object["speed"] = partition.speed;
  object["infrastructure"] = partition.holder;
  object["turn"] = partition.turn;
  object["heard_ms"] = partition.heard_ms;
  object["results"] = partition.results;
  return object;
}

Result<JobPage> page_jobs(Table& table, const Tenant& tenant, const std::string& after, size_t max,
                          WallTime now) {
  const std::string prefix = intake_row(tenant.name(), "");
  JobPage page{.jobs = {}, .next = after};
  while (page.jobs.size() < max) {
    const std::string from = page.next.empty() ? "" : prefix + page.next;
    const auto rows = TRY(table.scan(kTable, prefix, from, max - page.jobs.size()));
    if (rows.empty()) {
      page.next.clear();
      return page;
    }
    for (const Row& row : rows) {
      page.next = row.key.substr(prefix.size());
      const auto intake = TRY(parse_row<Intake>(kTable, row)).record;
      JobStatus status;
      status.id = job_of(page.next, intake);
      status.file = intake.file();
      status.refused = intake.refused();
      status.taken_ms = intake.at_ms();
      status.state = "refused";
      if (intake.refused().empty()) {
        const auto job = read_tascaas_job(table, status.id);
        if (!job.ok() && job.error().code == Code::not_found) continue;  // Being removed.
        describe(TRY(job).record, tenant, now, status);
      }
      page.jobs.push_back(std::move(status));
    }
  }
  return page;
}

Result<std::vector<JobStatus>> list_jobs(Table& table, const Tenant& tenant, WallTime now) {
  constexpr size_t kPage = 500;
  std::vector<JobStatus> all;
  std::string after;
  do {
    JobPage page = TRY(page_jobs(table, tenant, after, kPage, now));
    for (JobStatus& job : page.jobs) all.push_back(std::move(job));
    after = page.next;
  } while (!after.empty());
  std::ranges::stable_sort(all, {}, &JobStatus::taken_ms);
  return all;
}

}  // namespace dunlin::tascaas
