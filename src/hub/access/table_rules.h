// The least scope that looking at, writing and erasing rows, blobs and queues needs: one list for
// the whole of a hub, the same that docs/SECURITY.md shows. Pure.
#pragma once

#include <string_view>

#include "hub/access/scopes.h"

namespace dunlin::hub {

// A row may be private although its table is not: the rules ask for its key.
Scope to_read(std::string_view table, std::string_view key);
Scope to_scan(std::string_view table, std::string_view prefix);
// `fresh`: only if there is none. `door`: it comes through the AWS-compatible door, whose tables
// are for nobody else to write.
Scope to_put(std::string_view table, std::string_view key, bool fresh, bool door);
Scope to_erase(std::string_view table, std::string_view key, bool door);

// All rows whose keys begin so.
Scope to_erase_all(std::string_view table, std::string_view prefix, bool door);
Scope to_read_blob(std::string_view name);
Scope to_put_blob(std::string_view name, bool door);
Scope to_erase_blob(std::string_view name, bool door);

// Messages.
Scope to_push(std::string_view queue);
Scope to_take(std::string_view queue);

// Blobs that only an admin sees: lists for others leave them out.
inline constexpr std::string_view kPrivateBlobs = "tascaas/";

}  // namespace dunlin::hub
