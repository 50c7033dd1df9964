// The rows of a table in memory: a sorted map from keys to where the values stand, made for
// millions of rows. Keys stand in blocks of about kBlockMax bytes, each key as what it does not
// share with the one before it; so a row takes 22 bytes and the end of its key, and an eighth more
// at most.
//
// Pure, one thread. Iterators are for reading, and are void after any change.
#pragma once

#include <absl/container/btree_map.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stores/engine/record.h"

namespace dunlin::engine {

struct RowState {
  Position at;
  uint64_t version = 0;
  bool operator==(const RowState&) const = default;
};

class TableState {
  // Blocks by a key that is not greater than any of theirs, and greater than all before them.
  using Blocks = absl::btree_map<std::string, std::string, std::less<>>;

 public:
  static constexpr size_t kBlockMax = 1024;

  class Iterator {
   public:
    using Row = std::pair<std::string, RowState>;
    const Row& operator*() const { return row_; }
    const Row* operator->() const { return &row_; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const {
      return block_ == other.block_ && at_ == other.at_;
    }

   private:
    friend class TableState;
    Iterator(const Blocks& blocks, Blocks::const_iterator block, size_t at);
    void read();

    const Blocks* blocks_;
    Blocks::const_iterator block_;
    size_t at_;  // Where the entry stands in its block.
    size_t next_ = 0;
    Row row_;
  };

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t memory() const;  // Bytes, by a walk over all blocks.

  std::optional<RowState> find(std::string_view key) const;

  // These return what was there before.
  std::optional<RowState> put(std::string_view key, const RowState& state);
  std::optional<RowState> erase(std::string_view key);

  Iterator begin() const { return lower_bound(""); }
  Iterator end() const { return {blocks_, blocks_.end(), 0}; }
  Iterator lower_bound(std::string_view key) const { return bound(key, false); }
  Iterator upper_bound(std::string_view key) const { return bound(key, true); }

 private:
  Iterator bound(std::string_view key, bool is_after) const;
  Blocks::iterator block_of(std::string_view key);
  void split(Blocks::iterator block, size_t at);
  void merge_with_next(Blocks::iterator block);

  Blocks blocks_;
  size_t size_ = 0;
};

}  // namespace dunlin::engine
