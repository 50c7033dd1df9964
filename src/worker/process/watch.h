// Looks from time to time whether a running task keeps to its bounds. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "worker/process/usage.h"

namespace dunlin::worker {

// 0: no limit.
struct Bounds {
  uint64_t procs = 0;     // Processes and threads.
  uint64_t memory = 0;    // Bytes.
  uint64_t folder = 0;    // Bytes in the folder `path`.
  std::string path = {};  // Empty: it has no folder.

  bool any() const { return procs != 0 || memory != 0 || folder != 0; }
};

class Watch {
 public:
  // The census outlives it.
  Watch(Census& census, Bounds bounds, pid_t session, std::vector<std::string> marks);
  ~Watch() { stop(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Looks if it is time, and returns when it will be the next time.
  int64_t look(int64_t now_us);

  // Its session may be another task's from now on.
  void stop();

  // What the task used more of than it may, for people. Empty: nothing.
  const std::string& excess() const { return excess_; }

 private:
  void look_at_processes();
  void look_at_folder();

  Census& census_;
  const Bounds bounds_;
  const pid_t session_;
  int64_t look_at_ = 0;
  int64_t walk_at_ = 0;
  bool stopped_ = false;
  std::string excess_;
};

}  // namespace dunlin::worker
