// Whose rights the tasks of a worker have, and how much of the machine each may use
// (docs/decisions/024-run-as.md and 025-task-limits.md). Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.h"

namespace dunlin::worker {

// Another user, as whom tasks run.
struct TaskUser {
  std::string name = {};
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};  // All of them.
  std::string home = {};
  std::string shell = {};
};

struct TaskRules {
  std::optional<TaskUser> user = {};  // None: the worker's own.
  bool may_gain_rights = true;        // By programs like sudo.
  bool foreign = false;               // The jobs are others': they get nothing of our environment.
  bool enforce_mem = false;           // What a job says it needs of memory is all that it gets.
  uint64_t procs_max = 0;             // Processes and threads of a task; 0: no limit.
  uint64_t memory_max = 0;            // Bytes; 0: no limit.
  uint64_t disk_max = 0;              // Bytes in its folder, and of any one file; 0: no limit.
};

// `denied` if this process may not act as others, `not_found` if there is no such user, `invalid`
// if it is root, as whom tasks would have all rights.
Result<TaskUser> find_task_user(const std::string& name);

// `denied` if the user cannot get to our folder, or could put another one in its place: what we do
// there we do with all rights. REQUIRES: the path is absolute and normal.
Result<void> check_place(const TaskUser& user, const std::string& folder);

}  // namespace dunlin::worker
