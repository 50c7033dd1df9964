#include "net/holdings.h"

#include <gtest/gtest.h>

namespace dunlin::net {
namespace {

using Peers = std::vector<uint64_t>;

constexpr size_t kMiB = 1 << 20;

class HoldingsTest : public testing::Test {
 protected:
  Peers slow_after(Millis time) {
    now_ += time;
    return holdings_.too_slow(now_);
  }

  Holdings holdings_{10 * kMiB};
  Instant now_{Millis(1000)};
};

TEST_F(HoldingsTest, BelowTheBudgetNobodyWaits) {
  for (uint64_t peer = 0; peer < 10; ++peer) holdings_.keep(peer, kMiB, false, now_);
  EXPECT_EQ(holdings_.all(), 10 * kMiB);
  EXPECT_FALSE(holdings_.crowded());
  for (uint64_t peer = 0; peer < 10; ++peer) EXPECT_FALSE(holdings_.must_wait(peer));
  EXPECT_EQ(slow_after(Millis(5'000)), Peers());
  holdings_.forget(3);
  EXPECT_EQ(holdings_.all(), 9 * kMiB);
}

TEST_F(HoldingsTest, AboveItOnlyTheFirstGoesOn) {
  for (uint64_t peer = 1; peer <= 11; ++peer) {
    now_ += Millis(1);
    holdings_.keep(peer, kMiB, false, now_);
  }
  EXPECT_FALSE(holdings_.must_wait(1));
  EXPECT_TRUE(holdings_.must_wait(2));
  EXPECT_TRUE(holdings_.must_wait(11));
  EXPECT_FALSE(holdings_.must_wait(99)) << "nothing is kept of it";
  holdings_.forget(1);
  EXPECT_FALSE(holdings_.must_wait(2));
  EXPECT_FALSE(holdings_.must_wait(11)) << "there is room again";

  EXPECT_FALSE(holdings_.is_too_much(kMiB));
  for (uint64_t peer = 20; peer < 32; ++peer) holdings_.keep(peer, kMiB, false, now_);
  EXPECT_TRUE(holdings_.is_too_much(kMiB)) << "twice the budget";
  EXPECT_FALSE(holdings_.is_too_much(1000));
}

TEST_F(HoldingsTest, NobodyWaitsForOneThatIsSetAside) {
  holdings_.keep(1, kMiB, false, now_);
  holdings_.set_aside(1, kMiB);
  for (uint64_t peer = 2; peer <= 13; ++peer) {
    now_ += Millis(1);
    holdings_.keep(peer, kMiB, false, now_);
    holdings_.waits(peer, peer > 2, now_);
  }
  EXPECT_EQ(holdings_.all(), 13 * kMiB) << "it counts all the same";
  EXPECT_FALSE(holdings_.must_wait(1));
  EXPECT_FALSE(holdings_.must_wait(2));
  EXPECT_TRUE(holdings_.must_wait(3));
  EXPECT_EQ(slow_after(Millis(10'000)), Peers());
  EXPECT_EQ(slow_after(Millis(10'000)), Peers{2}) << "the one before the others, not the one aside";
  holdings_.forget(2);

  holdings_.keep(1, kMiB, false, now_);
  EXPECT_TRUE(holdings_.must_wait(1)) << "it begins anew, behind the others";
  EXPECT_FALSE(holdings_.must_wait(3));
  for (uint64_t peer = 3; peer <= 13; ++peer) holdings_.set_aside(peer, kMiB);
  EXPECT_FALSE(holdings_.must_wait(1));
  holdings_.set_aside(1, kMiB);
  EXPECT_FALSE(holdings_.next_look());
  for (uint64_t peer = 1; peer <= 13; ++peer) holdings_.set_aside(peer, 0);
  EXPECT_EQ(holdings_.all(), 0U);
}

TEST_F(HoldingsTest, WhoSendsTooSlowlyIsFoundAndMoreSoInACrowd) {
  holdings_.keep(1, kMiB, false, now_);
  EXPECT_EQ(slow_after(Millis(59'000)), Peers());
  EXPECT_EQ(slow_after(Millis(4'500)), Peers()) << "a MiB in 64 s is 16 KiB a second";
  EXPECT_EQ(slow_after(Millis(59'000)), Peers());
  EXPECT_EQ(slow_after(Millis(2'000)), Peers{1}) << "nothing came in another minute";

  holdings_.forget(1);
  for (uint64_t peer = 1; peer <= 12; ++peer) holdings_.keep(peer, kMiB, false, now_);
  for (uint64_t peer = 2; peer <= 12; ++peer) holdings_.waits(peer, true, now_);
  EXPECT_EQ(slow_after(Millis(10'000)), Peers());
  EXPECT_EQ(slow_after(Millis(1'000)), Peers());
  EXPECT_EQ(slow_after(Millis(2'000)), Peers{1}) << "those who wait are not to blame";
}

TEST_F(HoldingsTest, TimeInWhichOneHadToWaitDoesNotCount) {
  holdings_.keep(1, 100, false, now_);
  holdings_.waits(1, true, now_);
  EXPECT_EQ(slow_after(Millis(100'000)), Peers());
  holdings_.waits(1, false, now_);
  EXPECT_EQ(slow_after(Millis(59'000)), Peers());
  EXPECT_EQ(slow_after(Millis(2'000)), Peers{1}) << "nothing came since";
}

TEST_F(HoldingsTest, WhatIsBegunAnewHasItsOwnTime) {
  holdings_.keep(1, 100, false, now_);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(slow_after(Millis(10'000)), Peers());
    holdings_.keep(1, 100, true, now_);
  }
  EXPECT_TRUE(holdings_.next_look());
  holdings_.keep(1, 0, false, now_);
  EXPECT_FALSE(holdings_.next_look());
}

}  // namespace
}  // namespace dunlin::net
