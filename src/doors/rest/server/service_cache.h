// What a service need not ask the store for each time. All of it may be lost at any time. From any
// thread.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/env.h"
#include "base/memory.h"
#include "base/result.h"
#include "doors/rest/server/budget.h"
#include "model/iterations/ledger_clock.h"
#include "store/store.h"
#include "tascaas/turns.h"

namespace dunlin::rest {

class ServiceCache final : public tascaas::JobCache {
 public:
  // Whether something that is done now and then is due: at most once in `every`.
  bool due(const std::string& what, Instant now, Millis every);

  std::optional<Stored<tascaas::Job>> find(const std::string& id) override;
  void keep(const std::string& id, Stored<tascaas::Job> job) override;

  // Turns of one job that come to one service at the same time wait for each other, instead of
  // trying to be first again and again.
  std::unique_lock<std::mutex> take_turns(const std::string& job);
  // REQUIRES: the caller has the job's lock.
  LedgerClock& ledger_clock(const std::string& job);

  // Of bodies that are kept whole, what is made of them, and large replies.
  Budget& bodies() { return bodies_; }

  // What URLs are signed with: the same for all services on the store, made by the first.
  Result<std::string> signing_key(Table& table);

 private:
  Budget bodies_{memory_share(8, 256 << 20)};
  std::mutex mutex_;
  std::map<std::string, Instant> done_;
  std::optional<std::string> signing_key_;
  std::map<std::string, Stored<tascaas::Job>> jobs_;
  static constexpr size_t kTurns = 1024;
  static size_t place_of(const std::string& job);
  std::array<std::mutex, kTurns> turns_;  // By the job's hash.
  std::array<LedgerClock, kTurns> ledger_clocks_;
};

}  // namespace dunlin::rest
