#include "stores/mixed/lease_watch.h"

#include <algorithm>

namespace dunlin::mixed {

Millis LeaseWatch::left(const std::string& key, uint64_t version, Millis hold, Instant now) {
  if (hold == Millis(0)) {
    seen_.erase(key);
    return Millis(0);
  }
  auto found = seen_.find(key);
  if (found == seen_.end()) {
    make_room(now);
    // One that finds no room waits for others to go: it must not end their watches.
    if (seen_.size() >= kMax) return hold;
    found = seen_.emplace(key, Seen{version, now, now}).first;
  }
  Seen& seen = found->second;
  if (seen.version != version) seen = {version, now, now};
  seen.last = now;
  return std::max(hold - (now - seen.since), Millis(0));
}

void LeaseWatch::make_room(Instant now) {
  if (seen_.size() < kMax) return;
  std::erase_if(seen_, [&](const auto& one) { return now - one.second.last > kStale; });
}

}  // namespace dunlin::mixed
