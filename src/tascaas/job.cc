#include "tascaas/job.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "balance/deadline.h"
#include "base/names.h"
#include "model/partition_record.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

constexpr size_t kMeasuresAll = 6000;  // In one row, so that it fits.
constexpr size_t kMeasuresLeast = 6;
constexpr size_t kMeasuresMost = 256;
constexpr size_t kUuid = 36;

// How many in a row, up to the last one, have ended without having done anything of what they were
// told.
uint32_t idle_at_last(const Job& job) {
  uint32_t idle = 0;
  for (int i = job.partitions_size(); i-- > 0;) {
    const Job::Partition& one = job.partitions(i);
    if (one.spare()) continue;
    if (!one.finished() || one.done() > 0 || one.told() == 0) break;
    ++idle;
  }
  return idle;
}

size_t measures_max(size_t partitions) {
  return std::clamp(kMeasuresAll / std::max<size_t>(partitions, 1), kMeasuresLeast, kMeasuresMost);
}

}  // namespace

Millis threshold_of(const Job& job) { return 2 * Millis(job.report_ms()); }

bool is_balanced(const Job& job) { return job.time_ms() > 0; }

uint64_t target_seconds(const Job& job) {
  const Millis time = is_balanced(job) ? Millis(job.time_ms()) : balance::kNoDeadline;
  return static_cast<uint64_t>(std::chrono::floor<std::chrono::seconds>(time).count());
}

balance::Task task_of(const Job& job) {
  balance::Task task;
  task.iterations = task.remaining = job.iterations();
  task.eta = target_seconds(job);
  task.threshold = threshold_of(job);
  for (const Job::Partition& from : job.partitions()) {
    task.partitions.push_back(read_partition(from));
  }
  return task;
}

void set_task(Job& job, const balance::Task& task) {
  job.set_eta(task.eta);
  const size_t keep = measures_max(task.partitions.size());
  for (size_t i = 0; i < task.partitions.size(); ++i) {
    write_partition(task.partitions[i], keep, *job.mutable_partitions(static_cast<int>(i)));
  }
}

void add_partition(Job& job, uint64_t iterations) {
  Job::Partition& partition = *job.add_partitions();
  partition.set_assigned(iterations);
  partition.set_iterations(iterations);
  partition.set_queued(true);
  partition.set_turn(1);
}

void add_rest(Job& job) {
  const bool all = std::ranges::all_of(job.partitions(), &Job::Partition::finished);
  const uint64_t done = done_of(job);
  const bool room = job.partitions_size() < static_cast<int>(kPartitionsMax);
  if (!all || done >= job.iterations() || !room) return;
  const bool useless = idle_at_last(job) >= kCrashesMax;
  add_partition(job, job.iterations() - done);
  if (!useless) return;
  Job::Partition& added = *job.mutable_partitions(job.partitions_size() - 1);
  added.set_queued(false);
  added.set_crashes(kCrashesMax);
}

bool is_hopeless(const Job::Partition& partition) {
  return !partition.finished() && partition.crashes() >= kCrashesMax;
}

bool has_failed(const Job& job) {
  if (std::ranges::any_of(job.partitions(), is_hopeless)) return true;
  // There may be no more partitions.
  const bool all = std::ranges::all_of(job.partitions(), &Job::Partition::finished);
  return all && done_of(job) < job.iterations();
}

bool is_shared(const Job::Partition& partition) {
  return partition.hands() > 1 || (partition.hands() == 0 && partition.turn() > 1);
}

void queue_again(Job& job, size_t index, bool crashed) {
  Job::Partition& partition = *job.mutable_partitions(static_cast<int>(index));
  const uint64_t iterations = partition.iterations();
  const uint32_t turn = partition.turn() + 1;
  const uint32_t hands = partition.hands();
  const std::string holder = partition.holder();
  const uint32_t crashes = partition.crashes() + (crashed ? 1 : 0);
  // Whoever heard that may still come back. One that has finished leaves what it said.
  std::optional<uint64_t> told =
      partition.has_told() ? std::optional(partition.told()) : std::nullopt;
  if (partition.finished()) told = partition.done();
  partition.Clear();
  if (told) partition.set_told(*told);
  partition.set_assigned(iterations);
  partition.set_iterations(iterations);
  partition.set_turn(turn);
  partition.set_hands(hands);
  partition.set_holder(holder);  // Until another one has it: it may still bring its results.
  partition.set_crashes(crashes);
  partition.set_queued(!is_hopeless(partition));
}

uint64_t done_of(const Job& job) {
  uint64_t sum = 0;
  for (const Job::Partition& one : job.partitions()) {
    sum += std::min(one.done(), balance::kIterationsMax - sum);
  }
  return sum;
}

bool is_nothing_left(const Job& job) {
  return is_balanced(job) && done_of(job) >= job.iterations();
}

void spare(Job::Partition& partition) {
  partition.set_queued(false);
  partition.set_finished(true);
  partition.set_spare(true);
  partition.set_assigned(0);
  partition.set_done(0);
}

void spare_waiting(Job& job) {
  if (!is_nothing_left(job)) return;
  for (Job::Partition& one : *job.mutable_partitions()) {
    if (one.queued() || is_hopeless(one)) spare(one);
  }
}

bool is_worked_off(const Job& job) {
  const bool nothing_left = is_nothing_left(job);
  return done_of(job) >= job.iterations() &&
         std::ranges::all_of(job.partitions(), [&](const Job::Partition& one) {
           return one.finished() || (nothing_left && !one.started());
         });
}

void set_ended(Job& job, WallTime now) {
  for (Job::Partition& one : *job.mutable_partitions()) {
    if (!one.finished()) spare(one);
  }
  job.set_ended_ms(to_ms(now));
}

WallTime last_sign(const Job& job) {
  int64_t last = std::max(job.created_ms(), job.begun_ms());
  for (const Job::Partition& one : job.partitions()) {
    last = std::max({last, one.heard_ms(), one.handed_ms()});
  }
  return from_ms(last);
}

Message message_of(const std::string& job, const Job& record, size_t partition) {
  const uint32_t turn = record.partitions(static_cast<int>(partition)).turn();
  return {fmt::format("{}.{}.{}", job.substr(0, kUuid), partition, turn),
          fmt::format("{} {} {}", job, partition, turn)};
}

std::optional<Ticket> read_ticket(std::string_view body) {
  const size_t first = body.find(' ');
  const size_t second = body.find(' ', std::min(first, body.size() - 1) + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return {};
  Ticket ticket;
  ticket.job = body.substr(0, first);
  const std::string_view partition = body.substr(first + 1, second - first - 1);
  const std::string_view turn = body.substr(second + 1);
  const auto read = [](std::string_view text, auto& number) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc() && end == text.data() + text.size();
  };
  if (!read(partition, ticket.partition) || !read(turn, ticket.turn)) return {};
  return ticket;
}

Push push_waiting(const std::string& job, const Job& record) {
  return push_fresh(job, Job(), record);
}

Push push_fresh(const std::string& job, const Job& before, const Job& record) {
  Push push{queue_of(record.tenant()), {}};
  for (int i = 0; i < record.partitions_size(); ++i) {
    const Job::Partition& one = record.partitions(i);
    const bool known = i < before.partitions_size() && before.partitions(i).queued() &&
                       before.partitions(i).turn() == one.turn();
    if (one.queued() && !known) {
      push.messages.push_back(message_of(job, record, static_cast<size_t>(i)));
    }
  }
  return push;
}

Result<Stored<Job>> read_tascaas_job(Table& table, const std::string& id) {
  const Error missing = {Code::not_found, fmt::format("there is no job {}", quote(id))};
  if (!is_visible(id, kFileKeyMax)) return missing;
  auto stored = TRY(read_record<Job>(table, kTable, job_row(id)));
  if (stored.version == 0) return missing;
  return stored;
}

Error changing(const std::string& id) {
  return {Code::unavailable, fmt::format("job {} changes all the time: try again", id)};
}

}  // namespace dunlin::tascaas
