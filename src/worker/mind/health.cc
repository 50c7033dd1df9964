#include "worker/mind/health.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"

namespace dunlin::worker {
namespace {

constexpr uint32_t kFaultsMax = 3;
constexpr Millis kRestMin = std::chrono::seconds(5);
constexpr Millis kRestMax = std::chrono::minutes(5);
constexpr size_t kWhyMax = 400;

}  // namespace

void Health::could_not_start(const std::string& why) {
  if (++faults_ < kFaultsMax && trouble_.empty()) return;
  if (resting()) return;  // What was on its way to the slots comes back now.
  rest_ = std::clamp(rest_ * 2, kRestMin, kRestMax);
  rests_until_ = asks_.now().at + rest_;
  trouble_ = shorten(why, kWhyMax);
  log::error("this worker takes no tasks for {} s: {}", rest_.count() / 1000, why);
  asks_.later(rest_, [] {});
}

void Health::ran() {
  faults_ = 0;
  if (trouble_.empty()) return;
  log::info("this worker takes tasks again");
  trouble_.clear();
  rest_ = Millis(0);
}

}  // namespace dunlin::worker
