// Reads the pages of jobs for a worker, and knows what to do with what it finds: of a later round,
// full and perhaps not in the completion tree, or damaged. A damaged page is read again until it is
// repaired; its tasks wait, and those of other pages and jobs go on.
//
// Pure. One thread; the asks, the room and the ranges outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "worker/mind/asks.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/job_view.h"
#include "worker/mind/room.h"

namespace dunlin::worker {

class PageReader {
 public:
  PageReader(Asks& asks, Room& room, HeldRanges& ranges)
      : asks_(asks), room_(room), ranges_(ranges) {}
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  // Unless it is being read. With `then` it is read in any case.
  void read(JobView& job, uint64_t number, std::function<void()> then = {});
  void found_bad(JobView& job, uint64_t number, const std::string& why);
  // A range whose task has an outcome is finished after the tree knows of a page that is full:
  // whoever made it full may have died, or lost its lease, before it told the tree.
  static void owe_bit(Held& held, uint64_t number);

 private:
  void was_read(JobView& job, uint64_t number, uint64_t era, Row&& row);
  void owe_bits(JobView& job, uint64_t number, const PageView& view);

  Asks& asks_;
  Room& room_;
  HeldRanges& ranges_;
};

}  // namespace dunlin::worker
