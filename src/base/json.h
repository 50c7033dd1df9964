// JSON that comes from somebody else: read once, with bounds, and nothing in it may be taken in two
// ways. Pure; from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace dunlin {

struct JsonLimits {
  size_t values_max = 100'000;  // Objects, lists and what is in them.
  int depth_max = 64;           // Of objects and lists in each other.
};

// `invalid` says what is wrong: it is not JSON, has more than the limits allow, or an object says a
// name twice. Stops where it finds that, so the memory is that of at most `values_max` values.
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace dunlin
