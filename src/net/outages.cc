#include "net/outages.h"

#include <atomic>
#include <map>
#include <mutex>

#include "base/env_posix.h"
#include "base/log.h"
#include "base/text.h"

namespace dunlin::net {
namespace {

constexpr size_t kPlacesMax = 100;

struct Outage {
  int failures = 0;
  bool logged = false;
  Instant since;
};

struct Outages {
  std::mutex mutex;
  std::map<std::string, Outage> by_place;
  std::atomic<size_t> count = 0;
};

Outages& all() {
  static Outages outages;
  return outages;
}

}  // namespace

void note_failure(const std::string& place, std::string_view why, int patience) {
  Outages& outages = all();
  const std::lock_guard lock(outages.mutex);
  if (outages.by_place.size() >= kPlacesMax) outages.by_place.clear();
  const auto [found, first] = outages.by_place.try_emplace(place);
  Outage& outage = found->second;
  if (first) outage.since = posix_clock().now();
  if (++outage.failures > patience && !outage.logged) {
    outage.logged = true;
    log::warning("{}; trying again until it is back", why);
  }
  outages.count = outages.by_place.size();
}

void note_answer(const std::string& place) {
  Outages& outages = all();
  if (outages.count == 0) return;
  const std::lock_guard lock(outages.mutex);
  const auto found = outages.by_place.find(place);
  if (found == outages.by_place.end()) return;
  if (found->second.logged) {
    log::info("{} answers again after {}", place,
              human_time(posix_clock().now() - found->second.since));
  }
  outages.by_place.erase(found);
  outages.count = outages.by_place.size();
}

}  // namespace dunlin::net
