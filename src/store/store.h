// The three primitives that every engine provides, and the commit group that ties them together.
// Nothing above this file knows which engine is below.
//
//   Queue   work to be done once, handed out under a lease
//   Table   small records, changed by compare-and-set
//   Blobs   large bytes, written once
//
// Calls are batched and may block on disk or network. One object is used by one thread at a time. A
// call that fails changed nothing, unless the code is `unavailable`: then it may have, and the
// caller repeats it, which is safe for every call here. What "safe" means is executable:
// store/contract.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/env.h"
#include "base/result.h"

namespace dunlin {

// Queue and table names are [A-Za-z0-9._-]{1,64}. Keys, message ids and blob names are visible
// ASCII without spaces.
inline constexpr size_t kNameMax = 64;
inline constexpr size_t kKeyMax = 512;             // Also of a blob's name.
inline constexpr size_t kIdMax = 128;              // Of a message.
inline constexpr size_t kValueMax = 256 << 10;     // Of a row's value and of a message's body.
inline constexpr size_t kNoteMax = 4 << 10;        // Of the note on a message.
inline constexpr size_t kBatchMax = 10'000;        // Messages, leases, keys or rows in one call.
inline constexpr size_t kBatchBytesMax = 8 << 20;  // Of all bytes in one call or its answer.
inline constexpr uint64_t kBlobMax = uint64_t{1} << 40;
inline constexpr Millis kHoldMax = std::chrono::hours(24 * 30);
inline constexpr Millis kWaitMax = std::chrono::minutes(10);

struct Message {
  std::string id;  // Chosen by the producer; pushing an id that is still queued is a no-op.
  std::string body;
};

// Proof that a message was handed to this holder. Stale as soon as it is handed to another one.
struct Lease {
  std::string id;
  uint64_t token = 0;
  bool operator==(const Lease&) const = default;
};

struct Delivery {
  Lease lease;
  std::string body;
  uint32_t attempt = 0;   // 1 for the first delivery.
  std::string note = {};  // What the last Keep left for whoever gets the message next.
};

struct Depth {
  uint64_t ready = 0;   // Could be pulled now.
  uint64_t leased = 0;  // Held by someone.
  bool operator==(const Depth&) const = default;
};

struct Row {
  std::string key;
  std::string value;
  uint64_t version = 0;  // Grows with every change; 0 means the row does not exist.
};

struct BlobInfo {
  std::string name;
  uint64_t size = 0;
};

// A version that matches whatever is stored, a missing row too.
inline constexpr uint64_t kAnyVersion = UINT64_MAX;

// The writes that may stand in a commit group.
struct Put {
  std::string table;
  std::string key;
  std::string value;
  uint64_t version = 0;  // What must be stored now; 0: the row must not exist.
};
struct Erase {
  std::string table;
  std::string key;
  uint64_t version = 0;  // What must be stored now; a row that is already gone is fine.
};
struct Push {
  std::string queue;
  std::vector<Message> messages;
};
struct Finish {
  std::string queue;
  std::vector<Lease> leases;
  bool strict = false;  // A message that is gone is a conflict, as a stale lease is.
};
// Proves a lease and goes on with it. The group conflicts unless the message is there, its lease is
// this one, and `step` keeps were committed under it so far. So a group with a Keep is applied
// once, however late a copy of it arrives: the step has passed, or the lease, or the message is
// gone.
struct Keep {
  std::string queue;
  Lease lease;
  uint64_t step = 0;
  std::string note;         // In place of the note before; comes with the next delivery.
  Millis hold = Millis(0);  // The lease lasts so long from now on; zero gives the message back.
};
using Write = std::variant<Put, Erase, Push, Finish, Keep>;

class Queue {
 public:
  virtual ~Queue() = default;

  virtual Result<void> push(std::string_view queue, std::span<const Message> messages) = 0;

  // Hands out up to `max` messages, oldest first, hidden from other holders for `hold`. If there
  // are none it waits for up to `wait`, then returns none.
  virtual Result<std::vector<Delivery>> pull(std::string_view queue, size_t max, Millis hold,
                                             Millis wait) = 0;

  // Hides the messages for `hold` from now; zero gives them back at once. Returns the leases that
  // are lost: stale, or finished.
  virtual Result<std::vector<Lease>> renew(std::string_view queue, std::span<const Lease> leases,
                                           Millis hold) = 0;

  // Removes finished messages; those already gone count as removed. `conflict` if a lease is stale:
  // then none is removed.
  virtual Result<void> finish(std::string_view queue, std::span<const Lease> leases) = 0;

  virtual Result<Depth> depth(std::string_view queue) = 0;
};

class Table {
 public:
  virtual ~Table() = default;

  // One row for each key, in the same order; version 0 for those that do not exist.
  virtual Result<std::vector<Row>> get(std::string_view table,
                                       std::span<const std::string> keys) = 0;

  // Writes only if the stored version is still row.version (0: no row); returns the new version,
  // which was never used before. `conflict` if it is not.
  virtual Result<uint64_t> put(std::string_view table, const Row& row) = 0;

  // Removes the row if the stored version is still `version`; a row that is gone is fine.
  virtual Result<void> erase(std::string_view table, std::string_view key, uint64_t version) = 0;

  // Removes rows whose key starts with `prefix`, whatever their versions, as many as the engine
  // removes at once; returns how many. 0: none is left. REQUIRES: !prefix.empty()
  virtual Result<uint64_t> erase_all(std::string_view table, std::string_view prefix) = 0;

  // Rows whose key starts with `prefix` and is greater than `after`, in key order. A page may be
  // shorter than `max`; only an empty one is the end.
  virtual Result<std::vector<Row>> scan(std::string_view table, std::string_view prefix,
                                        std::string_view after, size_t max) = 0;
};

// Gives up to `max` bytes of a blob from `offset` on; may be asked for the same bytes again.
using BlobSource = std::function<Result<std::string>(uint64_t offset, size_t max)>;

class Blobs {
 public:
  virtual ~Blobs() = default;

  // A name is written once; writing the same bytes again is a no-op, other bytes are a `conflict`.
  // Nothing is visible until all of it is durable.
  virtual Result<void> put(std::string_view name, uint64_t size, const BlobSource& source) = 0;

  // Up to `max` bytes from `offset` on; none at or after the end. `not_found` if there is no blob.
  virtual Result<std::string> get(std::string_view name, uint64_t offset, size_t max) = 0;

  virtual Result<void> erase(std::string_view name) = 0;  // One that is gone is fine.

  // Blobs whose name starts with `prefix` and is greater than `after`, paged like Table::scan.
  virtual Result<std::vector<BlobInfo>> list(std::string_view prefix, std::string_view after,
                                             size_t max) = 0;
};

// The three may come from different engines, e.g. RabbitMQ, PostgreSQL and S3.
class Store {
 public:
  virtual ~Store() = default;

  virtual Queue& queue() = 0;
  virtual Table& table() = 0;
  virtual Blobs& blobs() = 0;

  // An ordered group of writes. A transactional store applies all or none; others apply them in
  // order up to the first failure. So write what must be seen first: publish, then finish. A group
  // names each row at most once. Returns the version that its rows got (0 if it puts none).
  //
  // Repeating a group that has a Put or a Keep is exact: it is applied once, and the repeat says
  // so, as long as nobody has changed its rows and messages since. One without is as exact as push
  // and finish alone.
  virtual Result<uint64_t> commit(std::span<const Write> writes) = 0;
};

}  // namespace dunlin
