#include "base/enum_table.h"

#include <gtest/gtest.h>

#include <climits>
#include <string_view>

namespace dunlin {
namespace {

// As protobuf makes them: open, with the type int.
enum Colour : int { COLOUR_NONE = 0, COLOUR_RED = 1, COLOUR_GREEN = 2 };

constexpr std::array<std::string_view, 3> kWords = {"none", "red", "green"};

}  // namespace

TEST(EnumTable, AKnownValueHasItsOwnEntry) {
  EXPECT_EQ(entry_of(kWords, COLOUR_NONE), "none");
  EXPECT_EQ(entry_of(kWords, COLOUR_RED), "red");
  EXPECT_EQ(entry_of(kWords, COLOUR_GREEN), "green");
}

TEST(EnumTable, ANumberThatWeDoNotKnowCountsAsZero) {
  for (const int number : {3, 1000, INT_MAX, -1, INT_MIN}) {
    EXPECT_EQ(entry_of(kWords, static_cast<Colour>(number)), "none") << number;
  }
}

}  // namespace dunlin
