#include "balance/advice.h"

#include <gtest/gtest.h>

namespace dunlin::balance {
namespace {

using std::chrono::seconds;

constexpr Millis kScale = seconds(300);

WallTime at(int64_t second) { return WallTime(seconds(1'700'000'000 + second)); }

Dispatch dispatch_of(std::vector<Infrastructure> infrastructures) {
  Dispatch dispatch;
  dispatch.scale_time = kScale;
  dispatch.resumed = at(0);
  dispatch.infrastructures = std::move(infrastructures);
  return dispatch;
}

TEST(Advice, EveryBranchOfWhatIsWanted) {
  EXPECT_DOUBLE_EQ(slots_wanted(10, 0, 0), 8);  // Nobody needs them.
  EXPECT_DOUBLE_EQ(slots_wanted(1, 0, 0), 1);
  EXPECT_DOUBLE_EQ(slots_wanted(10, 7, 0), 17);  // Nobody took what waits.
  EXPECT_DOUBLE_EQ(slots_wanted(10, 1, 11), 7);  // All was taken more than once.
  EXPECT_DOUBLE_EQ(slots_wanted(10, 1, 10), 10);
  EXPECT_DOUBLE_EQ(slots_wanted(1, 0, 5), 1);
  EXPECT_DOUBLE_EQ(slots_wanted(10, 5, 10), 15);  // What waits is half of what was taken.
  EXPECT_DOUBLE_EQ(slots_wanted(10, 2, 20), 10);  // It is hardly anything.
  EXPECT_DOUBLE_EQ(slots_wanted(0, 5, 10), 1);
}

TEST(Advice, ComesAfterAMeasuringPhase) {
  Dispatch dispatch = dispatch_of({{"a", at(0), 8, 16}, {"b", at(0), 2, 4}});
  dispatch.dispatched = 10;
  advance(dispatch, 5, at(300));
  EXPECT_DOUBLE_EQ(dispatch.required, -1);
  EXPECT_FALSE(is_advice_due(dispatch, at(300)));
  EXPECT_TRUE(is_advice_due(dispatch, at(301)));
  advance(dispatch, 5, at(301));
  EXPECT_FALSE(is_advice_due(dispatch, at(301)));
  EXPECT_TRUE(dispatch.scaling);
  EXPECT_DOUBLE_EQ(dispatch.required, 15.0 / 20);
  EXPECT_EQ(dispatch.dispatched, 0U);
  advance(dispatch, 500, at(600));
  EXPECT_TRUE(dispatch.scaling);
  EXPECT_DOUBLE_EQ(dispatch.required, 15.0 / 20);
  advance(dispatch, 500, at(601));
  EXPECT_FALSE(dispatch.scaling);
  EXPECT_EQ(dispatch.resumed, at(601));
}

TEST(Advice, TheSilentAreNotCountedAndInTheEndForgotten) {
  Dispatch dispatch =
      dispatch_of({{"here", at(1400), 8, 16}, {"silent", at(800), 4, 4}, {"gone", at(-200), 2, 2}});
  advance(dispatch, 0, at(1400));
  EXPECT_DOUBLE_EQ(dispatch.required, 0.8 * 8 / 16);
  EXPECT_NE(dispatch.find("silent"), nullptr);
  EXPECT_EQ(dispatch.find("gone"), nullptr);
  EXPECT_FALSE(is_live(*dispatch.find("silent"), kScale, at(1400)));
}

TEST(Advice, NobodyThereIsNoAdvice) {
  Dispatch dispatch = dispatch_of({});
  advance(dispatch, 9, at(301));
  EXPECT_DOUBLE_EQ(dispatch.required, -1);
}

TEST(Advice, IsFollowedWithinBounds) {
  EXPECT_EQ(slots_advised(-1, 5, 16), 5U);
  EXPECT_EQ(slots_advised(0, 5, 16), 1U);
  EXPECT_EQ(slots_advised(0.26, 5, 16), 5U);
  EXPECT_EQ(slots_advised(0.5, 5, 16), 8U);
  EXPECT_EQ(slots_advised(1.7, 5, 16), 16U);
  EXPECT_EQ(slots_advised(1e300, 5, 16), 16U);
}

}  // namespace
}  // namespace dunlin::balance
