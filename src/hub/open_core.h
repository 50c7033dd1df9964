// Opens the engine that a hub serves: the durable one over the folder of its data, or memory.
// Blocks while it reads the log. From any thread; the engine belongs to the one that drives it.
#pragma once

#include <memory>
#include <string>

#include "base/env.h"
#include "store/request.h"

namespace dunlin::hub {

struct CoreOptions {
  std::string folder;      // Of the data.
  bool ephemeral = false;  // In memory only: gone when the hub ends.
};

// `denied` if another process has the folder, `corrupt` if it is damaged.
Result<std::unique_ptr<Core>> open_core(const CoreOptions& options, Instant now);

}  // namespace dunlin::hub
