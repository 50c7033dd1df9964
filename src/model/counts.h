// How many tasks, iterations and partitions a job may have: what others compute with, so rows that
// say more are damaged. Pure; from any thread.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "model/records.pb.h"

namespace dunlin {

inline constexpr size_t kPartitionsMax = 1000;

// `invalid` names the count that cannot be.
Result<void> check_counts(const model::Spec& spec);

}  // namespace dunlin
