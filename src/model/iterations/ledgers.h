// The ledger of an iterative job as a row of the table "ledgers", which its partitions change in
// turns. Each turn is durable when it returns, and of two that come at the same time one is second.
//
// Functions that take a Table block as it does; one thread at a time, as the store. The others are
// pure.
#pragma once

#include <optional>
#include <string>

#include "balance/deadline.h"
#include "balance/ledger.h"
#include "model/iterations/ledger_clock.h"
#include "model/ledger.pb.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

inline constexpr std::string_view kLedgers = "ledgers";
inline constexpr Millis kSpanDefault = Millis(1000);
inline constexpr Millis kAskAgain = Millis(100);  // For a taker that has to wait.

struct IterativeJob {
  std::string id;
  uint64_t iterations = 0;
  size_t partitions = 1;  // That begin,
  size_t most = 1;        // and that there may be.
  Millis threshold = Millis(60'000);
  Millis pace = kSpanDefault;  // How long a span should take.
  std::optional<WallTime> finish_by = {};
};

// REQUIRES: spec.has_iterations()
IterativeJob iterative_job(std::string id, const model::Spec& spec);

struct LedgerNow {
  balance::Ledger ledger;
  WallTime begun;
  Millis latest = Millis(0);  // When it was changed, by its own time.
};

model::Ledger encode(const LedgerNow& now);
// `corrupt` if it is not sound: if an iteration were in two places, or in none.
Result<LedgerNow> decode(const model::Ledger& record);

// What it takes to look at ledgers: the time as this process saw it pass in them, and a clock.
struct Looker {
  LedgerClock& seen;
  const Clock& clock;
};

// As it is; begun now if nobody has taken a turn yet.
Result<LedgerNow> read_ledger(Table& table, const IterativeJob& job, WallTime now);

// One attempt at a partition.
struct PartitionAttempt {
  IterativeJob job;
  size_t partition = 0;
  uint32_t attempt = 0;
  uint64_t had = 0;  // Iterations that it was given so far: an answer that was lost is given again.
};

// What balance::next_span does. When all iterations are taken, those of failed and of silent
// partitions come back, and the taker may have to wait for that. If the deadline is in danger, more
// partitions may start from now on. A taker that is `leaving` is given no more if others can do it.
Result<balance::Turn> next_iterations(Table& table, const PartitionAttempt& who,
                                      const Looker& looker, bool leaving = false);

// The worker that runs this attempt: its start is on record, it has no outcome, and nobody took its
// place. `conflict` says what is not so.
Result<std::string> worker_of(Table& table, const PartitionAttempt& who);

// What the ledger knows of an attempt.
struct Place {
  bool here = false;   // It has the partition's place.
  bool ended = false;  // It was told to end, or has left.
  uint64_t given = 0;  // Iterations; of one that has ended, those that count.
};
Result<Place> find_place(Table& table, const PartitionAttempt& who);

// From here on an outcome of this attempt, or of an earlier one, does not count.
void revoke(model::Page& page, uint32_t offset, uint32_t attempt);

// What balance::end_early does, if there is somebody to do the rest, or may be.
enum class Left {
  yes,       // Also who repeats it.
  given_up,  // Others have its iterations.
  alone,     // It has to go on, or to fail and be started again.
};
Result<Left> leave(Table& table, const PartitionAttempt& who, uint64_t done, const Looker& looker);
// What balance::lose does.
Result<void> lose_partition(Table& table, const PartitionAttempt& who, const Looker& looker);

// How many partitions of a job may start, of those that are in reserve from `first` on. `row` is
// the ledger's, `before` says whether all partitions before have an outcome.
Result<uint64_t> reserve_needed(const Row& row, uint64_t first, uint64_t last, bool before);

}  // namespace dunlin
