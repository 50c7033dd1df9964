// What a job that shares iterations among partitions may ask for, and what it gets if it does not
// say: one set of rules for the command line, job files and the REST service. From any thread.
// Pure, except that parse_deadline() asks the system for the local time, and that fit_to_slots()
// reads the table and blocks as it does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/env.h"
#include "base/result.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin {

// "1000000", "1e6".
Result<uint64_t> parse_iterations(std::string_view text);
// `invalid` if it is not a whole number, or too large.
Result<uint64_t> whole_iterations(double value);

// From now: "25m"; a time of day, today or tomorrow: "17:00"; a date: "2030-01-31 17:00". Local
// time.
Result<WallTime> parse_deadline(std::string_view text, WallTime now);

struct IterationOptions {
  std::optional<uint64_t> iterations = {};
  uint32_t partitions = 0;      // That begin; 0: not said.
  uint32_t partitions_max = 0;  // 0: not said.
  Millis span = Millis(0);      // 0: the default.
  bool retries_said = false;
};

// Puts them into the spec of a job whose inputs, deadline and retries are known. Says whether the
// number of partitions is still open.
Result<bool> set_iterations(const IterationOptions& options, model::Spec& spec);

// Then there is one for each slot of the workers that can run them.
Result<void> fit_to_slots(Table& table, WallTime now, model::Spec& spec);

}  // namespace dunlin
