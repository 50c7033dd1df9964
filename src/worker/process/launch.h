// Makes a child process as fast as vfork: it borrows our memory until it is another program, so all
// that it needs is prepared before, and it makes system calls and nothing else.
//
// Blocks until the child is another program. From any thread; the child does not outlive that
// thread.
#pragma once

#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.h"
#include "worker/process/rights.h"

namespace dunlin::worker {

struct Launch {
  const std::vector<std::string>* argv = nullptr;
  std::vector<char*> env = {};  // Ends with a null.
  const char* cwd = nullptr;
  const char* cwd_else = nullptr;  // Where it runs if it may not enter `cwd`; null: nowhere.
  int in = -1;
  int out = -1;
  int err = -1;
  int channel = -1;                // Its descriptor 3; -1: it has none.
  uint64_t file_max = 0;           // Rlimits; 0: ours.
  uint64_t procs_max = 0;          // Of all processes of its user together.
  const TaskUser* user = nullptr;  // None: ours.
  bool may_gain_rights = true;
  std::span<const int> ignored = {};  // Signals to set back; those with handlers need no care.
};

struct Launched {
  pid_t pid = -1;
  int descriptor = -1;     // Readable when it ended.
  bool elsewhere = false;  // It runs in `cwd_else`.
};

// The child leads its own session, has default signals, no other descriptors, no core dumps, and
// dies with the calling thread. A program without a slash is looked for in the PATH of `env`; a
// file without a known format is given to /bin/sh.
//
// `not_found`, `denied`, `invalid`: it is the command's fault. `unavailable`: there are no
// resources. REQUIRES: all signals are blocked in this thread; `stack` is nobody else's.
Result<Launched> launch(const Launch& launch, std::span<char> stack);

}  // namespace dunlin::worker
