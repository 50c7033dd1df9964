// The reference engine: the shortest code that honours store.h. Every other engine is compared with
// it, and it backs `memory:`, tests and simulation. Never blocks; one thread at a time.
#pragma once

#include <memory>

#include "store/request_store.h"

namespace dunlin {

std::unique_ptr<Core> memory_core();

// A store of its own, gone when destroyed. A pull never waits. REQUIRES: `clock` outlives it.
std::unique_ptr<RequestStore> memory_store(const Clock& clock);

}  // namespace dunlin
