#include "tascaas/followers.h"

#include <algorithm>

#include "model/iterations/ledgers.h"
#include "model/rows.h"
#include "model/views/list_jobs.h"
#include "model/workers.h"
#include "tascaas/change_dispatch.h"

namespace dunlin::tascaas {
namespace {

constexpr size_t kJobsMax = 1000;  // Of the open ones; the newest.

Result<uint64_t> tasks_left(Table& table, const Listed& one, WallTime now) {
  const model::Spec& spec = one.job.spec();
  if (!spec.has_iterations()) {
    const Counts counts = TRY(read_counts(table, one.job, one.standing));
    return spec.tasks() - std::min(spec.tasks(), counts.ok + counts.failed);
  }
  const LedgerNow ledger = TRY(read_ledger(table, iterative_job(one.job.id(), spec), now));
  const auto& partitions = ledger.ledger.task.partitions;
  return static_cast<uint64_t>(
      std::ranges::count(partitions, false, &balance::Partition::finished));
}

template <typename Change>
auto change_own(Store& store, Millis scale_time, WallTime now, const Change& change)
    -> decltype(change(std::declval<balance::Dispatch&>())) {
  return change_dispatch(
      store, std::string(kOwnTasks), scale_time, now, [&] { return tasks_waiting(store, now); },
      change);
}

}  // namespace

Result<uint64_t> tasks_waiting(Store& store, WallTime now) {
  uint64_t left = 0;
  const auto open = [](const Listed& one) { return one.standing.state == JobState::open; };
  for (const Listed& one : TRY(newest_jobs(store.table(), now, kJobsMax, open))) {
    const auto tasks = tasks_left(store.table(), one, now);
    if (!tasks.ok() && is_passed_over(tasks.error())) continue;
    left += TRY(tasks);
  }
  uint64_t run = 0;
  for (const model::WorkerInfo& worker : TRY(read_workers(store.table()))) {
    if (is_online(worker, now)) run += worker.busy();
  }
  return left - std::min(left, run);
}

Result<double> follow(Store& store, const Follower& who, uint64_t begun, WallTime now) {
  return change_own(store, who.scale_time, now, [&](balance::Dispatch& dispatch) -> Result<double> {
    balance::Infrastructure* found = dispatch.find(who.id);
    if (found == nullptr) {
      if (dispatch.infrastructures.size() >= kInfrastructuresMax) {
        return Error{Code::full, "there are too many workers that follow the advice"};
      }
      found = &dispatch.infrastructures.emplace_back();
      found->id = who.id;
    }
    found->seen = now;
    found->slots = who.slots;
    found->max_slots = who.max_slots;
    if (!dispatch.scaling) dispatch.dispatched += begun;
    return dispatch.required;
  });
}

Result<void> stop_following(Store& store, const Follower& who, WallTime now) {
  return change_own(store, who.scale_time, now, [&](balance::Dispatch& dispatch) -> Result<void> {
    std::erase_if(dispatch.infrastructures,
                  [&](const balance::Infrastructure& one) { return one.id == who.id; });
    return {};
  });
}

}  // namespace dunlin::tascaas
