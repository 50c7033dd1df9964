// What `dunlin run` shows and leaves behind of each task: its output on ours, in order if wanted, a
// line of the joblog, a folder of results; and how far the run is. One thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "client/arranger.h"
#include "client/progress.h"
#include "client/run_command.h"
#include "client/runner.h"
#include "model/expand.h"

namespace dunlin {

class RunShow {
 public:
  RunShow(const RunVerb& verb, const Gathered& gathered, const model::Spec& spec);
  ~RunShow();
  RunShow(const RunShow&) = delete;
  RunShow& operator=(const RunShow&) = delete;

  // Opens what will be written to, so that a bad name shows before anything runs.
  Result<void> open();

  Result<void> add(std::vector<WorkerMind::Published> published, FileStore& store);
  Result<void> end(FileStore& store);  // No more will come.

  void progress(Runner& runner, Instant now, bool last);
  // The first failures, for the end.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  Result<void> show_ready(FileStore& store);
  Result<void> show(const Ended& ended, FileStore& store);
  Result<void> write_joblog(const Ended& ended, const std::string& command);
  Result<void> write_results(const Ended& ended, FileStore& store);
  Result<void> copy_output(const Ended& ended, FileStore& store, std::string_view which,
                           std::FILE* to, const std::string& tag) const;
  Result<std::string> command_of(uint64_t task) const;
  void clear_bar();

  const RunVerb& verb_;
  const Gathered& gathered_;
  const model::Spec& spec_;
  Arranger arranger_;
  Pace pace_;
  std::FILE* joblog_ = nullptr;
  bool terminal_ = false;  // Standard error is one.
  bool bar_shown_ = false;
  Instant progress_after_;
  Instant began_;
  std::vector<std::string> failures_;
};

}  // namespace dunlin
