#include "tascaas/turns.h"

#include <algorithm>
#include <fmt/format.h>

#include "balance/deadline.h"
#include "store/compare_and_set.h"
#include "tascaas/ending.h"
#include "tascaas/files.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"

namespace dunlin::tascaas {
namespace {

const balance::Policy& policy_of(const Job& job) {
  return is_balanced(job) ? balance::by_speed() : balance::never();
}

balance::Share start(Job& job, balance::Task& task, size_t index, Millis elapsed, Millis since) {
  Job::Partition& record = *job.mutable_partitions(static_cast<int>(index));
  const bool first = !task.partitions[index].started;
  balance::Share share = balance::start(task, index, elapsed, since);
  if (share.code != balance::Code::ok) return share;
  if (first && !is_balanced(job)) {
    share.assigned = task.partitions[index].assigned = record.iterations();
  }
  if (record.queued()) {  // It was given up, and is there all the same: nobody else needs it.
    record.set_queued(false);
    record.set_turn(record.turn() + 1);
  }
  return share;
}

// Partitions that the deadline needs, or that somebody has to run as all others have finished.
void grow(Job& job, const Said& said, const balance::Share& share, bool may_grow, Millis since) {
  if (share.code != balance::Code::ok) return;
  const auto have = static_cast<size_t>(job.partitions_size());
  if (said.word == Word::report && may_grow && is_balanced(job)) {
    const Millis left = std::max(Millis(job.time_ms()) - since, Millis(0));
    const size_t more = balance::partitions_lacking(have, share.eta, left, job.max_partitions());
    for (size_t i = 0; i < more; ++i) add_partition(job, said.done);
  }
  if (said.word == Word::finish) add_rest(job);
  if (said.word != Word::start) spare_waiting(job);
}

// What a finish counts. If several have had the partition, the results of any of them may stay, and
// have no more than the least that anybody was told.
uint64_t last_word(const Job::Partition& partition, uint64_t said) {
  const bool any = is_shared(partition) && partition.has_told();
  return any ? std::min(said, partition.told()) : said;
}

balance::Share apply(Job& job, const Said& said, WallTime now) {
  if (job.begun_ms() == 0) job.set_begun_ms(to_ms(now));
  const Millis since = std::max(now - from_ms(job.begun_ms()), Millis(0));
  Job::Partition& partition = *job.mutable_partitions(static_cast<int>(said.partition));
  const bool fresh = !partition.started() && !partition.finished();
  if (said.word == Word::start && fresh && is_nothing_left(job)) {
    spare(partition);  // It may die at once: the job must not wait for it.
    partition.set_heard_ms(to_ms(now));
    return {};
  }
  balance::Task task = task_of(job);
  const bool may_grow = balance::may_grow(task, said.partition);
  balance::Share share;
  if (said.word == Word::start) {
    share = start(job, task, said.partition, said.elapsed, since);
  } else if (said.word == Word::report) {
    share = balance::report(task, policy_of(job), said.partition, said.done, said.elapsed, since);
  } else {
    const uint64_t done = last_word(partition, said.done);
    share.code = balance::finish(task, policy_of(job), said.partition, done, said.elapsed, since);
    share.eta = task.eta;
  }
  set_task(job, task);
  partition.set_heard_ms(to_ms(now));
  if (share.code == balance::Code::ok && said.word != Word::finish) {
    const uint64_t least = partition.has_told() ? partition.told() : share.assigned;
    partition.set_told(std::min(least, share.assigned));
  }
  grow(job, said, share, may_grow, since);
  return share;
}

// It may be there already, of this finish or of one that was worth nothing.
Result<void> leave_report(Store& store, const std::string& id, const Job& job, size_t partition,
                          WallTime now) {
  const std::string key = result_key(id, std::to_string(partition), "balance.rep");
  const std::string text = speed_report(id, job, partition);
  const auto there = find_file(store.table(), job.tenant(), key);
  if (!there.ok() && there.error().code != Code::not_found) return there.error();
  if (there.ok() && there.value().file.size() == text.size()) {
    const auto old = read_file(store, there.value().file, text.size());
    if (old.ok() && old.value() == text) return {};
  }
  return put_text(store, job.tenant(), key, text, now);
}

// Nobody may begin a partition that was never handed out to anybody.
bool was_handed_out(const Job::Partition& partition) {
  return !partition.queued() || partition.turn() > 1;
}

}  // namespace

std::string speed_report(const std::string& id, const Job& job, size_t index) {
  const Job::Partition& partition = job.partitions(static_cast<int>(index));
  const auto seconds = [](int64_t ms) { return ms / 1000; };
  std::string text =
      fmt::format("# job {}\n# worker {} done {} began {} job-began {} finished {}\n", id, index,
                  partition.done(), seconds(partition.init_ms()), seconds(job.begun_ms()),
                  seconds(partition.last_ms()));
  for (const Job::Measure& measure : partition.measures()) {
    text +=
        fmt::format("{} {:.6E}\n", seconds(partition.init_ms() + measure.at_ms()), measure.speed());
  }
  return text;
}

Result<balance::Share> next_iterations(Store& store, const std::string& id, const Said& said,
                                       WallTime now, JobCache* cache) {
  std::optional<Stored<Job>> cached = cache ? cache->find(id) : std::nullopt;
  constexpr std::optional<balance::Share> kAgain;  // Somebody was quicker, or the cache is old.
  return compare_and_set(changing(id), [&]() -> Round<balance::Share> {
    const bool guessed = cached.has_value();
    const Stored<Job> before =
        guessed ? std::move(*cached) : TRY(read_tascaas_job(store.table(), id));
    cached.reset();
    const auto known = static_cast<uint64_t>(before.record.partitions_size());
    if (guessed && said.partition >= known) return kAgain;
    if (said.partition >= known) {
      return Error{Code::invalid, "there is no such partition"};
    }
    Job job = before.record;
    const Job::Partition& partition = job.partitions(static_cast<int>(said.partition));
    // Whoever got it all the same, before nothing was left, may end.
    if (partition.spare()) return std::optional(balance::Share{balance::Code::ok, said.done, 0});
    if (!was_handed_out(partition) && said.word == Word::start) {
      if (guessed) return kAgain;
      return Error{Code::denied, fmt::format("worker {} was not handed out: fetch it with "
                                             "/node/ID/jobs",
                                             said.partition)};
    }
    const balance::Share share = apply(job, said, now);
    const bool refused = share.code != balance::Code::ok;
    if (refused && guessed) return kAgain;  // Only a row that was just read may say no.
    if (!refused) {
      const std::optional<uint64_t> version = TRY(write_job(store, id, before, job, now));
      if (!version) return kAgain;
      if (cache != nullptr) cache->keep(id, {job, *version});
    }
    // Also for who repeats its finish because the answer was lost.
    if (said.word == Word::finish && partition.finished()) {
      TRY(leave_report(store, id, job, said.partition, now));
    }
    return std::optional(share);
  });
}

}  // namespace dunlin::tascaas
