// Small readings and writings of text that people and scripts use: durations, sizes, base64. Pure;
// from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/result.h"

namespace dunlin {

// "500ms", "90s", "5m", "2h", "30d", and "0". `invalid` says what is wrong with `text`.
Result<Millis> parse_duration(std::string_view text);

// "512M", "4G", "4GiB", "100" (bytes): K, M, G, T and P are powers of 1024.
Result<uint64_t> parse_size(std::string_view text);

// The one of `known` that is most like `word`; empty if none is.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

// Decimal digits and nothing else. `what` names the number in the error.
Result<uint64_t> parse_number(std::string_view what, std::string_view text);

// A length of time, in the two largest units that matter: "6.1ms", "0.25s", "42s", "4m05s",
// "2h03m", "3d04h".
std::string human_time(double seconds);
inline std::string human_time(Millis time) {
  return human_time(static_cast<double>(time.count()) / 1000);
}

// "1 message", "2 messages".
std::string count_of(uint64_t count, std::string_view noun);

std::string human_size(uint64_t bytes);  // "512 B", "1.5 KiB", "3.0 GiB".

// Names things by what they are: equal bytes, equal numbers. Not for anything that must not collide
// (FNV-1a).
uint64_t fingerprint(std::string_view bytes);

bool is_utf8(std::string_view bytes);

std::string to_base64(std::string_view bytes);

// On one line, for people: control characters and what is not UTF-8 as \n, \t, \xNN; a backslash
// doubled, so that nothing is lost. Other text stays as it is.
std::string escape(std::string_view bytes);

// At most `max` bytes of a text for people, which is UTF-8 whatever came in; what was cut off ends
// as "...". REQUIRES: max >= 3.
std::string shorten(std::string text, size_t max);

// A path in double quotes, as escape() shows it; of a long one the middle becomes "...".
std::string quote_path(std::string_view path);

}  // namespace dunlin
