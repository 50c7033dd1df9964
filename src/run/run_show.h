// What `dunlin run` shows and leaves behind of each task: its output on ours, in order if wanted, a
// line of the joblog, a folder of results; and how far the run is.
//
// What is shown is marked in the store (run/shown.h) after it was written, so a run that goes on
// shows again what may have been lost. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/tasks/expand.h"
#include "run/output/arranger.h"
#include "run/output/joblog_file.h"
#include "run/output/outlet.h"
#include "run/output/progress.h"
#include "run/output/result_files.h"
#include "run/output/result_folders.h"
#include "run/run_command.h"
#include "run/runner.h"
#include "run/shown.h"

namespace dunlin::run {

class RunShow {
 public:
  // `signals` end a write that waits for a reader.
  RunShow(const RunVerb& verb, const sources::Gathered& gathered, const model::Spec& spec,
          int signals);
  ~RunShow();
  RunShow(const RunShow&) = delete;
  RunShow& operator=(const RunShow&) = delete;

  // Opens what will be written to, so that a bad name shows before anything runs; and finds what
  // would be written to the same place.
  Result<void> open();

  // Finds what earlier starts have published and not marked as shown.
  Result<void> begin(Runner& runner);
  uint64_t unmarked() const { return unmarked_; }  // How many that were.
  // What --results and --joblog lack of tasks that had ended before, as an earlier start was
  // without them: words for people; empty if it is nothing.
  const std::string& gaps() const { return gaps_; }

  Result<void> add(std::vector<worker::WorkerMind::Published> published);
  Result<void> end();  // No more will come.

  // Marks all that was written. With `complete`, only makes it durable: the marks will go, too.
  Result<void> close(bool complete);

  bool broken_pipe() const { return out_.broken_pipe() || err_.broken_pipe(); }
  bool interrupted() const { return out_.interrupted() || err_.interrupted(); }

  void progress(Runner& runner, Instant now, bool last);
  // The first failures, for the end.
  const std::vector<std::string>& failures() const { return failures_; }
  // What tasks that went well have to say all the same, like a cleanup that failed; empty: nothing.
  std::string notes() const;

 private:
  // Was written, and is not marked yet.
  struct Unmarked {
    uint64_t task = 0;
    uint64_t out = 0;  // Where its output ends on our standard output,
    uint64_t err = 0;  // and on standard error.
    std::vector<std::string> blobs = {};
  };

  Result<void> show_ready();
  Result<void> show(const Ended& ended);
  Result<void> print_output(const Ended& ended);
  Result<void> write_results(const Ended& ended) const;
  Result<std::string> plain_folder(uint64_t task) const;
  Result<void> copy_output(const Ended& ended, std::string_view which, const TakeBytes& to) const;
  Result<void> find_gaps();
  Result<std::string> joblog_line_of(uint64_t task);
  Result<void> mark(bool now);
  Result<std::string> command_of(uint64_t task) const;
  void clear_bar();
  Result<void> sync() const;

  const RunVerb& verb_;
  const sources::Gathered& gathered_;
  const model::Spec& spec_;
  engine::FileStore* store_ = nullptr;  // After begin().
  Outlet out_;
  Outlet err_;
  JoblogFile joblog_;
  ResultFiles results_;
  ResultFolders folders_;
  Shown shown_;
  uint64_t unmarked_ = 0;
  std::string gaps_;
  Arranger arranger_;
  std::deque<Unmarked> to_mark_;  // In the order in which they were written.
  Instant mark_after_;
  Pace pace_;
  bool terminal_ = false;  // Standard error is one.
  bool bar_shown_ = false;
  Instant progress_after_;
  Instant began_;
  std::vector<std::string> failures_;
  std::string first_note_;
  uint64_t notes_ = 0;
  std::unique_ptr<Marker> marker_;  // Its thread uses the files above.
};

}  // namespace dunlin::run
