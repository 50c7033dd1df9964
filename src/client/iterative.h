// Iterative jobs on the command line: what --iterations, --partitions and --finish-by mean, and how
// far such a job is.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/result.h"
#include "client/submit_verb.h"
#include "model/ledgers.h"

namespace dunlin {

// "1000000", "1e6".
Result<uint64_t> parse_iterations(std::string_view text);

// From now: "25m"; a time of day, today or tomorrow: "17:00"; a date: "2030-01-31 17:00". Local
// time.
Result<WallTime> parse_deadline(std::string_view text, WallTime now);

// Puts iterations and deadline into the spec of a job whose inputs are known. Says whether the
// number of partitions is still open: as many as there are slots.
Result<bool> set_iterations(const SubmitVerb& verb, WallTime now, model::Spec& spec);
void set_partitions(uint64_t slots, model::Spec& spec);

// How an iterative job stands.
struct Iterating {
  LedgerNow ledger;
  balance::Forecast forecast;
  double speed = 0;  // Of all partitions that work.
  Millis since = Millis(0);
};
Result<Iterating> read_iterating(Table& table, const model::Job& job, WallTime now);

std::string iterating_text(const Iterating& iterating, const model::Spec& spec, WallTime now,
                           bool ended);
nlohmann::ordered_json iterating_json(const Iterating& iterating, bool ended);

// "in 4m10s", "12s ago", and whether it will be met, if that is known.
std::string deadline_text(int64_t finish_by_ms, WallTime now, std::string_view judgement);

}  // namespace dunlin
