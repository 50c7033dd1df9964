// A disk in memory, for tests and fuzzing of what is written to disks. sync()
// costs nothing and promises nothing.
#pragma once

#include <memory>

#include "base/env.h"

namespace dunlin {

std::unique_ptr<Disk> memory_disk();

}  // namespace dunlin
