#include "model/iterations/ledger_clock.h"

#include <algorithm>

namespace dunlin {

LedgerClock::Job& LedgerClock::find(const std::string& job, Millis latest, Instant now) {
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) return found->second;
  if (jobs_.size() >= kJobsMax) {
    const auto looked = [](const auto& one) { return one.second.looked; };
    jobs_.erase(std::ranges::min_element(jobs_, {}, looked));
  }
  return jobs_.emplace(job, Job{now - latest, now, {}}).first->second;
}

Millis LedgerClock::look(const std::string& name, const balance::Ledger& ledger, Millis latest,
                         Instant asked, Instant now) {
  Job& job = find(name, latest, now);
  job.began = std::min(job.began, now - latest);
  job.looked = now;
  // The others could not be heard either.
  const bool away = now - asked > kAway;
  const size_t before = job.partitions.size();
  job.partitions.resize(ledger.holders.size());
  for (size_t i = 0; i < ledger.holders.size(); ++i) {
    const balance::Ledger::Holder& holder = ledger.holders[i];
    const balance::Partition& partition = ledger.task.partitions[i];
    const Sign sign{holder.attempt, holder.taken, partition.done, partition.last};
    Seen& seen = job.partitions[i];
    if (away || i >= before || seen.sign != sign) seen = {sign, now};
  }
  return now - job.began;
}

Millis LedgerClock::silence(const std::string& job, size_t partition) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || partition >= found->second.partitions.size()) return Millis(0);
  return found->second.looked - found->second.partitions[partition].since;
}

}  // namespace dunlin
