#include "net/holdings.h"

#include <algorithm>

namespace dunlin::net {
namespace {

constexpr Millis kLook = Millis(500);

// After so long a peer must have sent so many bytes a second.
struct Pace {
  Millis patience;
  int64_t bytes_per_s = 0;
};
constexpr Pace kPace{Millis(60'000), 16 << 10};
constexpr Pace kCrowdedPace{Millis(2'000), 64 << 10};

}  // namespace

void Holdings::keep(uint64_t peer, size_t bytes, bool anew, Instant now) {
  const auto found = kept_.find(peer);
  if (found != kept_.end() && (bytes == 0 || anew || found->second.aside)) {
    all_ -= found->second.bytes;
    order_.erase({found->second.begun, peer});
    kept_.erase(found);
  }
  if (bytes == 0) return;
  const auto [at, fresh] = kept_.try_emplace(peer);
  Kept& kept = at->second;
  if (fresh) {
    if (order_.empty()) look_at_ = now + kLook;
    kept.begun = now;
    kept.measured_from = now;
    order_.insert({now, peer});
  }
  all_ = all_ - kept.bytes + bytes;
  kept.bytes = bytes;
}

void Holdings::set_aside(uint64_t peer, size_t bytes) {
  forget(peer);
  if (bytes == 0) return;
  Kept& kept = kept_[peer];
  kept.bytes = bytes;
  kept.aside = true;
  all_ += bytes;
}

bool Holdings::must_wait(uint64_t peer) const {
  if (!crowded()) return false;
  const auto found = kept_.find(peer);
  if (found == kept_.end() || found->second.aside) return false;
  return order_.begin()->second != peer;
}

void Holdings::waits(uint64_t peer, bool waiting, Instant now) {
  const auto found = kept_.find(peer);
  if (found == kept_.end() || found->second.waiting == waiting) return;
  found->second.waiting = waiting;
  found->second.measured_from = now;
  found->second.bytes_then = found->second.bytes;
}

std::vector<uint64_t> Holdings::too_slow(Instant now) {
  std::vector<uint64_t> slow;
  if (order_.empty() || now < look_at_) return slow;
  look_at_ = now + kLook;
  const Pace& pace = crowded() ? kCrowdedPace : kPace;
  for (const auto& [begun, peer] : order_) {
    if (now - begun < pace.patience) break;
    Kept& kept = kept_.at(peer);
    const Millis time = now - kept.measured_from;
    if (kept.waiting || time < pace.patience) continue;
    const size_t sent = kept.bytes - std::min(kept.bytes, kept.bytes_then);
    if (static_cast<int64_t>(sent) * 1000 < pace.bytes_per_s * time.count()) {
      slow.push_back(peer);
    } else {  // What it did once does not help it for long.
      kept.measured_from = now;
      kept.bytes_then = kept.bytes;
    }
  }
  return slow;
}

std::optional<Instant> Holdings::next_look() const {
  return order_.empty() ? std::nullopt : std::optional(look_at_);
}

}  // namespace dunlin::net
