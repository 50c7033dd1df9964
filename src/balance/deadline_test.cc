#include "balance/deadline.h"

#include <gtest/gtest.h>

#include "balance/balancer.h"

namespace dunlin::balance {
namespace {

using std::chrono::seconds;

// Partitions that began with the task and report every ten seconds, as fast as they always were.
Task steady(uint64_t iterations, const std::vector<double>& speeds, int reports) {
  Task task = make_task(iterations, speeds.size(), seconds(60));
  for (size_t i = 0; i < speeds.size(); ++i) start(task, i, Millis(0), Millis(0));
  for (int step = 1; step <= reports; ++step) {
    for (size_t i = 0; i < speeds.size(); ++i) {
      const Millis now = seconds(10 * step);
      report(task, by_speed(), i, static_cast<uint64_t>(speeds[i] * 10 * step), now, now);
    }
  }
  return task;
}

TEST(Deadline, PartitionsReportTwentyTimes) {
  EXPECT_EQ(report_time(seconds(3600)), seconds(180));
  EXPECT_EQ(report_time(seconds(399)), seconds(20));
  EXPECT_EQ(report_time(seconds(419)), seconds(20));
  EXPECT_EQ(report_time(Millis(0)), kNoDeadline);
  EXPECT_EQ(report_time(seconds(-5)), kNoDeadline);
}

// As seen in the original: 200 s, one partition; two minutes later two.
TEST(Deadline, PartitionsThatLackAreCounted) {
  EXPECT_EQ(partitions_lacking(1, 266, seconds(140), 10), 1U);
  EXPECT_EQ(partitions_lacking(2, 216, seconds(78), 10), 4U);
  EXPECT_EQ(partitions_lacking(2, 216, seconds(78), 5), 3U);
  EXPECT_EQ(partitions_lacking(2, 78, seconds(78), 10), 0U);
  EXPECT_EQ(partitions_lacking(12, 1000, seconds(1), 10), 0U);
  EXPECT_EQ(partitions_lacking(3, kEtaNever, seconds(1), 1'000'000), 999'997U);
  // After the deadline all that may be.
  EXPECT_EQ(partitions_lacking(3, 5, seconds(0), 10), 7U);
  EXPECT_EQ(partitions_lacking(3, 5, seconds(-9), 10), 7U);
}

TEST(Deadline, OnlyTheLastPartitionMakesMore) {
  const Task early = steady(1000, {1, 1}, 1);
  EXPECT_FALSE(may_grow(early, 1));
  const Task later = steady(1000, {1, 1}, 2);
  EXPECT_FALSE(may_grow(later, 0));
  EXPECT_TRUE(may_grow(later, 1));
}

TEST(Deadline, TheForecastSaysWhatWouldMeetIt) {
  const Task task = steady(100'000, {100, 100}, 5);
  // 10,000 are done after 50 s, 90,000 are left for 200 a second.
  const Forecast plenty = forecast(task, seconds(50), seconds(900));
  EXPECT_EQ(plenty.eta, 450U);
  EXPECT_GT(plenty.chance, 0.99);
  EXPECT_EQ(plenty.more_slots, 0U);
  const Forecast short_of = forecast(task, seconds(50), seconds(100));
  EXPECT_LT(short_of.chance, 0.01);
  EXPECT_EQ(short_of.more_slots, 7U);
  const Forecast even = forecast(task, seconds(50), seconds(450));
  EXPECT_NEAR(even.chance, 0.5, 0.01);
  EXPECT_EQ(forecast(task, seconds(50), Millis(0)).chance, 0);
  const Task done = steady(10'000, {100, 100}, 5);  // Its results may still be on their way.
  EXPECT_EQ(forecast(done, seconds(50), seconds(1)).chance, 1);
  EXPECT_EQ(forecast(done, seconds(50), seconds(-3)).chance, 0);
  EXPECT_EQ(forecast(task, seconds(500), seconds(1)).more_slots, 0U);  // Nobody is there to count.
}

TEST(Deadline, SpeedsThatVaryMakeDoubt) {
  Task noisy = make_task(100'000, 1, seconds(60));
  start(noisy, 0, Millis(0), Millis(0));
  uint64_t done = 0;
  for (int step = 1; step <= 6; ++step) {
    done += step % 2 == 0 ? 500 : 1500;
    report(noisy, by_speed(), 0, done, seconds(10 * step), seconds(10 * step));
  }
  const Task calm = steady(100'000, {50}, 6);
  EXPECT_LT(forecast(noisy, seconds(60), seconds(2500)).chance, 0.9);
  EXPECT_GT(forecast(calm, seconds(60), seconds(2500)).chance, 0.99);
}

}  // namespace
}  // namespace dunlin::balance
