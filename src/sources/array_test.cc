#include "sources/array.h"

#include <gtest/gtest.h>

#include "model/keys.h"

namespace dunlin::sources {
namespace {

std::string why(std::string_view text) {
  const auto parsed = parse_array(text);
  return parsed.ok() ? "accepted" : parsed.error().what;
}

TEST(Array, ARangeHasItsStep) {
  const NumberList plain = parse_array("0-999").value();
  EXPECT_EQ(plain.first, 0);
  EXPECT_EQ(plain.step, 1);
  EXPECT_EQ(plain.count, 1000U);
  const NumberList stepped = parse_array("1-10:3").value();
  EXPECT_EQ(stepped.first, 1);
  EXPECT_EQ(stepped.step, 3);
  EXPECT_EQ(stepped.count, 4U);
  EXPECT_EQ(parse_array("7").value().count, 1U);
  EXPECT_EQ(parse_array("7").value().first, 7);
}

TEST(Array, AListMayHoldRanges) {
  const NumberList list = parse_array("0,5,7-9,20-30:5").value();
  EXPECT_EQ(list.listed, (std::vector<int64_t>{0, 5, 7, 8, 9, 20, 25, 30}));
  EXPECT_EQ(list.count, list.listed.size());
}

TEST(Array, TooManyTasksAreRefusedByNumber) {
  EXPECT_EQ(parse_array("1-1000000000").value().count, kTasksMax);
  EXPECT_EQ(
      why("0-999999999999")
          .find("the array \"0-999999999999\" makes 1000000000000 tasks, but a job has at most"),
      0U)
      << why("0-999999999999");
  EXPECT_NE(why("0-9223372036854775807").find("tasks"), std::string::npos);
  EXPECT_NE(why("5,0-1000000").find("listed"), std::string::npos);
}

TEST(Array, WhatIsNoArrayIsRefused) {
  EXPECT_NE(why("9-1").find("ends before it begins"), std::string::npos);
  for (const char* text :
       {"", "a", "1-", "-1", "1-2:", "1-2:0", "1,,2", "-5-5", "0-18446744073709551615",
        "0-99999999999999999999", "1,", "0-9999999999999999999"}) {
    EXPECT_NE(why(text), "accepted") << text;
  }
  for (const char* text : {"", "-5-5", "0-18446744073709551615", "0-99999999999999999999", "a"}) {
    EXPECT_NE(
        why(text).find("does not consist of numbers from 0 to 9223372036854775807: write it like"),
        std::string::npos)
        << why(text);
  }
  EXPECT_NE(why("0-9:0").find("\"0-9:0\" has the step 0"), std::string::npos);
  EXPECT_NE(why_no_array(""), "");
}

}  // namespace
}  // namespace dunlin::sources
