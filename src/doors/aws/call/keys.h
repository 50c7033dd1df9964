// Names and keys of AWS as names and keys of our store, which allow less. Pure.
//
// Bytes become visible ASCII that sorts like the bytes: '"'hh for those below '$', '~'hh for those
// from '~' on, all others as they are. '!' sorts before all of these and ends a part of a key, so
// (hash, range) sorts by hash, then by range, and what begins with a prefix is a prefix.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dunlin::aws {

inline constexpr char kPartEnd = '!';
inline constexpr std::string_view kAfterAll = "~~";  // Behind a prefix: after all that begin so.

std::string sortable_bytes(std::string_view bytes);
std::optional<std::string> from_sortable(std::string_view text);

// Decimal digits, sign and exponent, up to 38 significant digits, so that it sorts like the number.
// Nothing if the text is not such a number.
std::optional<std::string> sortable_number(std::string_view text);

// `prefix` and a name: "sqs." + "work". A name that is too long for that or has other characters
// is told by its hash, behind "sqsx.", where no plain one can be.
std::string store_name(std::string_view prefix, std::string_view name);

}  // namespace dunlin::aws
