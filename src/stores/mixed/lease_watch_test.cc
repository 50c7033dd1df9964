#include "stores/mixed/lease_watch.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace dunlin::mixed {
namespace {

constexpr Millis kHold = std::chrono::seconds(30);

Instant at(int64_t second) { return Instant(std::chrono::seconds(1'000 + second)); }

TEST(LeaseWatch, ALeaseEndsWhenItsRowWasSeenUnchangedForItsHold) {
  LeaseWatch watch;
  EXPECT_EQ(watch.left("a", 7, kHold, at(0)), kHold);
  EXPECT_EQ(watch.left("a", 7, kHold, at(29)), Millis(1000));
  EXPECT_EQ(watch.left("a", 7, kHold, at(30)), Millis(0));
  EXPECT_EQ(watch.left("a", 7, kHold, at(99)), Millis(0));
}

TEST(LeaseWatch, AChangeOfTheRowBeginsItsWatchAgain) {
  LeaseWatch watch;
  EXPECT_EQ(watch.left("a", 7, kHold, at(0)), kHold);
  EXPECT_EQ(watch.left("a", 8, kHold, at(29)), kHold);
  EXPECT_EQ(watch.left("a", 8, kHold, at(58)), Millis(1000));
  EXPECT_EQ(watch.left("a", 8, kHold / 2, at(58)), Millis(0));
}

TEST(LeaseWatch, WhatIsNotHeldCanBeTaken) {
  LeaseWatch watch;
  EXPECT_EQ(watch.left("a", 7, Millis(0), at(0)), Millis(0));
  EXPECT_EQ(watch.size(), 0U);
  watch.left("a", 8, kHold, at(1));
  watch.forget("a");
  EXPECT_EQ(watch.left("a", 8, kHold, at(100)), kHold);
}

TEST(LeaseWatch, ItIsBoundedAndStillEndsLeases) {
  LeaseWatch watch;
  for (size_t i = 0; i < LeaseWatch::kMax; ++i) watch.left(fmt::format("{}", i), 7, kHold, at(0));
  EXPECT_EQ(watch.left("more", 7, kHold, at(0)), kHold);
  EXPECT_EQ(watch.left("more", 7, kHold, at(40)), kHold);
  EXPECT_EQ(watch.size(), LeaseWatch::kMax);
  EXPECT_EQ(watch.left("0", 7, kHold, at(40)), Millis(0));
  // Those that nobody asks about any more make room.
  EXPECT_EQ(watch.left("more", 7, kHold, at(601)), kHold);
  EXPECT_EQ(watch.size(), 2U);
  EXPECT_EQ(watch.left("more", 7, kHold, at(631)), Millis(0));
}

}  // namespace
}  // namespace dunlin::mixed
