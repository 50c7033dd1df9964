#include "run/halt.h"

#include <gtest/gtest.h>

namespace dunlin::run {
namespace {

using When = Halt::When;
using What = Halt::What;

TEST(Halt, SaysWhenWhatAndHowMany) {
  const Halt halt = parse_halt("now,fail=3").value();
  EXPECT_EQ(halt.when, When::now);
  EXPECT_EQ(halt.what, What::fail);
  EXPECT_EQ(halt.count, 3U);
  EXPECT_FALSE(halt.percent);
  EXPECT_EQ(parse_halt("soon,success=1").value().what, What::success);
  EXPECT_TRUE(parse_halt("soon,done=10%").value().percent);
  EXPECT_EQ(parse_halt("never").value().when, When::never);
}

TEST(Halt, KnowsTheShortForms) {
  EXPECT_EQ(parse_halt("0").value().when, When::never);
  EXPECT_EQ(parse_halt("1").value().when, When::soon);
  EXPECT_EQ(parse_halt("2").value().when, When::now);
  EXPECT_EQ(parse_halt("-2").value().what, What::success);
  EXPECT_EQ(parse_halt("5%").value().count, 5U);
}

TEST(Halt, RefusesWhatItDoesNotUnderstand) {
  for (const char* text :
       {"", "3", "now", "now,fail", "now,fail=", "now,fail=0", "later,fail=1", "now,failed=1",
        "now,fail=x", "soon,fail=101%", "%", "now,fail=1,2", "soon,"}) {
    const auto parsed = parse_halt(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().what.find("now,fail=1"), std::string::npos);
  }
}

TEST(Halt, IsDueOnceEnoughTasksEnded) {
  const Halt two = parse_halt("now,fail=2").value();
  EXPECT_EQ(should_halt(two, 50, 1, 100), When::never);
  EXPECT_EQ(should_halt(two, 50, 2, 100), When::now);
  EXPECT_EQ(should_halt(parse_halt("soon,success=1").value(), 0, 9, 10), When::never);
  EXPECT_EQ(should_halt(parse_halt("soon,success=1").value(), 1, 9, 10), When::soon);
  EXPECT_EQ(should_halt(parse_halt("soon,done=3").value(), 2, 1, 10), When::soon);
  EXPECT_EQ(should_halt(Halt{}, 0, 100, 100), When::never);
}

TEST(Halt, APercentageIsOfAllTasks) {
  const Halt tenth = parse_halt("soon,fail=10%").value();
  EXPECT_EQ(should_halt(tenth, 0, 9, 100), When::never);
  EXPECT_EQ(should_halt(tenth, 0, 10, 100), When::soon);
  EXPECT_EQ(should_halt(tenth, 0, 1, 3), When::soon);
  EXPECT_EQ(should_halt(tenth, 0, 0, 0), When::never);
}

}  // namespace
}  // namespace dunlin::run
