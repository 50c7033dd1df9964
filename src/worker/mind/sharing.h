// How much work a worker keeps, and what it gives to others: all but a share of a large range, half
// of what others could do now, and everything that has not started when it leaves. Pure. One
// thread; all that the constructor gets outlives it.
#pragma once

#include <cstdint>

#include "worker/mind/asks.h"
#include "worker/mind/health.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/options.h"
#include "worker/mind/room.h"
#include "worker/mind/routes.h"
#include "worker/mind/task_times.h"
#include "worker/mind/tasks.h"

namespace dunlin::worker {

class Sharing {
 public:
  struct Parts {
    const WorkerOptions& options;
    const Course& course;
    Asks& asks;
    const Room& room;
    TaskTimes& times;
    const Health& health;
    const Tasks& tasks;
    HeldRanges& ranges;
    Routes& routes;
  };
  explicit Sharing(const Parts& parts) : parts_(parts) {}

  bool wants_more() const;      // Than it holds now.
  uint64_t free_slots() const;  // That nothing it holds is meant for.
  void keep_share(Held& held);  // Of a range that is ready; the rest is given back.
  void keep_asking();           // Whether others are hungry.
  void give_back_unstarted();

 private:
  uint64_t target() const;  // How many tasks to hold, running ones included.
  uint64_t share_of(const Held& held) const;
  const Held* largest(uint64_t least) const;
  void depth_read(uint64_t id, uint64_t least, const Depth& depth);
  void measure_running();

  Parts parts_;
};

}  // namespace dunlin::worker
