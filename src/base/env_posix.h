// The real world: clock, disk and chance of this machine.
#pragma once

#include <memory>

#include "base/env.h"

namespace dunlin {

Clock& posix_clock();
Disk& posix_disk();

// A number nobody can guess, for seeds and ids.
uint64_t random_seed();

}  // namespace dunlin
