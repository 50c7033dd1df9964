// The Table of a store, in DynamoDB: one table of theirs (PREFIX-rows) holds the rows of all of
// ours. Queues and blobs are not here: `unsupported`.
//
//   t  our table's name, the partition key     n  the row's version
//   k  our key, the sort key                   o  the nonce of the commit that wrote the row
//   v  the value
//
// A commit is one conditional transaction. Its nonce stays on the rows that it put, so a repeat
// finds that it was applied. Versions are times with random bits behind them: no counter is shared,
// so they grow as long as the row stands, and after that as well as the clocks agree.
//
// Blocks; one thread at a time, but for stop().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/request_store.h"
#include "stores/aws/service.h"

namespace dunlin::cloud {

// What one commit can hold, by DynamoDB's limits; more is `unsupported`.
inline constexpr size_t kCloudWritesMax = 100;
inline constexpr size_t kCloudBytesMax = 4'000'000;  // Of keys and values.

// What a request costs is worth waiting so long for more to go with it.
inline constexpr Millis kCloudPace = Millis(250);

// A version that is greater than `least`. `bits` are random.
uint64_t make_version(WallTime now, uint64_t bits, uint64_t least);

// Keys and values of the rows that it writes, as DynamoDB counts them.
size_t commit_bytes(const Commit& commit);

// `conflict` if a table as DescribeTable shows it is not a store's.
Result<void> check_rows_table(const CloudAddress& address, const json& description);

class DynamoTable final : public RequestStore {
 public:
  DynamoTable(CloudAddress address, const CloudOptions& options, const Clock& clock,
              const Disk& disk);

  // Waits until the table can be used, and says whether it had to be made, which the first request
  // does by itself. `not_found` if there is none and it shall not be made, `conflict` if it is not
  // ours.
  Result<bool> prepare(bool make = true);

  // Tries a transaction that changes nothing: `unsupported` if the service has none.
  Result<void> check_transactions();

  void stop() override { link_.stop(); }

 protected:
  Answer call(Request&& request) override;

 private:
  struct Stored {  // Of a row, what a commit looks at.
    uint64_t version = 0;
    std::string nonce;
  };

  Error not_committed(const Reply& reply) const;
  Answer handle(const Request& request);
  Answer on(const Commit& commit);
  Answer on(const Get& get);
  Answer on(const Scan& scan);
  Answer on(const AskInfo& ask);
  Answer on(const EraseAll& erase);
  template <typename T>
  Answer on(const T& other);

  Result<Reply> send(std::string_view operation, const json& in);
  Result<Reply> write(const Commit& commit, const std::string& nonce, uint64_t version);
  Result<std::vector<Stored>> stored(const Commit& commit);
  Result<json> get_items(std::vector<json> keys, std::string_view projection);
  Result<void> delete_items(json deletes);
  CloudLink link_;
  bool ready_ = false;
  uint64_t last_version_ = 0;
};

}  // namespace dunlin::cloud
