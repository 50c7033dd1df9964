// Outcomes of tasks as people and scripts read them, one at a time. Calls block as the store and
// standard output do; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/output.h"
#include "model/jobs/results.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin::client {

struct TaskSpan {
  uint64_t first = 0;
  uint64_t last = 0;  // Not in it.
};
// "7", "2-5", or all if empty. `not_found` if the job has no such tasks.
Result<TaskSpan> parse_tasks(const std::string& text, uint64_t tasks);

// What is missing at the end of "out" or "err", and why; empty if it is whole.
std::string missing_words(const model::Spec& spec, const model::Outcome& outcome,
                          std::string_view which);

// Counts outputs that are not whole, and tasks that have something else to say (files that went
// with their folder, a cleanup that failed), for the end of a verb that shows them.
class CutOutputs {
 public:
  // The verb shows reasons of failures itself if they have at most so many bytes.
  explicit CutOutputs(size_t failure_shown) : failure_shown_(failure_shown) {}

  void add(const model::Job& job, const TaskResult& result);
  bool any() const { return cut_.count > 0; }
  void say() const;  // A line of each kind on standard error, if there were any.

 private:
  struct Lines {
    uint64_t count = 0;
    std::string first = {};
    void add(uint64_t task, const std::string& words);
    void say() const;
  };
  const size_t failure_shown_;
  Lines cut_;
  Lines notes_;
};

// Gathers results and prints them, some at a time. Plain: columns. Quiet: what the tasks wrote to
// standard output. JSON: an object a line.
class ResultPrinter {
 public:
  ResultPrinter(Store& store, const model::Job& job, cli::Form form);

  Result<void> add(const TaskResult& result);
  // A task without an outcome; `state` says why.
  Result<void> add_missing(uint64_t task, std::string_view state);
  Result<void> flush();

 private:
  Result<void> add_json(const TaskResult& result);
  Result<void> flush_if_large();

  Store& store_;
  const model::Job& job_;
  const cli::Form form_;
  cli::Columns columns_;
  size_t rows_ = 0;
  std::string lines_;
};

}  // namespace dunlin::client
