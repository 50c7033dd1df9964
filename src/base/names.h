// What a name may look like, and how to show one that is not. Pure; from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dunlin {

bool is_name(std::string_view text);                 // [A-Za-z0-9._-]{1,64}
bool is_visible(std::string_view text, size_t max);  // 1..max bytes, each of 0x21..0x7e.

// In double quotes, for error messages: what is not visible ASCII becomes \xNN, and what would make
// the text longer than about 40 characters becomes "...".
std::string quote(std::string_view text);

}  // namespace dunlin
