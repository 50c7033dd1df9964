#include "balance/ledger.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace dunlin::balance {
namespace {

constexpr int kPatience = 4;    // Times as long as expected may a span take.
constexpr double kGrowth = 16;  // Times what it has done, a partition gets at most at once.
constexpr Millis kEndless = std::chrono::hours(24 * 365);

// Of those that were measured.
double mean_speed(const Task& task) {
  double sum = 0;
  int count = 0;
  for (const Partition& partition : task.partitions) {
    if (partition.speed() <= 0) continue;
    sum += partition.speed();
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

void join(std::vector<Span>& spans, Span span) {
  if (!spans.empty() && spans.back().last == span.first) {
    spans.back().last = span.last;
  } else {
    spans.push_back(span);
  }
}

// How many iterations to hand out at once. Nobody knows how long one takes, so the first spans are
// probes. The last ones are small, too, so that all end at about the same time.
uint64_t span_size(const Ledger& ledger, size_t index, Millis pace, Millis now) {
  const uint64_t pool = ledger.pool();
  const double speed = ledger.task.partitions[index].speed();
  const double bound = std::max(kGrowth * static_cast<double>(ledger.holders[index].taken), 1.0);
  const double paced = speed * std::chrono::duration<double>(pace).count();
  const double wanted = speed > 0 ? std::min(paced, bound) : bound;
  const auto active = static_cast<uint64_t>(
      std::ranges::count_if(ledger.task.partitions,
                            [&](const Partition& one) { return ledger.task.is_active(one, now); }));
  const uint64_t guided = active <= 1 ? pool : pool / (2 * active);
  const uint64_t most = std::max<uint64_t>(guided, 1);
  if (wanted >= static_cast<double>(most)) return most;
  return std::max<uint64_t>(static_cast<uint64_t>(wanted), 1);
}

// What a partition goes on with that has nothing left of its own. REQUIRES: the pool is not empty.
Span find_more(Ledger& ledger, bool whole) {
  if (!ledger.back.empty()) {
    const Span found = ledger.back.back();
    ledger.back.pop_back();
    return found;
  }
  const auto size = [](const Ledger::Holder& one) { return one.own.size(); };
  Span& most = std::ranges::max_element(ledger.holders, {}, size)->own;
  const Span found = {whole ? most.first : most.first + most.size() / 2, most.last};
  most.last = found.first;
  return found;
}

Span take(Ledger& ledger, Ledger::Holder& holder, uint64_t size) {
  const bool whole = ledger.pieces() >= kPiecesMax;
  if (holder.own.size() == 0) holder.own = find_more(ledger, whole);
  const bool joins = !holder.spans.empty() && holder.spans.back().last == holder.own.first;
  if (whole && !joins) size = holder.own.size();
  const Span taken = {holder.own.first, holder.own.first + std::min(size, holder.own.size())};
  holder.own.first = taken.last;
  return taken;
}

// Neighbours become one span again.
void give_back(Ledger& ledger, std::vector<Span> spans) {
  std::ranges::move(ledger.back, std::back_inserter(spans));
  std::ranges::sort(spans, {}, &Span::first);
  ledger.back.clear();
  for (const Span& span : spans) join(ledger.back, span);
}

// A partition without a place.
void clear(Ledger& ledger, const Policy& policy, size_t partition, Millis now) {
  Ledger::Holder& holder = ledger.holders[partition];
  give_back(ledger, std::exchange(holder.spans, {}));
  holder.taken = 0;
  lose(ledger.task, policy, partition, now);
}

}  // namespace

uint64_t Ledger::pool() const {
  uint64_t sum = 0;
  for (const Span& span : back) sum += span.size();
  for (const Holder& holder : holders) sum += holder.own.size();
  return sum;
}

size_t Ledger::pieces() const {
  size_t count = back.size();
  for (const Holder& holder : holders) count += holder.spans.size() + (holder.own.size() > 0);
  return count;
}

Ledger make_ledger(uint64_t iterations, size_t partitions, Millis threshold) {
  Ledger ledger;
  ledger.task = make_task(iterations, partitions, threshold);
  ledger.task.gap = kLedgerGap;
  uint64_t next = 0;
  for (const Partition& partition : ledger.task.partitions) {
    ledger.holders.emplace_back().own = {next, next + partition.assigned};
    next += partition.assigned;
  }
  return ledger;
}

void add_partitions(Ledger& ledger, size_t count) {
  ledger.task.partitions.resize(ledger.task.partitions.size() + count);
  ledger.holders.resize(ledger.holders.size() + count);
}

Turn next_span(Ledger& ledger, const Policy& policy, size_t index, uint32_t attempt, Millis pace,
               Millis now) {
  Task& task = ledger.task;
  if (index >= task.partitions.size()) return {Code::out_of_range, {}, task.eta};
  Ledger::Holder& holder = ledger.holders[index];
  if (attempt < holder.attempt) return {Code::ended, {}, task.eta};
  if (attempt > holder.attempt) {
    if (holder.attempt != 0) clear(ledger, policy, index, now);
    holder.attempt = attempt;
    start(task, index, Millis(0), now);
  } else if (task.partitions[index].finished) {
    return {Code::ended, {}, task.eta};
  } else {
    // One that comes too early to be measured says nothing new about its speed.
    const Millis elapsed = now - task.partitions[index].resumed;
    report(task, policy, index, holder.taken, elapsed, now);
  }
  if (ledger.pool() == 0) {
    return {end_early(ledger, policy, index, attempt, holder.taken, now), {}, task.eta};
  }
  const Span span = take(ledger, holder, span_size(ledger, index, pace, now));
  join(holder.spans, span);
  holder.taken += span.size();
  return {Code::ok, span, task.eta};
}

Code rest(Ledger& ledger, const Policy& policy, size_t index, uint32_t attempt, Millis now) {
  Partition& partition = ledger.task.partitions[index];
  const Ledger::Holder& holder = ledger.holders[index];
  if (attempt != holder.attempt || !partition.works()) return Code::ended;
  if (partition.done == holder.taken) return Code::ok;  // It has said so before.
  report(ledger.task, policy, index, holder.taken, now - partition.resumed, now);
  partition.done = holder.taken;
  return Code::ok;
}

Millis patience(const Ledger& ledger, size_t index, Millis pace) {
  const Partition& partition = ledger.task.partitions[index];
  const double speed = partition.speed() > 0 ? partition.speed() : mean_speed(ledger.task);
  if (speed <= 0) return kEndless;
  const auto span = static_cast<double>(ledger.holders[index].in_hand(partition));
  const std::chrono::duration<double> expected(kPatience * span / speed);
  if (expected > kEndless) return kEndless;
  return std::chrono::duration_cast<Millis>(expected) + kPatience * pace;
}

Code end_early(Ledger& ledger, const Policy& policy, size_t index, uint32_t attempt, uint64_t done,
               Millis now) {
  if (index >= ledger.holders.size()) return Code::out_of_range;
  Ledger::Holder& holder = ledger.holders[index];
  Partition& partition = ledger.task.partitions[index];
  if (!partition.started || attempt > holder.attempt) return Code::not_started;
  if (partition.finished || attempt < holder.attempt) return Code::ended;
  done = std::min(done, holder.taken);
  std::vector<Span> not_done;
  while (holder.taken > done) {  // From the end.
    Span& last = holder.spans.back();
    const uint64_t surplus = std::min(holder.taken - done, last.size());
    not_done.push_back({last.last - surplus, last.last});
    last.last -= surplus;
    holder.taken -= surplus;
    if (last.size() == 0) holder.spans.pop_back();
  }
  give_back(ledger, std::move(not_done));
  const Millis elapsed =
      std::max(now - partition.resumed, partition.last - partition.resumed + ledger.task.gap);
  const Code code = finish(ledger.task, policy, index, done, elapsed, now);
  // The speed is an estimate, what it has done is not.
  partition.done = partition.assigned = done;
  return code;
}

void lose(Ledger& ledger, const Policy& policy, size_t index, uint32_t attempt, Millis now) {
  if (index >= ledger.holders.size() || ledger.holders[index].attempt != attempt) return;
  clear(ledger, policy, index, now);
}

}  // namespace dunlin::balance
