// What a worker is unless it was told otherwise, and the bounds of what it can be told. From any
// thread.
#pragma once

#include "base/result.h"
#include "worker/mind/worker.h"

namespace dunlin::worker {

// Fills in host, pid and seed, and what was left empty: id, slots (0) and memory (0). `invalid` if
// something cannot be.
Result<WorkerOptions> with_defaults(WorkerOptions options);

// As many as there are cores.
uint32_t default_slots();

// `denied` as root, unless that is allowed: tasks would have all rights.
Result<void> check_user(bool allow_root);

}  // namespace dunlin::worker
