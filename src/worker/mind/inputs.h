// The values and the stdin of a job's tasks, as a worker reads them from the store: the group of
// values that a task is in, and no more of them than are kept. What cannot be read is the job's
// trouble. Pure. One thread; the asks outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/jobs/inputs.h"
#include "worker/mind/asks.h"
#include "worker/mind/job_view.h"

namespace dunlin::worker {

class JobInputs {
 public:
  explicit JobInputs(Asks& asks) : asks_(asks) {}
  JobInputs(const JobInputs&) = delete;
  JobInputs& operator=(const JobInputs&) = delete;

  // Whether the values of the task are there, which are written to `values`; else they are read, or
  // the job has a trouble now.
  bool are_there(JobView& job, uint64_t task, std::vector<std::string>& values);
  bool stdin_is_there(JobView& job);  // The same for what all of its tasks read.

 private:
  using Then = std::function<void(Result<std::string>&&)>;

  void read_group(JobView& job, size_t source, uint64_t group);
  void group_read(JobView& job, size_t source, uint64_t group, const Result<std::string>& bytes);
  void read_slice(Pin job, const std::string& blob, Slice slice, std::string so_far, Then then);

  Asks& asks_;
};

}  // namespace dunlin::worker
