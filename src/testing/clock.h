// Clocks for tests. SimClock moves only when told to, StoppedClock never; SkewedClock shows what a
// machine sees whose wall clock is wrong; SkipClock is the real clock with a way to skip ahead, for
// engines with threads of their own, and may be used from any thread. The others belong to one.
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

// Stands still.
class StoppedClock final : public Clock {
 public:
  explicit StoppedClock(Instant now) : now_(now) {}
  Instant now() const override { return now_; }
  WallTime wall() const override { return WallTime(now_.time_since_epoch()); }

 private:
  const Instant now_;
};

// Time passes as in `clock`, but the wall clock is off, and may jump.
class SkewedClock final : public Clock {
 public:
  SkewedClock(const Clock& clock, Millis off) : clock_(clock), off_(off) {}
  Instant now() const override { return clock_.now(); }
  WallTime wall() const override { return clock_.wall() + off_; }
  void jump(Millis by) { off_ += by; }

 private:
  const Clock& clock_;
  Millis off_;
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
