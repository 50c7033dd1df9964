// Percent-encoding and query strings. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dunlin {

// All but A-Z a-z 0-9 - . _ ~ becomes %XX; with `keep_slash` that stays as well.
std::string percent_encode(std::string_view bytes, bool keep_slash = false);

// Nothing if a % is not followed by two digits.
std::optional<std::string> percent_decode(std::string_view text);

// The same with any of these characters in place of the %.
std::optional<std::string> hex_decode(std::string_view text, std::string_view marks);

// The parameters of a query string in their order, decoded. A name without = has an empty value.
using Query = std::vector<std::pair<std::string, std::string>>;
std::optional<Query> parse_query(std::string_view text);

// Null if there is none of that name.
const std::string* find(const Query& query, std::string_view name);

}  // namespace dunlin
