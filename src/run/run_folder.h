// The folder in which `dunlin run` keeps a run, from its first start until its exit code was handed
// over. If it is killed at any instant in between, the same line finds what is left to do, even if
// that is nothing but the exit code. Calls block on the disk. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/env.h"
#include "base/result.h"

namespace dunlin::run {

// What a run is known by: the folder it was started in and all words that make its tasks.
struct RunName {
  std::string cwd;
  std::string line;  // For people.
  std::string folder;
};

// Makes the folder, with a note of which line it belongs to, so that an edited line is noticed.
Result<void> make_run_folder(const RunName& name, uint64_t tasks);

// Unfinished runs of other lines that were started in this one's folder and do not run now: a
// sentence for people, empty if there are none.
std::string others_unfinished(const RunName& name);

// Removes what is left of runs whose end was handed over, or given up, before a kill.
void remove_left_runs(const RunName& name);

// The number of the process that has the run open; "another process" if that is not known; empty if
// nobody has.
std::string holder_of(const std::string& folder);

// Drops what an earlier start has done. `denied` while it runs.
Result<void> discard_run(const std::string& folder);

// A run that has nothing left to do but to exit with this code. `job` stands for its tasks: the
// same line with other inputs is another run.
struct RunEnd {
  int code = 0;
  uint64_t job = 0;

  friend bool operator==(const RunEnd&, const RunEnd&) = default;
};

// The way out. The run loses its name first, so that the same line, started now, is a new run.
class LeavingRun {
  struct Private {};

 public:
  // REQUIRES: the caller has the folder's store open.
  static std::unique_ptr<LeavingRun> begin(const std::string& folder, const RunEnd& end);
  // Takes the place of a start of this line that was killed on its way out; none if there was none.
  // What is left of one with another `job` is removed.
  static std::unique_ptr<LeavingRun> take_over(const std::string& folder, uint64_t job);
  LeavingRun(Private, std::string leaving, int code, std::unique_ptr<FolderLock> lock)
      : leaving_(std::move(leaving)), code_(code), lock_(std::move(lock)) {}
  LeavingRun(const LeavingRun&) = delete;
  LeavingRun& operator=(const LeavingRun&) = delete;
  // The last thing before the exit: forgets the end. After that nothing may take time, as a kill
  // would make the same line start over.
  ~LeavingRun();

  int code() const { return code_; }  // With which the process is to end.

  // Removes all but the end. REQUIRES: the store is closed.
  void remove_rest();

 private:
  const std::string leaving_;
  const int code_;
  std::unique_ptr<FolderLock> lock_;
};

}  // namespace dunlin::run
