// DynamoDB's numbers: decimal, up to 38 significant digits, exponents from -130 to 126. Sums and
// comparisons are exact. Pure.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace dunlin::aws {

// 0.DIGITS * 10^exponent, without zeros at either end of the digits; zero has none.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;

  bool operator==(const Decimal&) const = default;
};

// Nothing if the text is not a number, or is one that DynamoDB does not take.
std::optional<Decimal> parse_decimal(std::string_view text);

std::string to_text(const Decimal& number);
std::strong_ordering compare(const Decimal& a, const Decimal& b);

// Nothing if the sum has too many digits.
std::optional<Decimal> add(const Decimal& a, const Decimal& b);

}  // namespace dunlin::aws
