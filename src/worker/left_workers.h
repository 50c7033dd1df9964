// What workers that were killed have left in the folder where each has its own by default. Nobody
// else clears it away: the next worker has another name.
#pragma once

#include <string>

namespace dunlin {

// Ends what tasks of such workers of `host` have left, and removes their folders, beside `folder`.
// Those that live keep theirs, as do workers that were given a name. Waits a moment for each.
void remove_left_workers(const std::string& folder, const std::string& host);

}  // namespace dunlin
