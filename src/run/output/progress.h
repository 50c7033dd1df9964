// How far a job is, as one line for people. Pure; from one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/env.h"

namespace dunlin::run {

struct RunProgress {
  uint64_t total = 0;
  uint64_t ok = 0;
  uint64_t failed = 0;
  uint64_t running = 0;
  double per_s = 0;              // Tasks that end in a second.
  std::optional<Millis> left{};  // Until the end, if that can be said.
  Millis elapsed{0};

  uint64_t done() const { return ok + failed; }
};

// The speed of the last half minute; of all the time if little happened in it. What was done before
// the first call does not count, so a run that continues an older one is not flattered.
class Pace {
 public:
  void on(Millis now, uint64_t done);  // `now` and `done` never become smaller.

  double per_s() const;
  std::optional<Millis> left(uint64_t total) const;

 private:
  struct Point {
    Millis at{0};
    uint64_t done = 0;
  };
  std::optional<Point> first_;
  std::deque<Point> points_;  // Half a second apart or more, but for the last.
};

struct LineStyle {
  size_t width = 80;     // Columns of the terminal.
  bool colour = false;   // ANSI colours.
  bool unicode = false;  // For the bar.
};

// " 41% ━━━━━━━━╸─────────   412/1000  2 failed  6s left  103/s": never longer than the width.
std::string progress_bar(const RunProgress& progress, const LineStyle& style);

// "412 of 1000 done, 2 failed, 8 running, 103/s, 6s left": for logs, and --progress. Of no fixed
// length.
std::string progress_text(const RunProgress& progress);

std::string human_rate(double per_s);  // "0.5/s", "103/s", "12.3k/s"; below 0.1/s "2/min", "3/h".

}  // namespace dunlin::run
