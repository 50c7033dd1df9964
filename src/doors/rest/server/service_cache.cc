#include "doors/rest/server/service_cache.h"

#include "base/text.h"
#include "tascaas/signing.h"

namespace dunlin::rest {
namespace {

constexpr size_t kThingsMax = 10'000;
constexpr size_t kJobsMax = 200;
constexpr int kLargeJob = 100;  // Partitions: more take too much room.

}  // namespace

bool ServiceCache::due(const std::string& what, Instant now, Millis every) {
  const std::lock_guard lock(mutex_);
  if (done_.size() > kThingsMax) done_.clear();
  const auto [at, fresh] = done_.try_emplace(what, now);
  if (!fresh && now - at->second < every) return false;
  at->second = now;
  return true;
}

std::optional<Stored<tascaas::Job>> ServiceCache::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return {};
  return found->second;
}

void ServiceCache::keep(const std::string& id, Stored<tascaas::Job> job) {
  if (job.record.partitions_size() > kLargeJob) return;
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= kJobsMax) jobs_.erase(jobs_.begin());
  jobs_.insert_or_assign(id, std::move(job));
}

std::unique_lock<std::mutex> ServiceCache::take_turns(const std::string& job) {
  return std::unique_lock(turns_[place_of(job)]);
}

LedgerClock& ServiceCache::ledger_clock(const std::string& job) {
  return ledger_clocks_[place_of(job)];
}

size_t ServiceCache::place_of(const std::string& job) { return fingerprint(job) % kTurns; }

Result<std::string> ServiceCache::signing_key(Table& table) {
  {
    const std::lock_guard lock(mutex_);
    if (signing_key_) return *signing_key_;
  }
  const std::string key = TRY(tascaas::signing_key(table));
  const std::lock_guard lock(mutex_);
  signing_key_ = key;
  return key;
}

}  // namespace dunlin::rest
