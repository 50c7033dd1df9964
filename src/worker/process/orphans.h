// Processes that outlive the task that started them. This process adopts them (as a subreaper), so
// that each can be found, killed with its task, and reaped. One that belongs to no running task as
// far as can be told (it has a session of its own and has cleared its environment) is killed when
// all tasks have ended that ran when it was first seen: its own is among them. Not so in the
// process of a user of the SDK, who may have such children himself.
//
// From any thread; there is one Orphans for each process that runs tasks. It needs
// /proc/PID/task/TID/children; without that, only the process groups of tasks are killed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dunlin::worker {

class Orphans {
 public:
  Orphans();
  ~Orphans();
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

  // A child of ours that is none of a task's.
  void keep_out(pid_t pid) { keeper_ = pid; }

  void set_alone(bool alone) { alone_ = alone; }  // Nobody else starts processes here.

  // A task has begun; end() must follow.
  void begin(pid_t session);

  // Kills and reaps what a task left behind: processes of `session`, and those whose environment
  // has all of `marks` ("NAME=VALUE"). The task's first process must be dead. Costs one read if
  // there is nothing.
  void end(pid_t session, const std::vector<std::string>& marks);

  // Reaps those that ended by themselves.
  void reap();

 private:
  enum class Ended { none, some, unclear };

  enum class Whose { ended, other, unclear };

  std::vector<pid_t> adopted() const;
  // `sure`: what has no environment was given none, and is not in the middle of an exec.
  Whose whose(pid_t pid, pid_t its_session, pid_t session, const std::vector<std::string>& marks,
              bool sure);
  Ended end_some(pid_t session, const std::vector<std::string>& marks, bool sure);

  int children_ = -1;
  pid_t own_session_ = 0;
  pid_t keeper_ = 0;
  bool alone_ = false;
  std::mutex mutex_;  // Who reaps: a number that one thread looks at must not be reused meanwhile.
  std::set<pid_t> running_;  // Sessions of tasks.
  // Processes of which it is not known whose they are: of one of these sessions.
  std::map<pid_t, std::set<pid_t>> suspects_;
};

}  // namespace dunlin::worker
