// The limits that our figures stand beside: what the machine does without us, measured in the same
// run. They fork and start threads: call them from a process that has none under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"

namespace dunlin::bench {

// Round trips in microseconds of messages of these sizes between two processes over bare TCP.
std::vector<double> ping_pong_us(size_t request, size_t answer, size_t rounds);

// A file that has its blocks already, for a write of 256 bytes and its fdatasync now and then.
class SyncFloor {
 public:
  static Result<SyncFloor> open(const std::string& folder, uint64_t rounds);
  Result<double> sample_us();  // REQUIRES: called at most `rounds` times.

 private:
  static constexpr size_t kBytes = 256;
  explicit SyncFloor(std::unique_ptr<File> file) : file_(std::move(file)) {}

  std::unique_ptr<File> file_;
  uint64_t at_ = 0;
};

// Seconds in which so many threads, each taking the next as soon as it is free, sleep them all.
double bare_sleep(const std::vector<double>& lengths_ms, size_t threads);

// Seconds in which so many threads start and await so many processes that do nothing.
Result<double> bare_spawn(const std::string& program, size_t processes, size_t threads);

}  // namespace dunlin::bench
