// Clocks for tests: one that moves only when told to, and the real one with a way to skip ahead.
#pragma once

#include <atomic>

#include "base/env.h"
#include "base/env_posix.h"

namespace dunlin {

class SimClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  WallTime wall() const override { return WallTime(now_.time_since_epoch()); }
  void advance(Millis by) { now_ += by; }

 private:
  Instant now_ = Instant(Millis(1));
};

// For engines with threads of their own.
class SkipClock final : public Clock {
 public:
  Instant now() const override { return posix_clock().now() + Millis(skipped_ms_); }
  WallTime wall() const override { return posix_clock().wall(); }
  void skip(Millis time) { skipped_ms_ += time.count(); }

 private:
  std::atomic<Millis::rep> skipped_ms_ = 0;
};

}  // namespace dunlin
