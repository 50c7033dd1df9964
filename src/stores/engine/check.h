// What `dunlin store check` does: reads everything in a store, changes nothing, and says what it
// found. Blocks until it has read all of it. From any thread.
#pragma once

#include <string>
#include <vector>

#include "base/env.h"
#include "stores/engine/segment.h"

namespace dunlin::engine {

struct CheckReport {
  uint64_t segments = 0;
  uint64_t batches = 0;
  uint64_t records = 0;
  uint64_t log_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t queues = 0;
  uint64_t messages = 0;
  uint64_t tables = 0;
  uint64_t rows = 0;
  uint64_t blobs = 0;
  uint64_t blob_bytes = 0;
  bool locked = true;       // False: its folder cannot be written, so a hub may be writing there.
  uint64_t torn_bytes = 0;  // Of a write that was cut off and never acknowledged: no damage.
  std::vector<Damage> damages;
};

// `not_found` if there is no store in `folder`, `denied` if a process has it open.
// What cannot be written, as a backup on read-only media, is read without a lock.
Result<CheckReport> check_store(Disk& disk, const std::string& folder);

}  // namespace dunlin::engine
