// The folder in which `dunlin run` keeps a run, from its first start until its exit code was handed
// over. Killed at any instant in between, the same line finds what is left to do; that may be
// nothing but the exit code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/env.h"
#include "base/result.h"

namespace dunlin {

// What a run is known by: the folder it was started in and all words that make its tasks.
struct RunName {
  std::string cwd;
  std::string line;  // For people.
  std::string folder;
};

// Makes the folder, with a note of which line it belongs to, so that an edited line is noticed.
Result<void> make_run_folder(const RunName& name, uint64_t tasks);

// Unfinished runs of other lines that were started in this one's folder: a sentence for people,
// empty if there are none.
std::string others_unfinished(const RunName& name);

// Drops what an earlier start has done. `denied` while it runs.
Result<void> discard_run(const std::string& folder);

// A run that has nothing left to do but to exit with this code. `job` stands for its tasks: the
// same line with other inputs is another run.
struct RunEnd {
  int code = 0;
  uint64_t job = 0;

  friend bool operator==(const RunEnd&, const RunEnd&) = default;
};

// The code with which the last start of this line would have ended, had it not been killed on its
// way out; it is forgotten with this call.
std::optional<int> take_run_end(const std::string& folder, uint64_t job);

// The way out. The run loses its name first, so that the same line, started now, is a new run.
class LeavingRun {
 public:
  // REQUIRES: the caller has the folder's store open.
  LeavingRun(const std::string& folder, const RunEnd& end);
  LeavingRun(const LeavingRun&) = delete;
  LeavingRun& operator=(const LeavingRun&) = delete;
  // The last thing before the exit: forgets the end.
  ~LeavingRun();

  // Removes all but the end. REQUIRES: the store is closed.
  void remove_rest();

 private:
  std::string leaving_;
  std::unique_ptr<FolderLock> lock_;
};

}  // namespace dunlin
