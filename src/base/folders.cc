#include "base/folders.h"

#include <cstdlib>
#include <fmt/format.h>

namespace dunlin {

Result<std::string> state_folder(std::string_view name) {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return fmt::format("{}/dunlin/{}", state, name);
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return fmt::format("{}/.local/state/dunlin/{}", home, name);
  return Error{Code::invalid,
               fmt::format("there is no HOME to keep the {} in: set it, or name a place", name)};
}

}  // namespace dunlin
