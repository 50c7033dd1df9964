// Where programs of this user keep things, by the XDG base directory rules. Reads the environment,
// not the disk. From any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dunlin {

// $XDG_STATE_HOME/dunlin/NAME, or under ~/.local/state. `invalid` if there is no home.
Result<std::string> state_folder(std::string_view name);

}  // namespace dunlin
