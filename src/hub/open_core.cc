#include "hub/open_core.h"

#include <utility>

#include "base/env_posix.h"
#include "store/memory.h"
#include "stores/engine/engine.h"

namespace dunlin::hub {

Result<std::unique_ptr<Core>> open_core(const CoreOptions& options, Instant now) {
  if (options.ephemeral) return memory_core();
  std::unique_ptr<Core> engine = TRY(engine::Engine::open(posix_disk(), options.folder, now));
  return engine;
}

}  // namespace dunlin::hub
