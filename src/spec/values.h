// Readings of a field's value: what it must be, for all fields that are of a kind. Each fails with
// unexpected() if the value is of the wrong kind or out of range, and with words of its own if
// there is more to say. Pure; from any thread. Only for the files of spec/.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dunlin::spec {

using Json = nlohmann::json;

inline constexpr uint64_t kCountMax = 1'000'000;                  // Of CPUs and GPUs.
inline constexpr uint64_t kNumberMax = (uint64_t{1} << 53U) - 1;  // What JSON readers count to.
inline constexpr size_t kTextMax = 128 << 10;
inline constexpr size_t kListMax = 1'000'000;

// An error without words: set_field() says what was expected.
Error unexpected();

// Not empty, and without zero bytes.
Result<std::string> text_of(const Json& value, size_t max = kTextMax);
Result<bool> flag_of(const Json& value);
Result<uint64_t> number_of(const Json& value, uint64_t least, uint64_t most);
Result<uint32_t> small_number_of(const Json& value, uint64_t least, uint64_t most);
// A text, or a number as it is written.
Result<std::string> word_of(const Json& value);
Result<void> check_count(size_t count, size_t max);
Result<std::vector<std::string>> words_of(const Json& value, size_t max = kListMax);
// "90s", in milliseconds.
Result<uint64_t> milliseconds_of(const Json& value);
// Bytes, or a size like "4G".
Result<uint64_t> size_of(const Json& value);

// The exit codes "1,2,100-120" as numbers.
Result<std::vector<uint32_t>> parse_codes(std::string_view text);

// As parse_duration() reads it, in the largest unit that is exact.
std::string duration_text(uint64_t milliseconds);

}  // namespace dunlin::spec
