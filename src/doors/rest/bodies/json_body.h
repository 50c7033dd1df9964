// JSON in and out of the handlers of our own API. Reading a body blocks while its client sends,
// replying while it does not read. One thread, that of the call. parse_object() is pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/rest/server/call.h"

namespace dunlin::rest {

inline constexpr size_t kJsonMax = 16 << 20;  // Bytes of a body.

// One object, in which no name stands twice and nothing is nested deeply. `invalid` says where the
// text is wrong.
Result<nlohmann::json> parse_object(std::string_view text);

// The body as an object. None if it is too large or of another type: then that was the reply.
Result<std::optional<nlohmann::json>> read_object(Call& call);

Result<void> reply_json(Call& call, int status, const nlohmann::ordered_json& object);

}  // namespace dunlin::rest
