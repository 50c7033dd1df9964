// A clock that moves only when told to.
#pragma once

#include "base/env.h"

namespace dunlin {

class SimClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  WallTime wall() const override { return WallTime(now_.time_since_epoch()); }
  void advance(Millis by) { now_ += by; }

 private:
  Instant now_ = Instant(Millis(1));
};

}  // namespace dunlin
