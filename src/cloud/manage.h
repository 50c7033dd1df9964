// What a store has in AWS, listed and removed: for `dunlin store info` and `store destroy`.
#pragma once

#include <string>
#include <vector>

#include "cloud/service.h"

namespace dunlin::cloud {

struct CloudInfo {
  std::vector<std::string> queues;  // Names there.
  std::string table;                // Empty: there is none.
  std::string bucket;               // As well.
};

Result<CloudInfo> list_cloud(const CloudAddress& address, const CloudOptions& options,
                             const Clock& clock, const Disk& disk);

// Removes queues, table and bucket with all that is in them. What is gone is fine; `conflict` if
// the table is not a store's.
Result<void> destroy_cloud(const CloudAddress& address, const CloudOptions& options,
                           const Clock& clock, const Disk& disk);

}  // namespace dunlin::cloud
