#include "worker/mind/task_times.h"

#include <gtest/gtest.h>

namespace dunlin::worker {
namespace {

TEST(TaskTimes, TasksOfUnknownLengthAreHeldByTheSlot) {
  const TaskTimes times(Millis(20));
  EXPECT_EQ(times.mean_us(), 0);
  EXPECT_EQ(times.target(4), 16U);
  EXPECT_EQ(TaskTimes::startable(4, 0), 4U);
  EXPECT_EQ(TaskTimes::grab(0), 1U);
}

TEST(TaskTimes, LongTasksAreTakenOneByOne) {
  TaskTimes times(Millis(20));
  JobView job;
  times.measure(job, 2'000'000);
  EXPECT_TRUE(times.is_slow());
  EXPECT_EQ(times.target(4), 4U);
  EXPECT_EQ(TaskTimes::startable(4, times.of(job)), 4U);
}

TEST(TaskTimes, ShortTasksAreHeldAndStartedAhead) {
  TaskTimes times(Millis(20));
  JobView job;
  times.measure(job, 100);
  EXPECT_EQ(times.target(4), 4U * 1001);
  EXPECT_EQ(TaskTimes::startable(4, 100), 4U * 101);
  EXPECT_EQ(TaskTimes::grab(1), 50U);
}

TEST(TaskTimes, TheMeanFollowsSlowly) {
  TaskTimes times(Millis(20));
  JobView job;
  times.measure(job, 1000);
  times.measure(job, 2000);
  EXPECT_DOUBLE_EQ(times.mean_us(), 1050);
  times.take_at_least(5000);
  EXPECT_DOUBLE_EQ(times.mean_us(), 5000);
  EXPECT_DOUBLE_EQ(job.mean_us, 1050);
}

TEST(TaskTimes, OnlyWhatRunsInsideTheWorkerIsTakenForLikeTheRest) {
  TaskTimes times(Millis(20));
  JobView known;
  times.measure(known, 1000);
  JobView program;
  program.text->spec.mutable_command()->add_argv("true");
  EXPECT_EQ(times.of(program), 0);
  JobView builtin;
  builtin.text->spec.mutable_command()->set_builtin("noop");
  EXPECT_DOUBLE_EQ(times.of(builtin), 1000);
}

TEST(TaskTimes, AStoreThatLikesPeaceGetsFewerAndLargerRequests) {
  TaskTimes often(Millis(20));
  TaskTimes seldom(Millis(250));
  JobView job;
  often.measure(job, 10'000);
  seldom.measure(job, 10'000);
  EXPECT_LT(often.target(1), seldom.target(1));
  EXPECT_LT(often.hungry_us(), seldom.hungry_us());
}

}  // namespace
}  // namespace dunlin::worker
