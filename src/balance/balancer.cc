#include "balance/balancer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace dunlin::balance {
namespace {

constexpr size_t kMeasuresToBalance = 2;  // A partition must have more of them.

double seconds(Millis time) { return std::chrono::duration<double>(time).count(); }

// The next speed of a partition that had one. What it said last was an estimate: if that was too
// high, its average since the beginning is compared instead.
double next_speed(const Partition& partition, uint64_t done, Millis at) {
  const double before = partition.speed();
  const double took = seconds(at - partition.last);
  if (before <= 0 || done > partition.done) {
    return static_cast<double>(done - partition.done) / took;
  }
  if (partition.done == 0) return 0;
  const double then = std::max(seconds(partition.last - partition.init), 1.0);
  const double now = std::max(seconds(at - partition.init), 1.0);
  const double mean_then = static_cast<double>(partition.done) / then;
  const double mean_now = static_cast<double>(done) / now;
  return before * mean_now / mean_then;
}

void measure(Partition& partition, uint64_t done, Millis at) {
  // Without a speed there is no estimate that could have been too high.
  if (partition.speed() <= 0 && done < partition.done) return;
  partition.measures.push_back({at - partition.init, next_speed(partition, done, at)});
  partition.done = done;
  partition.last = at;
}

Code check(const Task& task, size_t index) {
  if (index >= task.partitions.size()) return Code::out_of_range;
  const Partition& partition = task.partitions[index];
  return partition.started ? Code::ok : Code::not_started;
}

// Takes in what a partition says, at least `gap` after what it has said before, without balancing.
Code take(Task& task, size_t index, uint64_t done, Millis elapsed, Millis gap) {
  if (const Code code = check(task, index); code != Code::ok) return code;
  Partition& partition = task.partitions[index];
  const Millis at = partition.resumed + elapsed;
  const Millis since = at - partition.last;
  if (since < (partition.finished ? task.gap : gap)) return Code::not_started;
  if (partition.finished) return Code::ended;
  // So short a time says nothing about a speed.
  if (since >= std::max(task.gap, Millis(1)))
    measure(partition, std::min(done, kIterationsMax), at);
  return Code::ok;
}

Share share_of(const Task& task, size_t index) {
  return {Code::ok, task.partitions[index].assigned, task.eta};
}

// Who works, for a balance.
struct Crew {
  std::vector<size_t> measured;
  std::vector<double> speeds;      // Of these,
  double speed = 0;                // and their sum.
  std::vector<size_t> unmeasured;  // They have begun, or begun again, and nobody knows how fast.
  double predicted = 0;            // What all partitions have done by now.
};

Crew crew_of(const Task& task, Millis now) {
  Crew crew;
  for (size_t i = 0; i < task.partitions.size(); ++i) {
    const Partition& partition = task.partitions[i];
    crew.predicted += static_cast<double>(partition.done);
    if (!task.is_active(partition, now)) continue;
    if (partition.speed() <= 0) {
      crew.unmeasured.push_back(i);
      continue;
    }
    crew.predicted += partition.speed() * seconds(now - partition.last);
    crew.measured.push_back(i);
    crew.speeds.push_back(partition.speed());
    crew.speed += partition.speed();
  }
  return crew;
}

// Who has no speed keeps what it was told to do: nobody knows better. Only if that would leave the
// others less than half of an even part of what is left, it is cut down to the rest, in proportion.
// Returns how many iterations that are.
uint64_t keep_told(Task& task, const Crew& crew) {
  std::vector<double> weights;
  uint64_t told = 0;
  for (const size_t i : crew.unmeasured) {
    const Partition& partition = task.partitions[i];
    const uint64_t left = partition.assigned - std::min(partition.assigned, partition.done);
    weights.push_back(static_cast<double>(left));
    told += std::min(left, kIterationsMax - told);
  }
  const size_t all = crew.measured.size() + crew.unmeasured.size();
  const uint64_t even = task.remaining / all * crew.measured.size();
  const uint64_t most = task.remaining - even / 2;
  if (told <= most) return told;
  const std::vector<uint64_t> parts = split(most, weights, 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    Partition& partition = task.partitions[crew.unmeasured[i]];
    partition.assigned = partition.done + parts[i];
  }
  return most;
}

class BySpeed final : public Policy {
 public:
  void share(Task& task, Millis now) const override {
    const Crew crew = crew_of(task, now);
    if (crew.speed <= 0) {
      task.eta = kEtaNever;
      return;
    }
    const double left = static_cast<double>(task.iterations) - crew.predicted;
    task.eta =
        left <= 0 ? 0 : static_cast<uint64_t>(std::min(left / crew.speed, double{kEtaNever}));
    if (static_cast<double>(task.eta) < seconds(task.threshold) / 2) return;
    const uint64_t told = keep_told(task, crew);
    const std::vector<uint64_t> shares =
        split(task.remaining - told, crew.speeds, task.partitions.size());
    for (size_t i = 0; i < shares.size(); ++i) {
      Partition& partition = task.partitions[crew.measured[i]];
      partition.assigned = partition.done + shares[i];
    }
  }
};

class Never final : public Policy {
 public:
  void share(Task& task, Millis now) const override {
    uint64_t eta = 0;
    bool works = false;
    for (const Partition& partition : task.partitions) {
      if (!task.is_active(partition, now) || partition.done >= partition.assigned) continue;
      works = true;
      const auto left = static_cast<double>(partition.assigned - partition.done);
      const double time = partition.speed() > 0 ? left / partition.speed() : double{kEtaNever};
      eta = std::max(eta, static_cast<uint64_t>(std::min(time, double{kEtaNever})));
    }
    task.eta = works ? eta : kEtaNever;
  }
};

void balance(Task& task, const Policy& policy, Millis now) {
  const uint64_t done = task.done();
  if (done >= task.iterations) {
    for (Partition& partition : task.partitions) {
      if (task.is_active(partition, now)) partition.assigned = partition.done;
    }
    task.ended = true;
    task.remaining = task.eta = 0;
    return;
  }
  task.ended = false;
  task.remaining = task.iterations - done;
  policy.share(task, now);
}

}  // namespace

uint64_t Task::done() const {
  uint64_t sum = 0;
  for (const Partition& one : partitions) sum += std::min(one.done, kIterationsMax - sum);
  return sum;
}

uint64_t Task::uncovered(Millis now) const {
  uint64_t left = iterations;
  for (const Partition& partition : partitions) {
    const bool active = is_active(partition, now);
    const uint64_t covers = active ? std::max(partition.done, partition.assigned) : partition.done;
    left -= std::min(left, covers);
  }
  return left;
}

Task make_task(uint64_t iterations, size_t partitions, Millis threshold) {
  CHECK(partitions > 0 && iterations <= kIterationsMax);
  Task task;
  task.iterations = task.remaining = iterations;
  task.threshold = threshold;
  task.partitions.resize(partitions);
  const uint64_t each = iterations / partitions;
  for (Partition& partition : task.partitions) partition.assigned = each;
  task.partitions[0].assigned += iterations % partitions;
  return task;
}

Share start(Task& task, size_t index, Millis elapsed, Millis now) {
  if (index >= task.partitions.size()) return {Code::out_of_range, 0, task.eta};
  Partition& partition = task.partitions[index];
  if (partition.finished) return {Code::ended, 0, task.eta};
  const Millis began = std::max(now - elapsed, Millis(0));
  partition.resumed = partition.last = began;
  if (!partition.started) {
    const uint64_t count = task.partitions.size();
    const uint64_t even = task.remaining / count + (index == 0 ? task.remaining % count : 0);
    const uint64_t left = task.iterations - std::min(task.iterations, task.done());
    partition.started = true;
    partition.init = began;
    partition.assigned = std::min(even, left);
  }
  partition.measures.push_back({began - partition.init, 0});
  return share_of(task, index);
}

Share report(Task& task, const Policy& policy, size_t index, uint64_t done, Millis elapsed,
             Millis now) {
  if (const Code code = take(task, index, done, elapsed, task.gap); code != Code::ok) {
    return {code, 0, task.eta};
  }
  if (task.ended) return {Code::task_ended, task.partitions[index].assigned, 0};
  const Partition& partition = task.partitions[index];
  // The first report changes nothing, unless the partition would stop with it.
  const bool known = partition.measures.size() > kMeasuresToBalance;
  if (known || partition.done >= partition.assigned) balance(task, policy, now);
  return share_of(task, index);
}

Code finish(Task& task, const Policy& policy, size_t index, uint64_t done, Millis elapsed,
            Millis now) {
  // Who has nothing to do may end as soon as it begins. A repeated finish is told so as ever.
  const Code code = take(task, index, done, elapsed, Millis(0));
  if (code != Code::ok) return code;
  Partition& partition = task.partitions[index];
  partition.measures.push_back(partition.measures.back());
  partition.done = std::min(done, kIterationsMax);  // Its last word, even if it once said more.
  partition.finished = true;
  partition.assigned = partition.done;
  balance(task, policy, now);
  return Code::ok;
}

void lose(Task& task, const Policy& policy, size_t index, Millis now) {
  if (index >= task.partitions.size()) return;
  task.partitions[index] = Partition();
  balance(task, policy, now);
}

const Policy& by_speed() {
  static const BySpeed policy;
  return policy;
}

const Policy& never() {
  static const Never policy;
  return policy;
}

Permission may_finish(uint64_t done, uint64_t assigned, uint64_t eta, Millis threshold) {
  if (done < assigned) return Permission::more_to_do;
  if (static_cast<double>(eta) > seconds(threshold)) return Permission::report;
  return Permission::granted;
}

std::vector<uint64_t> split(uint64_t total, std::span<const double> weights, uint64_t least) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  CHECK(all > 0);
  std::vector<uint64_t> parts;
  double before = 0;
  uint64_t given = 0;
  // Where each part ends is rounded, not how large it is: so nothing is left over at the end.
  for (const double weight : weights) {
    before += weight;
    const double end = std::floor(static_cast<double>(total) * std::min(before / all, 1.0));
    const bool last = parts.size() + 1 == weights.size();
    const uint64_t to =
        last || end >= static_cast<double>(total) ? total : static_cast<uint64_t>(end);
    parts.push_back(std::max(to, given) - given);
    given = std::max(to, given);
  }
  least = std::min<uint64_t>(least, total / weights.size());
  uint64_t lacking = 0;
  for (uint64_t& part : parts) {
    if (part >= least) continue;
    lacking += least - part;
    part = least;
  }
  if (lacking == 0) return parts;
  // The largest can best do without.
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::greater<>(), [&](size_t i) { return parts[i]; });
  for (const size_t i : order) {
    const uint64_t taken = std::min(lacking, parts[i] - least);
    parts[i] -= taken;
    lacking -= taken;
  }
  CHECK(lacking == 0);
  return parts;
}

}  // namespace dunlin::balance
