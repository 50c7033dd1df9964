// A disk in memory without faults, for fuzzing the code that reads disks: sync() costs nothing and
// promises nothing. One thread.
#pragma once

#include <memory>

#include "base/env.h"

namespace dunlin {

std::unique_ptr<Disk> memory_disk();

}  // namespace dunlin
