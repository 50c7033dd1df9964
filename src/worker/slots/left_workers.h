// Clears away what killed workers have left in the folders that each has to itself by default.
// Nobody else does: the next worker has another name. Blocks, a moment for each of them. From any
// thread.
#pragma once

#include <string>

namespace dunlin::worker {

// Ends what tasks of such workers of `host` have left, and removes their folders, beside `folder`.
// Those that live keep theirs, as do workers that were given a name. Waits a moment for each.
void remove_left_workers(const std::string& folder, const std::string& host);

}  // namespace dunlin::worker
