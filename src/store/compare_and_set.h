// How rows change that others may change meanwhile: read, decide, write under the version that was
// read, and begin again if somebody else was quicker. For callers that block; a mind repeats its
// own requests. It does nothing but call; one thread at a time, as the store of the caller.
//
// One rule holds for everybody. The next round begins at once, without a pause: a conflict means
// that another agent's change was written, so that of n agents which change a row at the same time
// the last is through after n rounds. There are kRoundsMax rounds: as many as an iterative job has
// partitions, and nothing else lets so many agents change one row. A change therefore takes no
// longer than so many reads and writes, each of which has the time limits of its store.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace dunlin {

inline constexpr int kRoundsMax = 1000;

// What a round comes to: a value, or nothing if somebody else was quicker.
template <typename T>
using Round = Result<std::optional<T>>;

// A write as the last step of a round.
template <typename T>
Round<T> unless_conflict(Result<T> written) {
  if (written.ok()) return std::optional<T>(std::move(written).value());
  if (written.error().code == Code::conflict) return std::optional<T>();
  return written.error();
}

// Calls round(), which returns a Round, until it has a value or an error, and returns that; nothing
// if all rounds were in somebody's way.
template <typename Call>
auto compare_and_set(Call&& round) -> decltype(round()) {
  for (int rounds = 1; rounds < kRoundsMax; ++rounds) {
    auto result = round();
    if (!result.ok() || result.value()) return result;
  }
  return round();
}

// The same, with an error if all rounds were in somebody's way.
template <typename Call>
auto compare_and_set(const Error& busy, Call&& round)
    -> Result<typename std::decay_t<decltype(round().value())>::value_type> {
  auto result = TRY(compare_and_set(round));
  if (!result) return busy;
  return std::move(*result);
}

}  // namespace dunlin
