// A disk in memory without faults, for fuzzing what is read from disks. sync() costs nothing and
// promises nothing.
#pragma once

#include <memory>

#include "base/env.h"

namespace dunlin {

std::unique_ptr<Disk> memory_disk();

}  // namespace dunlin
