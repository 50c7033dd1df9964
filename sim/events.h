// The clock and the agenda of a simulated world: actions happen in the order of their times, and
// those of one time in the order in which they were planned. Nothing happens in between, so a run
// is a function of its seed. One thread.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "base/env.h"

namespace dunlin {

class Events final : public Clock {
 public:
  using Action = std::function<void()>;

  Instant now() const override { return now_; }
  WallTime wall() const override { return WallTime(now_.time_since_epoch()); }

  void at(Instant when, Action action) {
    queue_.emplace(std::pair(std::max(when, now_), ++sequence_), std::move(action));
  }
  void after(Millis delay, Action action) { at(now_ + delay, std::move(action)); }

  // Carries out the next action that is due by `until`. If there is none, says so and lets the time
  // pass until then.
  bool step(Instant until) {
    if (queue_.empty() || queue_.begin()->first.first > until) {
      now_ = std::max(now_, until);
      return false;
    }
    auto next = queue_.extract(queue_.begin());
    now_ = next.key().first;
    next.mapped()();
    return true;
  }

 private:
  Instant now_ = Instant(Millis(1'000));
  uint64_t sequence_ = 0;
  std::map<std::pair<Instant, uint64_t>, Action> queue_;
};

}  // namespace dunlin
