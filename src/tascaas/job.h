// A job as its row has it, and as the balancer sees it; and its partitions between the queue, the
// infrastructures and the balancer. Pure, but for the calls that take a store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balance/task.h"
#include "base/env.h"
#include "model/rows.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

// Of a partition, and of partitions in a row that end without having done anything; then it is not
// queued again.
inline constexpr uint32_t kCrashesMax = 10;

// The balancer's view: as TaScaaS has it, nothing is done yet and the time is that of the job file,
// whatever was found before.
balance::Task task_of(const Job& job);
// Takes over what has changed. Keeps so many measures of each partition as there is room for.
void set_task(Job& job, const balance::Task& task);

Millis threshold_of(const Job& job);  // See balance::Task.
bool is_balanced(const Job& job);
uint64_t target_seconds(const Job& job);

// Adds a partition that waits to be handed out.
void add_partition(Job& job, uint64_t iterations);
// If all have finished and have not done enough: one for the rest. It is hopeless if the last ones
// have done nothing of what they were told.
void add_rest(Job& job);
// Puts one back into the queue, as if nobody had begun it. One that has `crashed` too often stays
// out.
void queue_again(Job& job, size_t partition, bool crashed);
bool is_hopeless(const Job::Partition& partition);
// Nobody is handed what is missing any more.
bool has_failed(const Job& job);
// Several have had it. Each may still speak for it, and nobody knows whose results will stay.
bool is_shared(const Job::Partition& partition);

uint64_t done_of(const Job& job);
// All iterations are done, or said to be: nobody needs to begin. Never of a job that is not
// balanced: there each partition has something of its own to do.
bool is_nothing_left(const Job& job);
// If so, what waits need not be handed out any more; what has failed for good need not be done.
void spare_waiting(Job& job);
// Ends a partition that nobody has begun: there is nothing for it to do.
void spare(Job::Partition& partition);
// All that somebody had to do is done. What a job still needs for its end are the results.
bool is_worked_off(const Job& job);
// From then on nothing of it changes.
void set_ended(Job& job, WallTime now);
// When anything was last heard of it.
WallTime last_sign(const Job& job);

// The messages by which partitions that wait are found in the order in which they came.
struct Ticket {
  std::string job;
  size_t partition = 0;
  uint32_t turn = 0;
};
Message message_of(const std::string& job, const Job& record, size_t partition);
std::optional<Ticket> read_ticket(std::string_view body);
// Of all partitions that wait, from `first` on.
Push push_waiting(const std::string& job, const Job& record);
// Of those that wait, and did not before.
Push push_fresh(const std::string& job, const Job& before, const Job& record);

// `not_found`
Result<Stored<Job>> read_tascaas_job(Table& table, const std::string& id);

// What a change of its row comes to if others are quicker every time.
Error changing(const std::string& id);

}  // namespace dunlin::tascaas
