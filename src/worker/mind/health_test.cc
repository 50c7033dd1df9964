#include "worker/mind/health.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace dunlin::worker {
namespace {

class HealthTest : public testing::Test {
 protected:
  HealthTest() { log::set_level(log::Level::off); }
  ~HealthTest() override { log::set_level(log::Level::info); }
  void pass(Millis time) { asks.set_now({asks.now().at + time, 0}); }
  void fail(int times) {
    for (int i = 0; i < times; ++i) health.could_not_start("the disk is full");
  }

  Asks asks = Asks(3);
  Health health = Health(asks);
};

TEST_F(HealthTest, ThreeInARowMeanThatThisMachineHasAFault) {
  fail(2);
  health.ran();
  fail(2);
  EXPECT_TRUE(health.is_well());
  fail(1);
  EXPECT_EQ(health.trouble(), "the disk is full");
  EXPECT_TRUE(health.resting());
}

TEST_F(HealthTest, EachRestIsTwiceAsLongUpToAnEnd) {
  fail(3);
  for (const int seconds : {5, 10, 20, 40, 80, 160, 300, 300}) {
    pass(std::chrono::seconds(seconds) - Millis(1));
    EXPECT_TRUE(health.resting()) << seconds;
    pass(Millis(1));
    EXPECT_FALSE(health.resting()) << seconds;
    fail(1);
  }
}

TEST_F(HealthTest, WhatComesBackWhileItRestsCountsOnce) {
  fail(20);
  pass(std::chrono::seconds(5));
  EXPECT_FALSE(health.resting());
}

TEST_F(HealthTest, OneTaskThatRunsEndsTheTrouble) {
  fail(3);
  pass(std::chrono::seconds(5));
  health.ran();
  EXPECT_TRUE(health.is_well());
  fail(2);
  EXPECT_TRUE(health.is_well());
}

}  // namespace
}  // namespace dunlin::worker
