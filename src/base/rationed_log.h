// Warnings of which strangers could make a flood: some at once, then one a second. What was left
// out is counted, and the count is a line of its own. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/env.h"

namespace dunlin {

class RationedLog {
 public:
  // `about`: what the lines are about, for the count.
  explicit RationedLog(std::string about) : about_(std::move(about)) {}

  void warning(std::string_view line, Instant now);

  // Says how many lines were left out, if it is time. Returns when it will be.
  std::optional<Instant> tell(Instant now);

  uint64_t left_out() const { return left_out_; }

 private:
  static constexpr int64_t kAtOnce = 20;

  const std::string about_;
  int64_t spare_ = kAtOnce;  // Lines that may be written now.
  std::optional<Instant> filled_;
  uint64_t left_out_ = 0;
  Instant tell_at_;
};

}  // namespace dunlin
