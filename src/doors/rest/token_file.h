// The token of a service on a store that knows none: a file that only its user can read. Blocks on
// the disk. From any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace dunlin::rest {

// Makes the file, and the folder it is in, if there is none.
Result<std::string> read_or_make_token(const std::string& path);

}  // namespace dunlin::rest
