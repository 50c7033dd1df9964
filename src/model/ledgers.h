// The ledger of an iterative job as a row of the table "ledgers", which its partitions change in
// turns. Each turn is durable when it returns, and of two that come at the same time one is second.
#pragma once

#include <string>

#include "balance/deadline.h"
#include "balance/ledger.h"
#include "model/ledger.pb.h"
#include "store/store.h"

namespace dunlin {

inline constexpr std::string_view kLedgers = "ledgers";
inline constexpr size_t kPartitionsMax = 1000;

struct IterativeJob {
  std::string id;
  uint64_t iterations = 0;
  size_t partitions = 1;
  Millis threshold = Millis(300'000);
  Millis pace = Millis(1000);  // How long a span should take.
};

struct LedgerNow {
  balance::Ledger ledger;
  WallTime begun;
};

model::Ledger encode(const LedgerNow& now);
// `corrupt` if it is not sound: if an iteration were in two places, or in none.
Result<LedgerNow> decode(const model::Ledger& record);

// As it is; begun now if nobody has taken a turn yet.
Result<LedgerNow> read_ledger(Table& table, const IterativeJob& job, WallTime now);

// What balance::next_span, end_early and lose do.
Result<balance::Turn> take_turn(Table& table, const IterativeJob& job, size_t partition,
                                uint32_t attempt, WallTime now);
Result<balance::Code> leave(Table& table, const IterativeJob& job, size_t partition,
                            uint32_t attempt, uint64_t done, WallTime now);
Result<void> lose_partition(Table& table, const IterativeJob& job, size_t partition,
                            uint32_t attempt, WallTime now);

}  // namespace dunlin
