// Ordinary workers that have as many slots as they are advised to: infrastructures, too, of
// Dunlin's own tasks instead of a tenant's partitions. One thread at a time, as the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/env.h"
#include "store/store.h"

namespace dunlin::tascaas {

inline constexpr std::string_view kOwnTasks = {};  // In the place of a tenant's name.

struct Follower {
  std::string id;  // The infrastructure's name, a slash, and the worker's.
  uint64_t slots = 0;
  uint64_t max_slots = 0;
  Millis scale_time = Millis(0);
};

// A sign of life, the first one too. It has begun so many tasks since the one before. Returns the
// advice, as update() does.
Result<double> follow(Store& store, const Follower& who, uint64_t begun, WallTime now);
// Does nothing if the follower is not there.
Result<void> stop_following(Store& store, const Follower& who, WallTime now);

// Tasks of open jobs that no worker runs: those of plain jobs, and of iterative ones the partitions
// that there are now.
Result<uint64_t> tasks_waiting(Store& store, WallTime now);

}  // namespace dunlin::tascaas
