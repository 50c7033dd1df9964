// What becomes of a task that has ended here: its outcome goes into its page, or it gets a message
// of its own for another try, here or elsewhere. Pure. One thread; all that the constructor gets
// outlives it.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/mind/asks.h"
#include "worker/mind/health.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/pages.h"
#include "worker/mind/task_times.h"
#include "worker/mind/tasks.h"

namespace dunlin::worker {

// How long a range was meant to wait before it is tried.
Millis pause_of(const Held& held);

class Endings {
 public:
  struct Parts {
    Asks& asks;
    TaskTimes& times;
    Health& health;
    Tasks& tasks;
    HeldRanges& ranges;
    Pages& pages;
  };
  explicit Endings(const Parts& parts) : parts_(parts) {}

  void ended(std::vector<Ending>&& endings);
  // Whether a task has ended with it.
  bool uploaded(uint64_t ticket, const Result<void>& result);
  // Running tasks are stopped and given back as another attempt.
  void give_back_all();

 private:
  void end(Tasks::Ended&& ended);
  bool again(Held& held, uint64_t task, const model::Outcome& outcome);
  bool elsewhere(Held& held, uint64_t task, const model::Outcome& outcome);
  void give_back(Held& held, const std::vector<uint64_t>& tasks);

  Parts parts_;
};

}  // namespace dunlin::worker
