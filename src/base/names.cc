#include "base/names.h"

#include <algorithm>
#include <fmt/format.h>

namespace dunlin {
namespace {

constexpr size_t kNameBytesMax = 64;
constexpr size_t kQuoteMax = 40;

bool visible(char byte) { return byte >= 0x21 && byte <= 0x7e; }

bool fits_name(char byte) {
  return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
         (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-';
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax && std::ranges::all_of(text, fits_name);
}

bool is_visible(std::string_view text, size_t max) {
  return !text.empty() && text.size() <= max && std::ranges::all_of(text, visible);
}

std::string quote(std::string_view text) {
  std::string shown = "\"";
  for (const char byte : text) {
    if (shown.size() >= kQuoteMax) return shown + "...\"";
    if (byte == ' ' || (visible(byte) && byte != '"' && byte != '\\')) {
      shown += byte;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return shown + '"';
}

}  // namespace dunlin
