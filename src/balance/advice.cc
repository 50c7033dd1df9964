#include "balance/advice.h"

#include <algorithm>
#include <cmath>

namespace dunlin::balance {
namespace {

constexpr int kSilentTimes = 2;  // Scale times, until it is not counted any more,
constexpr int kGoneTimes = 5;    // and until it is forgotten.
constexpr double kNobodyWaits = 0.8;
constexpr double kShrink = 0.7;
constexpr double kGrowAbove = 0.1;  // Partitions that wait, for each that was handed out.
constexpr uint64_t kFewPart = 10;   // So many slots for one that waits are enough.

}  // namespace

Infrastructure* Dispatch::find(const std::string& id) {
  const auto found = std::ranges::find(infrastructures, id, &Infrastructure::id);
  return found == infrastructures.end() ? nullptr : &*found;
}

bool is_live(const Infrastructure& one, Millis scale_time, WallTime now) {
  return now - one.seen < scale_time * kSilentTimes;
}

double slots_wanted(uint64_t slots, uint64_t queued, uint64_t dispatched) {
  const auto have = static_cast<double>(slots);
  const auto waiting = static_cast<double>(queued);
  const auto handed = static_cast<double>(dispatched);
  if (dispatched == 0 && queued == 0) return std::max(kNobodyWaits * have, 1.0);
  if (dispatched == 0) return have + waiting;
  if (waiting <= have / double{kFewPart}) {
    return handed > have ? std::max(kShrink * have, 1.0) : have;
  }
  const double backlog = waiting / handed;
  return backlog > kGrowAbove ? std::max(1.0, have * (1 + backlog)) : have;
}

bool is_advice_due(const Dispatch& dispatch, WallTime now) {
  return !dispatch.scaling && now - dispatch.resumed > dispatch.scale_time;
}

void advance(Dispatch& dispatch, uint64_t queued, WallTime now) {
  const Millis scale_time = dispatch.scale_time;
  if (dispatch.scaling && now - dispatch.resumed > scale_time * 2) {
    dispatch.scaling = false;
    dispatch.resumed = now;
    dispatch.dispatched = 0;
    return;
  }
  if (!is_advice_due(dispatch, now)) return;
  std::erase_if(dispatch.infrastructures, [&](const Infrastructure& one) {
    return now - one.seen > scale_time * kGoneTimes;
  });
  uint64_t slots = 0;
  uint64_t most = 0;
  for (const Infrastructure& one : dispatch.infrastructures) {
    if (!is_live(one, scale_time, now)) continue;
    slots += one.slots;
    most += one.max_slots;
  }
  const double wanted = slots_wanted(slots, queued, dispatch.dispatched);
  dispatch.required = most > 0 ? wanted / static_cast<double>(most) : -1;
  dispatch.dispatched = 0;
  dispatch.scaling = true;
}

uint64_t slots_advised(double required, uint64_t slots, uint64_t max_slots) {
  if (required < 0 || max_slots == 0) return slots;
  const double wanted = std::ceil(required * static_cast<double>(max_slots));
  if (wanted >= static_cast<double>(max_slots)) return max_slots;
  return std::max<uint64_t>(static_cast<uint64_t>(wanted), 1);
}

}  // namespace dunlin::balance
