// An iterative task as the balancer sees it: how many iterations there are, and what its partitions
// have done of them, and how fast. Pure: the state is a value, time comes in from outside.
#pragma once

#include <cstdint>
#include <vector>

#include "base/env.h"

namespace dunlin::balance {

// The numbers that TaScaaS's clients know.
enum class Code {
  ok = 0,
  out_of_range = 3,  // There is no such partition.
  not_started = 5,   // Or its time did not advance: it should start again.
  ended = 12,        // It has finished before.
  task_ended = 26,   // All iterations are done.
};

inline constexpr uint64_t kEtaUnknown = 100'000'000'000;      // Seconds. Nothing was measured yet.
inline constexpr uint64_t kEtaNever = 1'000'000'000'000'000;  // Nobody works.
inline constexpr uint64_t kIterationsMax = uint64_t{1} << 62U;  // So that sums never overflow.

struct Measure {
  Millis at;         // Since the partition began.
  double speed = 0;  // Iterations a second.
};

struct Partition {
  uint64_t assigned = 0;
  uint64_t done = 0;
  bool started = false;
  bool finished = false;
  // Since the task began:
  Millis init = Millis(0);        // When it began,
  Millis resumed = Millis(0);     // when it began last, from which its reports count,
  Millis last = Millis(0);        // and the last report that was accepted.
  std::vector<Measure> measures;  // The first is that of its start: no speed yet.

  bool works() const { return started && !finished; }
  double speed() const { return measures.empty() ? 0 : measures.back().speed; }
};

struct Task {
  uint64_t iterations = 0;
  uint64_t remaining = 0;
  uint64_t eta = kEtaUnknown;  // Seconds.
  // A partition that has not reported for longer is not counted on. When the task has less than
  // half of it left, nothing is moved any more.
  Millis threshold = Millis(300'000);
  Millis gap = Millis(1000);  // Reports of a partition are at least so far apart.
  bool ended = false;
  std::vector<Partition> partitions;

  uint64_t done() const;
  // Iterations that are neither done nor in the share of a partition that is counted on.
  uint64_t uncovered(Millis now) const;
  // Whether the partition is counted on.
  bool is_active(const Partition& partition, Millis now) const {
    return partition.works() && now - partition.last <= threshold;
  }
};

// All shares are the same, but for the first, which has the rest, too.
Task make_task(uint64_t iterations, size_t partitions, Millis threshold);

}  // namespace dunlin::balance
