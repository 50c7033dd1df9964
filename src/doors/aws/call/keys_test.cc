#include "doors/aws/call/keys.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/env.h"
#include "base/names.h"
#include "doors/aws/call/decimal.h"
#include "store/store.h"

namespace dunlin::aws {
namespace {

TEST(Keys, BytesSortAsTheyDidAndComeBack) {
  Random random(7);
  std::vector<std::string> all = {"",  "a", "ab",  std::string("a\0b", 3), "~", "~~", "!", "\"",
                                  "#", "$", "\xff"};
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random.below(5), '\0');
    for (char& c : bytes) c = static_cast<char>(random.percent(50) ? random.below(256) : 'a');
    all.push_back(std::move(bytes));
  }
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    const std::string a = sortable_bytes(all[i]) + kPartEnd;
    const std::string b = sortable_bytes(all[i + 1]) + kPartEnd;
    EXPECT_EQ(all[i] < all[i + 1], a < b);
    EXPECT_TRUE(is_visible(a, kKeyMax));
    EXPECT_EQ(from_sortable(a.substr(0, a.size() - 1)), all[i]);
    // What begins so sorts before what comes after all of it.
    EXPECT_LT(a, sortable_bytes(all[i]) + std::string(kAfterAll));
  }
}

TEST(Keys, NumbersSortAsNumbers) {
  const std::vector<std::string> sorted = {
      "-9e125", "-1000",  "-999.5", "-1.55", "-1.5", "-1",   "-0.1", "-1e-130",
      "0",      "1e-130", "0.001",  "0.01",  "0.1",  "0.11", "1",    "1.5",
      "2",      "9",      "10",     "11",    "99",   "100",  "1e20", "1e125"};
  for (size_t i = 0; i + 1 < sorted.size(); ++i) {
    EXPECT_LT(*sortable_number(sorted[i]) + kPartEnd, *sortable_number(sorted[i + 1]) + kPartEnd)
        << sorted[i];
  }
  EXPECT_EQ(sortable_number("1.50"), sortable_number("+1.5"));
  EXPECT_EQ(sortable_number("-0"), sortable_number("0e5"));
}

TEST(Keys, NamesThatDoNotFitAreToldByTheirHash) {
  EXPECT_EQ(store_name("sqs", "work"), "sqs.work");
  const std::string a = store_name("sqs", std::string(80, 'a'));
  EXPECT_TRUE(is_name(a));
  EXPECT_TRUE(a.starts_with("sqsx."));
  EXPECT_NE(a, store_name("sqs", std::string(79, 'a')));
  EXPECT_TRUE(is_name(store_name("s3", "odd/name")));
}

TEST(Decimal, IsReadAndWrittenAsDynamoDoes) {
  const auto again = [](std::string_view text) {
    const auto number = parse_decimal(text);
    return number ? to_text(*number) : "none";
  };
  EXPECT_EQ(again("1.0"), "1");
  EXPECT_EQ(again("-0.0"), "0");
  EXPECT_EQ(again("001.50"), "1.5");
  EXPECT_EQ(again("1e3"), "1000");
  EXPECT_EQ(again("12E-3"), "0.012");
  EXPECT_EQ(again(".5"), "0.5");
  EXPECT_EQ(again(std::string(38, '9')), std::string(38, '9'));
  for (const std::string_view bad : {"", "-", "1x", "1e", "1e999", "1..2", "0x1", " 1", "1 "}) {
    EXPECT_EQ(again(bad), "none") << bad;
  }
  EXPECT_EQ(again(std::string(39, '9')), "none");
}

TEST(Decimal, SumsAreExact) {
  const auto sum = [](std::string_view a, std::string_view b) {
    const auto total = add(*parse_decimal(a), *parse_decimal(b));
    return total ? to_text(*total) : "none";
  };
  EXPECT_EQ(sum("0.1", "0.2"), "0.3");
  EXPECT_EQ(sum("1", "-1"), "0");
  EXPECT_EQ(sum("99", "1"), "100");
  EXPECT_EQ(sum("-5", "3"), "-2");
  EXPECT_EQ(sum("3", "-5"), "-2");
  EXPECT_EQ(sum("100", "-0.01"), "99.99");
  EXPECT_EQ(sum("1e100", "1"), "none");
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto a = static_cast<int64_t>(random.below(2'000'000)) - 1'000'000;
    const auto b = static_cast<int64_t>(random.below(2000)) - 1000;
    EXPECT_EQ(sum(std::to_string(a), std::to_string(b)), std::to_string(a + b));
    EXPECT_EQ(compare(*parse_decimal(std::to_string(a)), *parse_decimal(std::to_string(b))),
              a <=> b);
  }
}

}  // namespace
}  // namespace dunlin::aws
