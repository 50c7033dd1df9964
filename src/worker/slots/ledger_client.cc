#include "worker/slots/ledger_client.h"

#include "base/env_posix.h"
#include "base/log.h"
#include "base/wait.h"

namespace dunlin::worker {
namespace {

constexpr Millis kTryAgain = Millis(500);

}  // namespace

Result<Table*> LedgerClient::table() {
  if (store_ == nullptr) store_ = TRY(connect_());
  return &store_->table();
}

template <typename Call>
auto LedgerClient::call(const Unwanted& unwanted, const Call& call)
    -> decltype(call(std::declval<Table&>())) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      const Result<Table*> open = table();
      if (open.ok()) {
        auto result = call(*open.value());
        if (result.ok() || result.error().code != Code::unavailable || unwanted()) return result;
      } else if (open.error().code != Code::unavailable || unwanted()) {
        return open.error();
      }
    }
    wait_until(posix_clock().now() + kTryAgain, posix_clock());
  }
}

Result<balance::Turn> LedgerClient::next(const PartitionAttempt& who, const Unwanted& unwanted) {
  while (true) {
    const balance::Turn turn = TRY(call(unwanted, [&](Table& table) {
      return next_iterations(table, who, {seen_, posix_clock()}, leaving_);
    }));
    if (!turn.wait || unwanted()) return turn;
    wait_until(posix_clock().now() + kAskAgain, posix_clock());
  }
}

Result<Left> LedgerClient::leave(const PartitionAttempt& who, uint64_t done,
                                 const Unwanted& unwanted) {
  return call(unwanted, [&](Table& table) {
    return dunlin::leave(table, who, done, {seen_, posix_clock()});
  });
}

Result<Place> LedgerClient::place(const PartitionAttempt& who, const Unwanted& unwanted) {
  return call(unwanted, [&](Table& table) { return find_place(table, who); });
}

void LedgerClient::lose(const PartitionAttempt& who) {
  const auto lost = call([] { return true; },
                         [&](Table& table) -> Result<bool> {
                           TRY(lose_partition(table, who, {seen_, posix_clock()}));
                           return true;
                         });
  if (!lost.ok()) {
    log::warning("a partition ended without giving back its iterations job={} partition={}: {}",
                 who.job.id, who.partition, lost.error().what);
  }
}

}  // namespace dunlin::worker
