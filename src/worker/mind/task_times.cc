#include "worker/mind/task_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace dunlin::worker {
namespace {

constexpr uint64_t kShareMax = 1U << 15U;  // Tasks of one range.
constexpr double kAheadUs = 100'000;       // Work to hold beyond what runs, at least.
constexpr int kAheadPaces = 4;
constexpr uint64_t kLeastPart = 4;     // Of that is the least to take from a range.
constexpr double kLongUs = 1'000'000;  // Tasks that take longer are not held ahead.
constexpr double kHungryUs = 500'000;  // Who holds more unstarted work than this gives some back,
constexpr double kHungryAheads = 2;    // or than this, if it is more.
constexpr double kBufferUs = 10'000;   // Work that waits in the slots' list.
constexpr double kShortUs = 30'000;    // Only shorter tasks wait there.
constexpr uint64_t kBufferMax = 1024;  // Tasks for each slot.
constexpr double kGrabUs = 50;         // A slot takes so much work at once.
constexpr uint64_t kGrabMax = 64;
constexpr double kNewWeight = 0.05;  // Of the last task in the mean.

}  // namespace

void TaskTimes::measure(JobView& job, uint64_t ran_us) {
  const auto took_us = static_cast<double>(std::max<uint64_t>(ran_us, 1));
  for (double* mean_us : {&mean_us_, &job.mean_us}) {
    const double weight = *mean_us == 0 ? 1 : kNewWeight;
    *mean_us += weight * (took_us - *mean_us);
  }
}

void TaskTimes::take_at_least(double us) { mean_us_ = std::max(mean_us_, us); }

bool TaskTimes::is_slow() const { return mean_us_ > kLongUs; }

double TaskTimes::of(const JobView& job) const {
  const model::Command& command = job.spec().command();
  const bool inside = !command.builtin().empty() || !command.function().empty();
  return job.mean_us == 0 && inside ? mean_us_ : job.mean_us;
}

double TaskTimes::ahead_us() const {
  const std::chrono::duration<double, std::micro> paces = store_ * kAheadPaces;
  return std::max(kAheadUs, paces.count());
}

double TaskTimes::hungry_us() const { return std::max(kHungryUs, kHungryAheads * ahead_us()); }

uint64_t TaskTimes::target(uint32_t slots) const {
  if (mean_us_ == 0) return uint64_t{slots} * 4;
  if (is_slow()) return slots;
  const double ahead = std::ceil(ahead_us() / std::max(mean_us_, 1.0));
  return std::min<uint64_t>(static_cast<uint64_t>(slots * (1 + std::min(ahead, double{kShareMax}))),
                            std::max<uint64_t>(kShareMax, uint64_t{2} * slots));
}

uint64_t TaskTimes::least_part(uint32_t slots, uint64_t target) {
  return std::max<uint64_t>(slots, target / kLeastPart);
}

uint64_t TaskTimes::startable(uint32_t slots, double us) {
  const bool wait = us > 0 && us <= kShortUs;
  const double ahead = wait ? std::clamp(kBufferUs / us, 1.0, double{kBufferMax}) : 0;
  return slots * (1 + static_cast<uint64_t>(ahead));
}

size_t TaskTimes::grab(double us) {
  const double grab = us == 0 ? 1 : kGrabUs / us;
  return std::clamp<uint64_t>(static_cast<uint64_t>(grab), 1, kGrabMax);
}

}  // namespace dunlin::worker
