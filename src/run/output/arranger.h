// In which order outcomes are shown: as they come, or in the order of their tasks. Bounded: when
// too much waits for an early task, further outcomes are forgotten here and must be read again from
// the store, where they are safe. Pure; from one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "model/records.pb.h"

namespace dunlin::run {

inline constexpr size_t kArrangedMax = 64 << 20;  // Bytes that wait for their turn.

struct Ended {
  uint64_t task = 0;
  model::Outcome outcome{};
  bool forgotten = false;  // The outcome is not here: read it from the store.
};

class Arranger {
 public:
  // Of a task that `was_shown` before, nothing will come; those after it do not wait for it.
  using WasShown = std::function<bool(uint64_t task)>;
  explicit Arranger(bool keep_order, size_t bytes_max = kArrangedMax, WasShown was_shown = {})
      : keep_order_(keep_order), bytes_max_(bytes_max), was_shown_(std::move(was_shown)) {}

  // In order, a task that was shown or is waiting is not shown again.
  void add(Ended one);

  // An outcome that is in the store and was not shown.
  void add_forgotten(uint64_t task) { forget(task); }

  // No more will come: what waits may be shown although tasks before it are missing.
  void end() { ended_ = true; }

  // What is to be shown now.
  std::optional<Ended> next();

 private:
  std::optional<Ended> take_forgotten();
  void forget(uint64_t task);

  const bool keep_order_;
  const size_t bytes_max_;
  const WasShown was_shown_;
  bool ended_ = false;
  std::deque<Ended> arrived_;               // If no order is kept.
  std::map<uint64_t, Ended> waiting_;       // By task.
  std::map<uint64_t, uint64_t> forgotten_;  // Runs of tasks: the first, and the one after the last.
  size_t bytes_ = 0;                        // Of those that wait.
  uint64_t next_ = 0;
};

}  // namespace dunlin::run
