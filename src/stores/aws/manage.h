// What a store has in AWS, listed and removed: for `dunlin store info` and `store destroy`. Blocks
// until the services have answered, which takes a while when there is much. From any thread.
#pragma once

#include <string>
#include <vector>

#include "stores/aws/service.h"

namespace dunlin::cloud {

// Which services a store uses at an address.
struct CloudParts {
  bool queues = false;
  bool table = false;
  bool blobs = false;
};
inline constexpr CloudParts kAllParts = {.queues = true, .table = true, .blobs = true};

// A queue, table or bucket; of a bucket of the user's, what is below the prefix.
struct CloudThing {
  Service service;
  std::string name;

  bool operator==(const CloudThing&) const = default;
};

// Those that are there.
Result<std::vector<CloudThing>> list_cloud(const CloudAddress& address, CloudParts parts,
                                           const CloudOptions& options, const Clock& clock,
                                           const Disk& disk);

// Removes them with all that is in them. What is gone is fine; `conflict` if the table is not a
// store's.
Result<void> destroy_cloud(const CloudAddress& address, CloudParts parts,
                           const CloudOptions& options, const Clock& clock, const Disk& disk);

}  // namespace dunlin::cloud
