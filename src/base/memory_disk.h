// A disk in memory: for `dunlin hub --ephemeral`, and the ground that sim/disk.h stands on. sync()
// costs nothing and promises nothing.
#pragma once

#include <memory>

#include "base/env.h"

namespace dunlin {

std::unique_ptr<Disk> memory_disk();

}  // namespace dunlin
