// Outcomes of tasks as people and scripts read them, one at a time.
#pragma once

#include <string>

#include "base/result.h"
#include "client/output.h"
#include "model/records.pb.h"
#include "model/results.h"
#include "store/store.h"

namespace dunlin {

// Gathers results and prints them, some at a time. Plain: columns. Quiet: what the tasks wrote to
// standard output. JSON: an object a line.
class ResultPrinter {
 public:
  ResultPrinter(Store& store, const model::Job& job, Form form);

  Result<void> add(const TaskResult& result);
  // A task without an outcome; `state` says why.
  Result<void> add_missing(uint64_t task, std::string_view state);
  Result<void> flush();

 private:
  Result<void> add_json(const TaskResult& result);
  Result<void> flush_if_large();

  Store& store_;
  const model::Job& job_;
  const Form form_;
  Columns columns_;
  size_t rows_ = 0;
  std::string lines_;
};

}  // namespace dunlin
