// From a held range to running tasks: which range is next, whether a task of it may start, and what
// must be on record before it does. Pure. One thread; all that the constructor gets outlives it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/mind/asks.h"
#include "worker/mind/health.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/inputs.h"
#include "worker/mind/job_view.h"
#include "worker/mind/options.h"
#include "worker/mind/page_reader.h"
#include "worker/mind/pages.h"
#include "worker/mind/room.h"
#include "worker/mind/task_times.h"
#include "worker/mind/tasks.h"

namespace dunlin::worker {

class Starter {
 public:
  struct Parts {
    const WorkerOptions& options;
    const Course& course;
    Asks& asks;
    Room& room;
    const TaskTimes& times;
    const Health& health;
    Tasks& tasks;
    HeldRanges& ranges;
    PageReader& reader;
    JobInputs& inputs;
    Pages& pages;
  };
  explicit Starter(const Parts& parts) : parts_(parts) {}

  // Keeps the slots' list filled: by age, and larger priority first.
  void start();
  // The start of this task is on record.
  void claimed(PendingClaim&& claim);

 private:
  std::vector<Held*> startable();
  void start_from(Held& held, size_t max);
  // Whether the range's next task was dealt with, so that the one after it is next.
  bool start_next(Held& held);
  bool deal_with(Held& held, const PageView* view);
  void isolate(Held& held);
  bool fits(const Held& held) const;
  bool is_doubtful(const Held& held) const;
  static bool must_claim(const Held& held);
  static uint32_t losses(const Held& held, const PageView& view, uint32_t offset);
  bool page_is_there(Held& held, uint64_t page);
  void lose(Held& held, std::string why);
  void launch(Held& held, uint64_t task, std::vector<std::string>&& values);
  uint64_t most_of(double pace) const;

  Parts parts_;
};

}  // namespace dunlin::worker
