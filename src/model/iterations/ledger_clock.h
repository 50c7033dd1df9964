// Time as one process sees it pass in the ledgers of jobs, by its own steady clock.
//
// Machines do not agree on the time of day, so none is compared with another's. A ledger has a time
// of its own, which begins with the job. A process that reads a ledger goes on from the time that
// it shows; a process that changes it writes down how far that time has come. So the time of a
// ledger stands still while nobody works on it, and is never ahead of what has passed.
//
// A partition is silent for as long as this process has seen that its part of the ledger does not
// change, and the store has answered.
//
// All of it may be forgotten at any time: then nobody is silent yet. Not for several threads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "balance/ledger.h"
#include "base/env.h"

namespace dunlin {

class LedgerClock {
 public:
  // A ledger was read, which shows `latest`: the answer to what was `asked` came `now`. Returns the
  // ledger's time.
  Millis look(const std::string& job, const balance::Ledger& ledger, Millis latest, Instant asked,
              Instant now);

  // Since when nothing was seen of the partition, as of the last look.
  Millis silence(const std::string& job, size_t partition) const;

  static constexpr size_t kJobsMax = 1000;
  static constexpr Millis kAway = Millis(1000);  // An answer that takes longer.

 private:
  // What a partition changes with each turn.
  struct Sign {
    uint32_t attempt = 0;
    uint64_t taken = 0;
    uint64_t done = 0;
    Millis last = Millis(0);
    bool operator==(const Sign&) const = default;
  };
  struct Seen {
    Sign sign;
    Instant since;
  };
  struct Job {
    Instant began;   // The ledger's time is zero then.
    Instant looked;  // Last.
    std::vector<Seen> partitions;
  };

  Job& find(const std::string& job, Millis latest, Instant now);

  std::map<std::string, Job> jobs_;
};

}  // namespace dunlin
