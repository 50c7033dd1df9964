#include "tascaas/ending.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "store/compare_and_set.h"
#include "tascaas/dispatcher.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

bool has_partition(const Job& job, size_t partition) {
  return partition < static_cast<size_t>(job.partitions_size());
}

}  // namespace

Result<bool> may_end(Table& table, const std::string& id, const Job& job) {
  if (job.ended_ms() != 0 || !is_worked_off(job)) return false;
  std::vector<std::string> rows;
  for (int i = 0; i < job.partitions_size(); ++i) {
    if (job.partitions(i).done() == 0) continue;
    rows.push_back(file_row(job.tenant(), result_key(id, std::to_string(i), "results.dat")));
  }
  const std::vector<Row> found = TRY(get_rows(table, kTable, rows));
  return std::ranges::none_of(found, [](const Row& row) { return row.version == 0; });
}

Result<std::optional<uint64_t>> write_job(Store& store, const std::string& id,
                                          const Stored<Job>& before, Job& job, WallTime now) {
  const bool ends = TRY(may_end(store.table(), id, job));
  if (ends) set_ended(job, now);
  std::vector<Write> writes = {
      Put{std::string(kTable), job_row(id), job.SerializeAsString(), before.version}};
  Push push = push_fresh(id, before.record, job);
  if (!push.messages.empty()) writes.emplace_back(std::move(push));
  if (ends) {
    writes.emplace_back(Erase{std::string(kTable), active_row(job.tenant(), id), kAnyVersion});
  }
  return unless_conflict(store.commit(writes));
}

Result<Tenant> uploader(Table& table, const std::string& infrastructure, const std::string& job,
                        const std::string& partition, WallTime now) {
  const Result<Tenant> tenant = tenant_of(table, infrastructure);
  if (!tenant.ok() && tenant.error().code != Code::not_found) return tenant.error();
  if (tenant.ok()) {
    auto known = TRY(read_dispatch(table, tenant.value().name(), now));
    if (known.find(infrastructure) != nullptr) return tenant;
  }
  const Error unknown = {Code::not_found, "there is no such infrastructure"};
  const std::optional<size_t> index = read_partition_number(partition);
  const auto row = read_tascaas_job(table, job);
  if (!row.ok() && row.error().code != Code::not_found) return row.error();
  if (!row.ok() || !index || !has_partition(row.value().record, *index)) return unknown;
  const Job::Partition& its = row.value().record.partitions(static_cast<int>(*index));
  if (infrastructure.empty() || its.holder() != infrastructure) return unknown;
  return read_tenant(table, row.value().record.tenant());
}

bool ends_by_results(const Job& job, const Job::Partition& partition) {
  if (partition.finished()) return false;
  if (partition.queued() || is_hopeless(partition)) return partition.turn() > 1;
  return !is_balanced(job) || (!partition.started() && !is_shared(partition));
}

void finish_by_results(Job::Partition& partition) {
  partition.set_queued(false);
  partition.set_finished(true);
  if (!partition.has_told()) partition.set_told(partition.iterations());  // As it was handed out.
  partition.set_done(is_shared(partition) ? partition.told()
                                          : std::max(partition.done(), partition.told()));
  partition.set_assigned(partition.done());
}

Result<void> results_came(Store& store, const std::string& tenant, const std::string& id,
                          size_t partition, WallTime now) {
  const std::optional<bool> done = true;
  const auto ended = compare_and_set(changing(id), [&]() -> Round<bool> {
    const auto row = read_tascaas_job(store.table(), id);
    if (!row.ok() && row.error().code == Code::not_found) return done;  // Results of anything.
    const Stored<Job> before = TRY(row);
    if (before.record.tenant() != tenant) return done;
    if (before.record.ended_ms() != 0 || !has_partition(before.record, partition)) return done;
    Job job = before.record;
    Job::Partition& its = *job.mutable_partitions(static_cast<int>(partition));
    const bool ends = ends_by_results(job, its);
    if (ends) {
      finish_by_results(its);
      add_rest(job);
      spare_waiting(job);
    }
    if (!ends && !TRY(may_end(store.table(), id, job))) return done;
    return TRY(write_job(store, id, before, job, now)) ? done : std::nullopt;
  });
  return ended.ok() ? Result<void>() : ended.error();
}

}  // namespace dunlin::tascaas
