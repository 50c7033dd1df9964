// How long a worker's tasks take, and what follows: how many it should hold, how many may wait in
// front of its slots, how many a slot takes at once. Pure. One thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/env.h"
#include "worker/mind/job_view.h"

namespace dunlin::worker {

class TaskTimes {
 public:
  // `store`: how long the store likes to be left in peace (see StoreAccess).
  explicit TaskTimes(Millis store) : store_(store) {}

  // A task of the job has taken so long.
  void measure(JobView& job, uint64_t ran_us);
  // No slot has taken anything for so long.
  void take_at_least(double us);

  double mean_us() const { return mean_us_; }  // Of the last tasks; 0: not known yet.
  bool is_slow() const;                        // Tasks take so long that none is held ahead.
  // Of a job's tasks; 0: not known. What runs inside the worker is taken for like the rest;
  // programs may be anything.
  double of(const JobView& job) const;

  // How many tasks are worth holding: those that run, and so many more that no slot ever waits for
  // the store. Long tasks are taken one by one.
  uint64_t target(uint32_t slots) const;
  // What is done sooner than the store answers is not worth a message of its own.
  static uint64_t least_part(uint32_t slots, uint64_t target);
  // How many tasks of this length may be started: those in front of the slots are out of others'
  // reach, so only short ones wait there, and none of unknown length.
  static uint64_t startable(uint32_t slots, double us);
  static size_t grab(double us);  // Of these, a slot takes so many at once.
  // Who holds more unstarted work than this gives some to those who have none.
  double hungry_us() const;

 private:
  double ahead_us() const;

  const Millis store_;
  double mean_us_ = 0;
};

}  // namespace dunlin::worker
