#include "doors/aws/call/keys.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "base/names.h"
#include "doors/aws/call/decimal.h"
#include "store/store.h"
#include "url/percent.h"

namespace dunlin::aws {

std::string sortable_bytes(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= '$' && byte < '~') {
      text += c;
    } else {
      text += byte < '$' ? '"' : '~';
      text += hex({&c, 1});
    }
  }
  return text;
}

std::optional<std::string> from_sortable(std::string_view text) { return hex_decode(text, "\"~"); }

// A negative number has its digits and exponent turned around, and an end that sorts last.
std::optional<std::string> sortable_number(std::string_view text) {
  const std::optional<Decimal> number = parse_decimal(text);
  if (!number) return std::nullopt;
  if (number->digits.empty()) return "B";
  std::string body = fmt::format("{:04}{}", number->exponent + 1000, number->digits);
  if (!number->negative) return "C" + body;
  for (char& c : body) c = static_cast<char>('9' - c + '0');
  return "A" + body + "~";
}

std::string store_name(std::string_view prefix, std::string_view name) {
  if (prefix.size() + 1 + name.size() <= kNameMax && is_name(name)) {
    return fmt::format("{}.{}", prefix, name);
  }
  return fmt::format("{}x.{}", prefix, hex(sha256(name)).substr(0, 40));
}

}  // namespace dunlin::aws
