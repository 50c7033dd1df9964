// The real world: clock, disk and chance of this machine. Calls of the disk block as the disk does.
// From any thread.
#pragma once

#include <memory>

#include "base/env.h"

namespace dunlin {

Clock& posix_clock();
Disk& posix_disk();

// How often this process has waited for the disk through posix_disk().
uint64_t posix_syncs();

// A number nobody can guess, for seeds and ids.
uint64_t random_seed();

}  // namespace dunlin
