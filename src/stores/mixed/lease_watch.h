// Which leases have ended, as one process has seen it: it takes over a row that nobody has changed
// for as long as the row is held. Its holder changes it more often than that, so clocks that differ
// end no lease. A process that has just begun to look waits for a whole hold.
//
// Pure; not for several threads.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/env.h"

namespace dunlin::mixed {

class LeaseWatch {
 public:
  // How long the lease still lasts: zero if its row was seen with this version for `hold`. Seeing a
  // version for the first time begins its watch. REQUIRES: the row had it before `now`.
  Millis left(const std::string& key, uint64_t version, Millis hold, Instant now);

  void forget(const std::string& key) { seen_.erase(key); }
  size_t size() const { return seen_.size(); }

  static constexpr size_t kMax = 100'000;
  static constexpr Millis kStale = std::chrono::minutes(10);

 private:
  struct Seen {
    uint64_t version = 0;
    Instant since;
    Instant last;
  };

  // Those that nobody has asked about for long are gone, or others take them.
  void make_room(Instant now);

  std::unordered_map<std::string, Seen> seen_;  // By key.
};

}  // namespace dunlin::mixed
