#include "model/colsep.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

using Columns = std::vector<std::string_view>;

Columns split(const std::string& separator, const std::string& value) {
  static std::string kept;
  kept = value;
  Columns columns;
  Colsep::compile(separator).value().split(kept, columns);
  return columns;
}

TEST(Colsep, ALiteralSplitsAndKeepsEmptyColumns) {
  EXPECT_EQ(split(",", "a,,b,"), (Columns{"a", "", "b", ""}));
  EXPECT_EQ(split("::", "a::b:c"), (Columns{"a", "b:c"}));
  EXPECT_EQ(split(",", ""), Columns{""});
  EXPECT_EQ(split("", "a,b"), Columns{"a,b"});
}

TEST(Colsep, EscapesOfPerlAreKnown) {
  EXPECT_EQ(split("\\t", "a\tb c"), (Columns{"a", "b c"}));
  EXPECT_EQ(split("\\s+", "a \t b"), (Columns{"a", "b"}));
  EXPECT_EQ(split("\\|", "a|b"), (Columns{"a", "b"}));
  EXPECT_EQ(split("|", "a|b"), (Columns{"a", "b"}));
}

TEST(Colsep, ARegularExpressionSplitsWhereItMatchesSomething) {
  EXPECT_EQ(split(" +", "a   b c"), (Columns{"a", "b", "c"}));
  EXPECT_EQ(split("[,;]", "a,b;c"), (Columns{"a", "b", "c"}));
  EXPECT_EQ(split(" *", "ab c"), (Columns{"ab", "c"}));
  EXPECT_EQ(split("^x", "xxa"), (Columns{"", "xa"}));
}

TEST(Colsep, ABadExpressionIsRefused) {
  const auto refused = Colsep::compile("[a");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what.find("the colsep \"[a\" is not a regular expression"), 0U);
}

}  // namespace
}  // namespace dunlin
