// Whether a task will be done in time, and how many partitions it would take. Pure.
#pragma once

#include "balance/task.h"

namespace dunlin::balance {

inline constexpr Millis kNoDeadline = std::chrono::seconds(1'000'000'000);

// How often partitions report: some twenty times until the deadline, but not all the time.
Millis report_time(Millis deadline);

// How many partitions more would meet the deadline, at most `most` in all. 0 if `eta`, in seconds,
// is not beyond what is left of the time.
size_t partitions_lacking(size_t have, uint64_t eta, Millis left, size_t most);

// A new partition is considered when the last one reports and its speed can be trusted: before that
// an earlier one may still be on its way to work.
bool may_grow(const Task& task, size_t reporter);

struct Forecast {
  uint64_t eta = kEtaUnknown;  // Seconds.
  double chance = 1;           // Of being done in time.
  uint64_t more_slots = 0;     // Like those that work now, to be done in time.
};

// From the speeds of those that work, and how much these vary.
Forecast forecast(const Task& task, Millis now, Millis left);

}  // namespace dunlin::balance
