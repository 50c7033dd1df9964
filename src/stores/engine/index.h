// What the log adds up to, in memory: keys, versions, leases, and where the values stand in the
// log.
//
// Pure bookkeeping: no I/O, no clock. Every change here has a record in the log, and replaying the
// records gives the same index. All operations are O(1) or O(log n).
//
// What is not durable yet can be undone: from remember() on, the index notes what each change
// replaced, until settle() says that it is on disk.
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/strings/string_view.h>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/env.h"
#include "stores/engine/record.h"
#include "stores/engine/table_state.h"

namespace dunlin::engine {

struct QueueState;

// What changes about a message while it is in its queue.
struct ItemState {
  Position at;
  uint32_t attempts = 0;
  uint64_t token = 0;  // 0 until first handed out.
  Millis hold = Millis(0);
  Instant hidden_until;
  bool leased = false;
};

// What the last Keep left on a message. Few messages have one, so it is kept apart from the item.
struct ItemNote {
  uint64_t step = 0;  // Keeps under the present lease.
  uint64_t version = 0;
  uint64_t nonce = 0;
  std::string text;
};

// A message that is not finished.
struct Item : ItemState {
  std::string id;
  QueueState* queue = nullptr;
  uint64_t number = 0;  // Its place in the queue.
};

struct ItemHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): absl looks for it.
  // Through absl's own view: it does not know the standard's, and would hash it slowly.
  size_t operator()(std::string_view id) const {
    return absl::HashOf(absl::string_view(id.data(), id.size()));
  }
  size_t operator()(const std::unique_ptr<Item>& item) const { return (*this)(item->id); }
};
struct ItemEqual {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): absl looks for it.
  static std::string_view id(std::string_view id) { return id; }
  static std::string_view id(const std::unique_ptr<Item>& item) { return item->id; }
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return id(a) == id(b);
  }
};

struct QueueState {
  std::string name;
  absl::btree_map<uint64_t, Item*> ready;  // By number: oldest first.
  absl::flat_hash_set<std::unique_ptr<Item>, ItemHash, ItemEqual> items;
};

struct BlobState {
  Position at;
  uint64_t file = 0;
  uint64_t size = 0;
  bool placed = true;  // See BlobRecord.
};

class Index {
 public:
  // Tables and queues exist while something is in them; nullptr if not.
  const TableState* table(std::string_view name) const;
  const QueueState* queue(std::string_view name) const;
  std::optional<RowState> row(std::string_view table, std::string_view key) const;
  Item* item(std::string_view queue, std::string_view id) const;
  const BlobState* blob(std::string_view name) const;

  const absl::btree_map<std::string, BlobState, std::less<>>& blobs() const { return blobs_; }
  const absl::btree_map<std::string, TableState, std::less<>>& tables() const { return tables_; }
  const absl::btree_map<std::string, std::unique_ptr<QueueState>, std::less<>>& queues() const {
    return queues_;
  }

  void put_row(std::string_view table, std::string_view key, RowState state);
  void erase_row(std::string_view table, std::string_view key);
  // Those from `first` to `last`, both included; returns how many.
  uint64_t erase_rows(std::string_view table, std::string_view first, std::string_view last);
  void put_blob(std::string_view name, BlobState state);
  void erase_blob(std::string_view name);

  // A new message, ready. REQUIRES: no item with that id is in the queue
  Item& add(std::string_view queue, std::string_view id, uint64_t number, Position at);
  void move(Item& item, Position at);
  void lease(Item& item, uint64_t token, Millis hold, Instant now);
  void renew(Item& item, Millis hold, Instant now);
  void give_back(Item& item);  // Ready again, at its old place; its lease stays valid until then.
  void expire(Item& item);     // The same by time alone, without a record: it is not undone.
  void remove(Item& item);     // Finished: the reference dangles.
  void keep(Item& item, ItemNote note, Millis hold, Instant now);
  const ItemNote* note(const Item& item) const;  // nullptr: there is none.

  // The held item whose lease ends first, or nullptr.
  Item* first_to_expire() const;

  // Changes that can be undone: counted from the first that was not settled.
  void remember() { remembers_ = true; }
  size_t changes() const { return undo_.size(); }
  void settle(size_t changes);  // The oldest ones are durable.
  void undo();                  // All that are not settled.

  uint64_t live_bytes() const { return live_bytes_; }
  uint64_t live_bytes(uint32_t segment) const;
  void forget_segments_before(uint32_t segment);

 private:
  using Deadline = std::pair<Instant, uint64_t>;  // With the item's number, to be unique.

  // What there was before a change.
  struct RowWas {
    std::string table;
    std::string key;
    std::optional<RowState> state;
  };
  struct BlobWas {
    std::string name;
    std::optional<BlobState> state;
  };
  struct ItemWas {
    Item* item;
    ItemState state;
  };
  struct ItemWasNot {
    Item* item;
  };
  struct ItemWasThere {
    std::unique_ptr<Item> item;
    std::string queue;
  };
  struct NoteWas {
    uint64_t number;
    std::optional<ItemNote> note;
  };
  using Undo = std::variant<RowWas, BlobWas, ItemWas, ItemWasNot, ItemWasThere, NoteWas>;

  void note_row(std::string_view table, std::string_view key, std::optional<RowState> state);
  void note_blob(std::string_view name, std::optional<BlobState> state);
  void note_item(Item& item);
  void note_note(const Item& item);
  void undo(RowWas&& was);
  void undo(BlobWas&& was);
  void undo(ItemWas&& was);
  void undo(ItemWasNot&& was);
  void undo(ItemWasThere&& was);
  void undo(NoteWas&& was);

  Item& insert(std::string_view queue, std::unique_ptr<Item> item);
  std::unique_ptr<Item> extract(Item& item);
  void set(Item& item, const ItemState& state);
  void release(Item& item);
  void hide(Item& item, Millis hold, Instant now);
  void count(Position at);
  void discount(Position at);

  absl::btree_map<std::string, TableState, std::less<>> tables_;
  absl::btree_map<std::string, BlobState, std::less<>> blobs_;
  absl::btree_map<std::string, std::unique_ptr<QueueState>, std::less<>> queues_;
  absl::btree_map<Deadline, Item*> leased_;
  absl::flat_hash_map<uint64_t, ItemNote> notes_;  // By the item's number.
  uint64_t live_bytes_ = 0;
  absl::btree_map<uint32_t, uint64_t> live_by_segment_;
  bool remembers_ = false;
  std::vector<Undo> undo_;  // Oldest first.
};

// Turns records back into an index. Leases last their whole hold again, counted from `now`.
class Replay {
 public:
  Replay(Index& index, Instant now) : index_(index), now_(now) {}

  // False, and nothing changed, if the record cannot be true after those before it.
  bool apply(const Record& record, Position at);

  // The largest version, number, token or file that was seen.
  uint64_t stamp() const { return stamp_; }

 private:
  bool on(const BatchRecord& record, Position at);
  bool on(const PutRecord& record, Position at);
  bool on(const EraseRecord& record, Position at);
  bool on(const PushRecord& record, Position at);
  bool on(const LeaseRecord& record, Position at);
  bool on(const RenewRecord& record, Position at);
  bool on(const FinishRecord& record, Position at);
  bool on(const BlobRecord& record, Position at);
  bool on(const BlobEraseRecord& record, Position at);
  bool on(const KeepRecord& record, Position at);
  bool on(const EraseRangeRecord& record, Position at);
  void saw(uint64_t stamp) { stamp_ = std::max(stamp_, stamp); }
  template <typename Act>
  void each(const Numbers& numbers, Act act);

  Index& index_;
  const Instant now_;
  uint64_t stamp_ = 0;
  absl::flat_hash_map<uint64_t, Item*> by_number_;
};

}  // namespace dunlin::engine
