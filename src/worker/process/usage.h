// What running tasks use of the machine, measured from outside, so that it needs no privileges: how
// many processes and threads and how much memory a task has, and how much is in its folder.
//
// A task's processes are those of its session, all that they have started, and what of that was
// orphaned and still has the task's marks. So it is exact for those that mean no harm; a process
// that leaves its session, its parent and its environment behind is counted nowhere.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dunlin::worker {

struct Usage {
  uint64_t procs = 0;   // With their threads.
  uint64_t memory = 0;  // Bytes that are in memory; pages that several processes share may count
                        // several times.
  std::vector<pid_t> pids = {};
};

// One for all slots: a look at all processes is shared by those who want one at about the same
// time. From any thread.
class Census {
 public:
  // The session must be that of a task, until end().
  void begin(pid_t session, std::vector<std::string> marks);
  void end(pid_t session);
  Usage of(pid_t session);

 private:
  struct Task {
    std::vector<std::string> marks = {};
    Usage usage = {};
  };
  void look();
  pid_t task_of_orphan(pid_t pid) const;

  std::mutex mutex_;
  int64_t looked_us_ = 0;
  std::map<pid_t, Task> tasks_;  // By session.
};

// Bytes that these processes have in memory, with what they share counted once.
uint64_t shared_memory_once(const std::vector<pid_t>& pids);

struct FolderUsage {
  uint64_t bytes = 0;     // Blocks on disk.
  bool complete = false;  // Else there is more, too deep or too much to look at.
};
FolderUsage folder_usage(const std::string& path, uint64_t enough);

}  // namespace dunlin::worker
