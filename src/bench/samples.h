// Times and what is said about many of them. Pure but for the clock; from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <vector>

#include "base/check.h"

namespace dunlin::bench {

// Of a clock that all processes of a machine share and nobody sets.
inline double seconds_now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of at least one sample; p between 0 and 1.
inline double percentile(std::vector<double> samples, double p) {
  CHECK(!samples.empty());
  const auto at = static_cast<size_t>(p * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(at),
                   samples.end());
  return samples[at];
}

inline double median(std::vector<double> samples) { return percentile(std::move(samples), 0.5); }

}  // namespace dunlin::bench
