// Ends what tasks have started, should their worker be killed before it can. A small process beside
// the worker, which notices when the worker is gone and kills every process that carries its mark;
// and the same at the next start in that folder, should the keeper have been killed, too
// (docs/decisions/016-keeper.md).
//
// A mark is a variable of the environment, inherited by all that a task starts. What clears its
// environment is found only as long as the worker lives (worker/process/orphans.h).
//
// Starting one blocks for a few seconds at most; errors say what another worker has or left. One
// thread at a time.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>

#include "base/result.h"

namespace dunlin::worker {

class Keeper {
  struct Private {};

 public:
  // Takes the folder, which is one worker's at a time, ends what an earlier worker left there (if
  // it was `used`), and starts the process. `denied`: another worker has the folder, or something
  // of the earlier one cannot be ended. Waits a few seconds at most. REQUIRES: the folder is there,
  // and absolute.
  static Result<std::unique_ptr<Keeper>> start(const std::string& folder, bool used);
  explicit Keeper(Private) {}
  ~Keeper();  // Nothing of the worker is left.
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  const std::string& mark() const { return mark_; }  // "DUNLIN_KEEPER=...", for every task.
  pid_t pid() const { return pid_; }

 private:
  std::string mark_;
  pid_t pid_ = -1;
  int life_ = -1;    // A pipe: its end is ours.
  int folder_ = -1;  // Locked.
};

// Ends what workers that used this folder have left. REQUIRES: none of them lives.
Result<void> end_left_behind(const std::string& folder);

}  // namespace dunlin::worker
