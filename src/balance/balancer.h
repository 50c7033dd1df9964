// RUPER-LB: partitions report what they have done, and iterations move from the slow ones to the
// fast ones while they run. A partition learns its new share when it reports next.
//
// How shares are made is a policy; the rest is the same for all of them.
//
// Pure: tasks are values, and time comes in from outside.
#pragma once

#include <span>

#include "balance/task.h"

namespace dunlin::balance {

class Policy {
 public:
  virtual ~Policy() = default;
  // Changes what partitions that work have to do, and the task's eta.
  virtual void share(Task& task, Millis now) const = 0;
};

// As much to each as it is fast, so that all end at the same time. A partition without a speed
// keeps what it was told (docs/decisions/028-late-partitions.md).
const Policy& by_speed();
// Nothing ever moves: what the others are compared with.
const Policy& never();

struct Share {
  Code code = Code::ok;
  uint64_t assigned = 0;  // To the partition, with what it has done.
  uint64_t eta = 0;       // Of the task, in seconds.
};

// `elapsed` is how long the partition works already, by its own clock; `now` is since the task
// began. A partition begins with an even part, at most what is left; one that starts again goes on
// with what it had done.
Share start(Task& task, size_t partition, Millis elapsed, Millis now);
// `done` may be an estimate, and less than the last one.
Share report(Task& task, const Policy& policy, size_t partition, uint64_t done, Millis elapsed,
             Millis now);
// The partition takes no more. What it had left goes to the others. Unlike reports it need not come
// some time after what was said before.
Code finish(Task& task, const Policy& policy, size_t partition, uint64_t done, Millis elapsed,
            Millis now);
// The partition is lost with all that it had done: as if it had never been there.
void lose(Task& task, const Policy& policy, size_t partition, Millis now);

// Whether a partition that has done its share may end.
enum class Permission {
  granted,
  more_to_do,  // It has less done than assigned.
  report,      // There is much left to do, and perhaps for it.
};
Permission may_finish(uint64_t done, uint64_t assigned, uint64_t eta, Millis threshold);

// Parts of `total` in proportion to the weights: their sum is `total`, and each has `least`, as
// long as there is enough. REQUIRES: there is a weight above 0, and none below.
std::vector<uint64_t> split(uint64_t total, std::span<const double> weights, uint64_t least);

}  // namespace dunlin::balance
