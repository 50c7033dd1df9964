#include "doors/aws/call/decimal.h"

#include <algorithm>
#include <charconv>

namespace dunlin::aws {
namespace {

constexpr size_t kDigitsMax = 38;
constexpr int kExponentMax = 126;
constexpr int kExponentMin = -129;

std::optional<Decimal> normal(bool negative, std::string digits, int exponent) {
  const size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return Decimal{};
  digits.erase(0, first);
  exponent -= static_cast<int>(first);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.size() > kDigitsMax || exponent > kExponentMax || exponent < kExponentMin) {
    return std::nullopt;
  }
  return Decimal{negative, std::move(digits), exponent};
}

std::strong_ordering compare_sizes(const Decimal& a, const Decimal& b) {
  if (a.exponent != b.exponent) return a.exponent <=> b.exponent;
  return a.digits.compare(b.digits) <=> 0;
}

// Both numbers' digits at the same places, so that they can be added column by column.
struct Columns {
  std::string a;
  std::string b;
  int exponent = 0;
};

Columns align(const Decimal& a, const Decimal& b) {
  Columns columns{a.digits, b.digits, std::max(a.exponent, b.exponent) + 1};
  columns.a.insert(0, static_cast<size_t>(columns.exponent - a.exponent), '0');
  columns.b.insert(0, static_cast<size_t>(columns.exponent - b.exponent), '0');
  const size_t size = std::max(columns.a.size(), columns.b.size());
  columns.a.resize(size, '0');
  columns.b.resize(size, '0');
  return columns;
}

}  // namespace

std::optional<Decimal> parse_decimal(std::string_view text) {
  if (text.size() > 200) return std::nullopt;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const char* end = power.data() + power.size();
    const auto parsed = std::from_chars(power.data(), end, exponent);
    if (power.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    if (exponent < -1000 || exponent > 1000) return std::nullopt;
    text = text.substr(0, e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  exponent += static_cast<int>(point);
  if (point < text.size()) digits += text.substr(point + 1);
  const bool all = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (digits.empty() || !all) return std::nullopt;
  return normal(negative, std::move(digits), exponent);
}

std::string to_text(const Decimal& number) {
  if (number.digits.empty()) return "0";
  std::string text = number.negative ? "-" : "";
  const int size = static_cast<int>(number.digits.size());
  if (number.exponent <= -20 || number.exponent > 40) {
    text += number.digits[0];
    if (size > 1) text += "." + number.digits.substr(1);
    return text + "E" + (number.exponent > 0 ? "+" : "") + std::to_string(number.exponent - 1);
  }
  if (number.exponent <= 0) {
    return text + "0." + std::string(static_cast<size_t>(-number.exponent), '0') + number.digits;
  }
  if (number.exponent >= size) {
    return text + number.digits + std::string(static_cast<size_t>(number.exponent - size), '0');
  }
  const auto whole = static_cast<size_t>(number.exponent);
  return text + number.digits.substr(0, whole) + "." + number.digits.substr(whole);
}

std::strong_ordering compare(const Decimal& a, const Decimal& b) {
  const auto sign = [](const Decimal& x) { return x.digits.empty() ? 0 : x.negative ? -1 : 1; };
  if (sign(a) != sign(b)) return sign(a) <=> sign(b);
  if (sign(a) == 0) return std::strong_ordering::equal;
  return sign(a) > 0 ? compare_sizes(a, b) : compare_sizes(b, a);
}

std::optional<Decimal> add(const Decimal& a, const Decimal& b) {
  if (a.digits.empty()) return b;
  if (b.digits.empty()) return a;
  const bool a_larger = std::is_gteq(compare_sizes(a, b));
  const Decimal& large = a_larger ? a : b;
  const Decimal& small = a_larger ? b : a;
  Columns columns = align(large, small);
  const int sign = large.negative == small.negative ? 1 : -1;
  int carry = 0;
  for (size_t i = columns.a.size(); i-- > 0;) {
    int digit = (columns.a[i] - '0') + sign * (columns.b[i] - '0') + carry;
    carry = digit < 0 ? -1 : digit / 10;
    digit = digit < 0 ? digit + 10 : digit % 10;
    columns.a[i] = static_cast<char>('0' + digit);
  }
  return normal(large.negative, std::move(columns.a), columns.exponent);
}

}  // namespace dunlin::aws
