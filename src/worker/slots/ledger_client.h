// What the partitions of iterative jobs ask of the ledgers of their jobs, over a store of its own
// that may block. From any thread; one at a time goes to the store.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "model/iterations/ledgers.h"
#include "stores/async_store.h"

namespace dunlin::worker {

class LedgerClient {
 public:
  explicit LedgerClient(stores::Connect connect) : connect_(std::move(connect)) {}

  // While the store is away they are tried again, until `unwanted`.
  using Unwanted = std::function<bool()>;
  Result<balance::Turn> next(const PartitionAttempt& who, const Unwanted& unwanted);
  Result<Left> leave(const PartitionAttempt& who, uint64_t done, const Unwanted& unwanted);
  Result<Place> place(const PartitionAttempt& who, const Unwanted& unwanted);

  // Tried once: if it fails, whoever comes next finds out.
  void lose(const PartitionAttempt& who);

  // From now on partitions get no more iterations if others can do them.
  void wind_up() { leaving_ = true; }

 private:
  template <typename Call>
  auto call(const Unwanted& unwanted, const Call& call) -> decltype(call(std::declval<Table&>()));
  Result<Table*> table();

  const stores::Connect connect_;
  std::atomic<bool> leaving_ = false;
  std::mutex mutex_;
  std::unique_ptr<RequestStore> store_;
  LedgerClock seen_;
};

}  // namespace dunlin::worker
