#include "spec/values.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace dunlin::spec {
namespace {

TEST(FieldValues, ExitCodesAreListsOfRanges) {
  EXPECT_EQ(parse_codes("1,2,100-102").value(), (std::vector<uint32_t>{1, 2, 100, 101, 102}));
  for (const char* bad : {"", "0", "256", "5-1", "1,", "a", "1-", "-1"}) {
    EXPECT_FALSE(parse_codes(bad).ok()) << bad;
  }
}

TEST(FieldValues, DurationsAreWrittenInTheLargestUnitThatIsExact) {
  EXPECT_EQ(duration_text(0), "0");
  EXPECT_EQ(duration_text(1500), "1500ms");
  EXPECT_EQ(duration_text(90'000), "90s");
  EXPECT_EQ(duration_text(300'000), "5m");
  for (const uint64_t milliseconds : {1ULL, 60'000ULL, 7'200'000ULL, 86'400'000ULL * 30}) {
    EXPECT_EQ(parse_duration(duration_text(milliseconds)).value().count(), milliseconds);
  }
}

TEST(FieldValues, WordsAreTextsAndNumbersAsTheyAreWritten) {
  EXPECT_EQ(words_of(Json::parse(R"(["a b",3,-1,1.5])")).value(),
            (std::vector<std::string>{"a b", "3", "-1", "1.5"}));
  for (const char* bad : {"\"a\"", "[true]", "[null]", "[[]]", R"(["a\u0000b"])"}) {
    EXPECT_FALSE(words_of(Json::parse(bad)).ok()) << bad;
  }
}

}  // namespace
}  // namespace dunlin::spec
