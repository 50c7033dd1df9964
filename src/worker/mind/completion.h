// How a worker ends jobs: it enters full pages into the completion tree, writes the end when the
// root is full, and looks after the jobs that come after one that has ended (docs/TASK_CYCLE.md).
//
// Pure. One thread; the asks, jobs, ranges and the reader outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "model/jobs/cascade.h"
#include "worker/mind/asks.h"
#include "worker/mind/held_ranges.h"
#include "worker/mind/job_view.h"
#include "worker/mind/page_reader.h"

namespace dunlin::worker {

class Completion {
 public:
  Completion(Millis pace, Asks& asks, Jobs& jobs, HeldRanges& ranges, PageReader& reader);
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // Enters the job's full pages into the tree, unless that is under way.
  void enter(JobView& job);
  // What ends the job. It fails if another job has come after it since we last looked.
  void draft_end(std::vector<Write>& writes, const JobView& job, const Counts& counts) const;

  // Looks whether the job has ended.
  void read_end(JobView& job, std::function<void()> then);
  void keep_looking();           // At the ends of all jobs of which it holds something.
  void has_ended(JobView& job);  // Or it was removed since.

  // Its ranges must not be finished before that: whoever comes next repeats it if we die.
  static bool owes_release(const JobView& job) {
    return job.end_there && job.marked && !job.released;
  }
  size_t releasing() const { return cascades_.size(); }

 private:
  using Places = std::vector<std::pair<uint32_t, uint64_t>>;  // Of nodes: level and number.
  struct RunningCascade {
    Cascade cascade;
    std::function<void()> then;
  };

  bool may_enter(JobView& job);
  void enter_again(JobView& job);
  void enter_later(JobView& job, Millis delay);
  void read_nodes(JobView& job, const Places& which);
  bool nodes_read(JobView& job, const Places& which, const std::vector<Row>& rows);
  void propagate(JobView& job);
  void propagate_answered(JobView& job, Propagation&& propagation, bool ends, const Answer& answer);
  void propagated(JobView& job, const Propagation& propagation);
  void forget_bits(JobView& job, const std::vector<uint64_t>& pages);
  void end_read(JobView& job, const Row& row);
  void release(JobView& job);
  void released(JobView& job, uint32_t round, const Answer& answer);
  void cascade(uint64_t id);

  const Millis pace_;
  Asks& asks_;
  Jobs& jobs_;
  HeldRanges& ranges_;
  PageReader& reader_;
  uint64_t last_cascade_ = 0;
  std::map<uint64_t, RunningCascade> cascades_;
};

}  // namespace dunlin::worker
