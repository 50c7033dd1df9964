// Which outputs of a run have been shown, on record: a bit for each task, in rows beside the
// outcomes (table "shown"). What has an outcome and no bit is shown when the run goes on.
//
// Both classes belong to one thread, that of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/lane.h"
#include "base/result.h"
#include "stores/engine/file_store.h"

namespace dunlin::run {

inline constexpr const char* kShownTable = "shown";
inline constexpr Millis kMarkEvery = Millis(100);  // At most so often: a mark costs a sync.

// In memory. One thread.
class Shown {
 public:
  explicit Shown(uint64_t tasks) : tasks_(tasks) {}

  Result<void> read(Table& table);
  // Tasks that have an outcome and no bit, in order.
  Result<void> read_unshown(Table& table, const std::function<void(uint64_t task)>& take) const;

  bool has(uint64_t task) const;
  void add(uint64_t task);
  bool is_full(uint64_t page) const;
  std::string row(uint64_t page) const;

 private:
  const uint64_t tasks_;
  std::map<uint64_t, std::string> pages_;  // Bits; those that have any.
};

// Writes the marks, in a thread of its own, so that nothing waits for the disk but the next mark.
// One thread calls.
class Marker {
 public:
  // `sync` makes durable what the marks will claim; it is called in the marker's thread.
  Marker(std::unique_ptr<engine::FileStore> store, std::function<Result<void>()> sync);

  // The rows of those tasks' pages are written, and the blobs, which nobody will read, go.
  // REQUIRES: !busy()
  void write(const Shown& shown, const std::set<uint64_t>& pages, std::vector<std::string> blobs);
  bool busy() const { return busy_; }
  Result<void> look();  // What became of the last write, if it is over.
  Result<void> wait();  // Until it is.

 private:
  Result<void> carry_out(const std::vector<Write>& writes, const std::vector<std::string>& blobs);

  std::unique_ptr<engine::FileStore> store_;  // Of the lane.
  const std::function<Result<void>()> sync_;
  bool busy_ = false;
  Box<Result<void>> done_;
  Lane lane_;
};

}  // namespace dunlin::run
