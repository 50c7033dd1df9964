// A task that is given as a JSON object, as one line of a file: what it says about its own command,
// and its fields. Pure; from any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dunlin {

struct TaskObject {
  std::vector<std::string> argv;  // Empty: not given.
  std::string command;            // A shell line; empty: not given. Never both.
  std::vector<std::pair<std::string, std::string>> env;
  std::optional<std::string> stdin_bytes;
  std::optional<std::string> cwd;
  nlohmann::json fields = nlohmann::json::value_t::null;  // All of them.

  // A text as it is, null as nothing, anything else as JSON. Nothing if there is no such field.
  std::optional<std::string> field(const std::string& name) const;
};

// `invalid` says what is wrong with the object, and where if it is not JSON.
Result<TaskObject> parse_task_object(std::string_view text);

}  // namespace dunlin
