// How an iterative job stands: what its partitions have done, how fast, and whether its deadline
// will be met. One thread at a time, as the store.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "balance/deadline.h"
#include "base/env.h"
#include "base/result.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/progress.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

struct Iterating {
  LedgerNow ledger;
  balance::Forecast forecast;
  double speed = 0;  // Of all partitions that work.
  Millis since = Millis(0);
};
Result<Iterating> read_iterating(Table& table, const model::Job& job, WallTime now);

// Iterations a second, lately; of one that has ended, in all.
double speed_of(const balance::Partition& partition);
// waits runs ended
std::string_view state_word(const balance::Partition& partition);

// What progress_json() says, and what there is to say about iterations and a deadline.
Result<nlohmann::ordered_json> status_json(Table& table, const Progress& progress, WallTime now);

}  // namespace dunlin
