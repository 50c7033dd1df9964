// Processes that outlive the task that started them. This process adopts them (as a subreaper), so
// that each can be found, killed with its task, and reaped.
//
// From any thread; there is one Orphans for each process that runs tasks. It needs
// /proc/PID/task/TID/children; without that, only the process groups of tasks are killed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dunlin {

class Orphans {
 public:
  Orphans();
  ~Orphans();
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

  // Kills and reaps what a task left behind: processes of `session`, and those whose environment
  // has all of `marks` ("NAME=VALUE"). The task's first process must be dead. Costs one read if
  // there is nothing.
  void end(pid_t session, const std::vector<std::string>& marks);

  // Reaps those that ended by themselves.
  void reap();

 private:
  enum class Ended { none, some, unclear };

  std::vector<pid_t> adopted() const;
  Ended end_some(pid_t session, const std::vector<std::string>& marks);

  int children_ = -1;
  pid_t own_session_ = 0;
  std::mutex mutex_;  // Who reaps: a number that one thread looks at must not be reused meanwhile.
};

}  // namespace dunlin
