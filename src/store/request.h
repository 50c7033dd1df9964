// The store's calls as values: what a hub is asked and what it answers. The same values travel over
// the wire (wire/), through the simulated network (sim/) and into our own engines (Core). They are
// plain data; a Core belongs to one thread.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "store/store.h"

namespace dunlin {

struct Commit {
  uint64_t nonce = 0;  // The same when the commit is repeated, another for every other; 0: none.
  std::vector<Write> writes;
};
struct Pull {
  std::string queue;
  uint64_t max = 1;
  Millis hold = Millis(0);
  Millis wait = Millis(0);
};
struct Renew {
  std::string queue;
  std::vector<Lease> leases;
  Millis hold = Millis(0);
};
struct AskDepth {
  std::string queue;
};
struct Get {
  std::string table;
  std::vector<std::string> keys;
};
struct Scan {
  std::string table;
  std::string prefix;
  std::string after;
  uint64_t max = 0;
};
struct EraseAll {
  std::string table;
  std::string prefix;
};
// A blob is sent in parts under an upload number of the sender's choice, then named. They come in
// order; all but the last have kBlobPart bytes. `not_found`: begin again. An empty one: give it up.
inline constexpr size_t kBlobPart = 1 << 20;
struct BlobPart {
  uint64_t upload = 0;
  uint64_t offset = 0;
  std::string bytes;
};
struct BlobEnd {
  uint64_t upload = 0;
  std::string name;
  uint64_t size = 0;
};
struct BlobGet {
  std::string name;
  uint64_t offset = 0;
  uint64_t max = 0;
};
struct BlobErase {
  std::string name;
};
struct BlobList {
  std::string prefix;
  std::string after;
  uint64_t max = 0;
};
struct AskInfo {};
using Request = std::variant<Commit, Pull, Renew, AskDepth, Get, Scan, BlobPart, BlobEnd, BlobGet,
                             BlobErase, BlobList, AskInfo, EraseAll>;

// What is in a store, for people.
struct Info {
  struct QueueInfo {
    std::string name;
    Depth depth;
  };
  struct TableInfo {
    std::string name;
    uint64_t rows = 0;
  };
  std::vector<QueueInfo> queues;  // By name, at most kBatchMax.
  std::vector<TableInfo> tables;  // By name, at most kBatchMax.
  uint64_t blobs = 0;
  uint64_t blob_bytes = 0;
  uint64_t live_bytes = 0;  // Of rows and messages.
  uint64_t disk_bytes = 0;  // Used for them; 0 if there is no disk.
};

struct Done {};  // Of BlobPart, BlobEnd and BlobErase.
struct Committed {
  uint64_t version = 0;
};
struct Deliveries {
  std::vector<Delivery> deliveries;
};
struct Lost {  // Of Renew: the leases that are not held any more.
  std::vector<Lease> leases;
};
struct Rows {
  std::vector<Row> rows;
};
struct Erased {  // Of EraseAll.
  uint64_t rows = 0;
};
struct Bytes {
  std::string bytes;
};
struct BlobNames {
  std::vector<BlobInfo> blobs;
};
using Answer = std::variant<Error, Done, Committed, Deliveries, Lost, Depth, Rows, Bytes, BlobNames,
                            Info, Erased>;

// Checks names, sizes and counts, the same for every engine. `invalid` says which and what is
// allowed.
Result<void> validate(const Request& request);

// One of our own engines, seen from the loop that drives it: no threads, no waiting. What a request
// wrote is visible to the next request at once, but nobody may be told any answer before the next
// commit() has succeeded. If commit() fails, all that was handled since the last one is undone, or
// may have happened if it says `unavailable`.
class Core {
 public:
  virtual ~Core() = default;

  // `now` never goes back. Pull does not wait here. REQUIRES: validate(request).ok()
  virtual Answer handle(Request&& request, Instant now) = 0;
  virtual Result<void> commit(Instant now) = 0;

  // Gives back the messages whose leases ended; returns the queues where that happened.
  virtual std::vector<std::string> expire(Instant now) = 0;
  virtual std::optional<Instant> next_expiry() const = 0;
};

}  // namespace dunlin
