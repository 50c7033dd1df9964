// Times to the microsecond: for stamps and for deadlines of tasks. From any thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace dunlin::worker {

inline int64_t stamp_us(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}
inline int64_t monotonic_us() { return stamp_us(CLOCK_MONOTONIC); }
inline int64_t wall_us() { return stamp_us(CLOCK_REALTIME); }

}  // namespace dunlin::worker
