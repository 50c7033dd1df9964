// The program of a partition in `dunlin bench balance`: it does iterations as fast as it is told
// to, by sleeping, and no faster. run() blocks until the share is done; one thread, the process's
// only one. The other functions are pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace dunlin::bench {

// From `from_s` seconds after the beginning on, the worker with this process id is slower.
struct Slowed {
  int pid = 0;
  double factor = 1;  // Of the speed.
  double from_s = 0;
};

struct PartOptions {
  double speed = 1000;      // Iterations a second.
  int64_t begin_ms = 0;     // Wall time.
  uint64_t share = 0;       // Do so many and end; 0: ask for them on descriptor 3.
  std::string slowed = {};  // PID:FACTOR:FROM,...
};

std::string to_text(const std::vector<Slowed>& slowed);
Result<std::vector<Slowed>> parse_slowed(const std::string& text);

// Iterations a second of a worker at that time.
double speed_at(double speed, const std::vector<Slowed>& slowed, int pid, double seconds);

Result<int> run(const PartOptions& options);

}  // namespace dunlin::bench
