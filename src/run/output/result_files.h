// The folder of --results: for each task the files stdout, stderr and seq. A file is whole, or not
// there. One thread, but for sync().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/jobs/results.h"

namespace dunlin::run {

class ResultFiles {
 public:
  ResultFiles() = default;
  ~ResultFiles();
  ResultFiles(const ResultFiles&) = delete;
  ResultFiles& operator=(const ResultFiles&) = delete;

  Result<void> open(const std::string& folder);
  bool is_open() const { return descriptor_ >= 0; }

  // `copy` gives the bytes of "out" or "err". `below` is the task's folder below ours.
  using Copy = std::function<Result<void>(std::string_view which, const TakeBytes& take)>;
  Result<void> add(const std::string& below, uint64_t task, const Copy& copy) const;
  bool has(const std::string& below) const;  // All was written.
  Result<void> sync() const;                 // All that was added is durable then. From any thread.

 private:
  std::string folder_;
  int descriptor_ = -1;
};

}  // namespace dunlin::run
