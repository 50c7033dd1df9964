// The time of bench/cloud, in microseconds: what is to happen, by when and then by who asked first.
// (sim/events.h counts in milliseconds; a task takes one or two microseconds.) One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/env.h"

namespace dunlin::bench {

using Micros = int64_t;

class Timeline {
 public:
  using Action = std::function<void()>;

  Micros now() const { return now_; }
  Instant instant() const { return Instant(Millis(now_ / 1000)); }
  int64_t wall_us() const { return kEpochUs + now_; }

  void at(Micros when, Action action) {
    queue_.emplace(std::pair(std::max(when, now_), ++sequence_), std::move(action));
  }
  void after(Micros delay, Action action) { at(now_ + delay, std::move(action)); }

  // Lets the next thing happen; false if there is none.
  bool step() {
    if (queue_.empty()) return false;
    auto next = queue_.extract(queue_.begin());
    now_ = next.key().first;
    next.mapped()();
    return true;
  }

 private:
  // A date like today's: stamps in records have as many bytes as they really have.
  static constexpr int64_t kEpochUs = 1'750'000'000'000'000;

  Micros now_ = 1'000'000;
  uint64_t sequence_ = 0;
  std::map<std::pair<Micros, uint64_t>, Action> queue_;
};

}  // namespace dunlin::bench
