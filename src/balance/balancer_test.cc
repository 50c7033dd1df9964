#include "balance/balancer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/env.h"

namespace dunlin::balance {
namespace {

using std::chrono::seconds;

// A partition that began with the task and reported once.
Partition ran(uint64_t done, Millis at, double speed, uint64_t assigned = 0) {
  Partition partition;
  partition.started = true;
  partition.done = done;
  partition.assigned = assigned;
  partition.last = at;
  partition.measures = {{Millis(0), 0}, {at, speed}};
  return partition;
}

Task task_of(uint64_t iterations, std::vector<Partition> partitions) {
  Task task = make_task(iterations, partitions.size(), seconds(40));
  task.partitions = std::move(partitions);
  return task;
}

uint64_t to_do(const Task& task) {
  uint64_t sum = 0;
  for (const Partition& partition : task.partitions) {
    if (partition.works()) sum += partition.assigned - partition.done;
  }
  return sum;
}

// The vectors of the original, seen at work.

TEST(Balancer, GivesToEachAsMuchAsItIsFast) {
  Task task = task_of(1'000'000, {ran(2000, seconds(20), 100), ran(6000, seconds(20), 300)});
  const Share share = report(task, by_speed(), 0, 4000, seconds(40), seconds(40));
  EXPECT_EQ(share.code, Code::ok);
  EXPECT_EQ(share.assigned, 251'500U);
  EXPECT_EQ(share.eta, 2460U);
  EXPECT_EQ(to_do(task), 990'000U);
}

TEST(Balancer, TheFirstReportChangesNothing) {
  Task task = make_task(1'000'000, 2, seconds(40));
  task.eta = 600;
  EXPECT_EQ(start(task, 0, Millis(0), Millis(0)).assigned, 500'000U);
  EXPECT_EQ(start(task, 1, Millis(0), Millis(0)).eta, 600U);
  const Share share = report(task, by_speed(), 0, 2000, seconds(20), seconds(20));
  EXPECT_EQ(share.assigned, 500'000U);
  EXPECT_EQ(share.eta, 600U);
}

TEST(Balancer, ShortBeforeTheEndNothingMoves) {
  Task task =
      task_of(10'000, {ran(2000, seconds(20), 100, 5555), ran(4000, seconds(20), 200, 5555)});
  const Share share = report(task, by_speed(), 0, 4000, seconds(40), seconds(40));
  EXPECT_EQ(share.assigned, 5555U);
  EXPECT_EQ(share.eta, 0U);
}

TEST(Balancer, WhoStartsGetsAnEvenShare) {
  Task task = make_task(900, 3, seconds(40));
  task.eta = 77;
  const Share share = start(task, 2, Millis(0), Millis(0));
  EXPECT_EQ(share.assigned, 300U);
  EXPECT_EQ(share.eta, 77U);
}

TEST(Balancer, SaysWhatIsWrong) {
  Task task = make_task(1000, 2, seconds(40));
  start(task, 0, Millis(0), Millis(0));
  EXPECT_EQ(finish(task, by_speed(), 0, 100, seconds(20), seconds(20)), Code::ok);
  EXPECT_EQ(report(task, by_speed(), 9, 1, seconds(20), seconds(40)).code, Code::out_of_range);
  EXPECT_EQ(report(task, by_speed(), 1, 1, seconds(20), seconds(40)).code, Code::not_started);
  EXPECT_EQ(report(task, by_speed(), 0, 100, seconds(20), seconds(40)).code, Code::not_started);
  EXPECT_EQ(report(task, by_speed(), 0, 200, seconds(40), seconds(40)).code, Code::ended);
  EXPECT_EQ(start(task, 0, Millis(0), seconds(40)).code, Code::ended);
  EXPECT_EQ(start(task, 2, Millis(0), seconds(40)).code, Code::out_of_range);
  start(task, 1, Millis(0), seconds(40));
  EXPECT_EQ(report(task, by_speed(), 1, 10, seconds(5), seconds(45)).code, Code::ok);
  EXPECT_EQ(report(task, by_speed(), 1, 10, seconds(5), seconds(46)).code, Code::not_started);
}

// Another one goes on in its place, has less, and comes before its first measure.
TEST(Balancer, AFinishIsTheLastWordEvenIfMoreWasSaidBefore) {
  Task task = make_task(1000, 1, seconds(40));
  ASSERT_EQ(start(task, 0, seconds(0), seconds(0)).code, Code::ok);
  ASSERT_EQ(report(task, by_speed(), 0, 280, seconds(20), seconds(20)).code, Code::ok);
  ASSERT_EQ(start(task, 0, seconds(0), seconds(30)).code, Code::ok);
  ASSERT_EQ(finish(task, by_speed(), 0, 17, seconds(10), seconds(40)), Code::ok);
  EXPECT_EQ(task.partitions[0].done, 17U);
}

TEST(Balancer, EndsWhenAllIsDone) {
  Task task = task_of(10'000, {ran(2000, seconds(20), 100, 5000), ran(6000, seconds(20), 300)});
  EXPECT_EQ(report(task, by_speed(), 0, 4000, seconds(40), seconds(40)).assigned, 4000U);
  EXPECT_TRUE(task.ended);
  EXPECT_EQ(task.remaining, 0U);
  EXPECT_EQ(report(task, by_speed(), 1, 7000, seconds(45), seconds(45)).code, Code::task_ended);
}

// Late partitions.

// One that works and one that has just begun, as after growth for a deadline.
TEST(Balancer, WhoHasNoSpeedYetKeepsWhatItWasTold) {
  Task task = make_task(1'000'000, 2, seconds(40));
  start(task, 0, Millis(0), Millis(0));
  report(task, by_speed(), 0, 2000, seconds(20), seconds(20));
  report(task, by_speed(), 0, 4000, seconds(40), seconds(40));
  task.remaining = task.iterations;  // As TaScaaS has it.
  EXPECT_EQ(start(task, 1, Millis(0), seconds(41)).assigned, 500'000U);
  EXPECT_EQ(report(task, by_speed(), 0, 6000, seconds(60), seconds(60)).assigned, 500'000U);
  EXPECT_EQ(report(task, by_speed(), 1, 2000, seconds(20), seconds(61)).assigned, 500'000U);
  EXPECT_EQ(to_do(task), 992'000U);
}

TEST(Balancer, WhoBeginsAgainKeepsItsShareUntilItsSpeedIsKnown) {
  Task task =
      task_of(100'000, {ran(2000, seconds(20), 100, 50'000), ran(2000, seconds(20), 100, 50'000)});
  start(task, 1, Millis(0), seconds(30));
  EXPECT_EQ(report(task, by_speed(), 0, 4000, seconds(40), seconds(40)).assigned, 50'000U);
  EXPECT_EQ(task.partitions[1].assigned, 50'000U);
  EXPECT_EQ(to_do(task), 94'000U);
}

// The late one holds more than is left: those whose speed is known do not stop for it.
TEST(Balancer, NobodyWaitsForWhoHasNoSpeedYet) {
  Task task = task_of(100'000, {ran(80'000, seconds(20), 10), {}});
  task.remaining = task.iterations;
  EXPECT_EQ(start(task, 1, Millis(0), seconds(30)).assigned, 20'000U) << "no more than is left";
  EXPECT_EQ(report(task, by_speed(), 0, 84'000, seconds(40), seconds(40)).assigned, 88'000U);
  EXPECT_EQ(task.partitions[1].assigned, 12'000U);
  EXPECT_EQ(to_do(task), 16'000U);
}

TEST(Balancer, WhoBeginsWhenAllIsDoneHasNothingToDo) {
  Task task = task_of(1000, {ran(1200, seconds(20), 60), {}});
  EXPECT_EQ(start(task, 1, Millis(0), seconds(30)).assigned, 0U);
}

// Speeds.

TEST(Balancer, AnEstimateThatWasTooHighSlowsDown) {
  Task task = task_of(1'000'000, {ran(4000, seconds(20), 200)});
  report(task, by_speed(), 0, 3000, seconds(40), seconds(40));
  // 200 a second on average until then, 75 now: by that much less.
  EXPECT_DOUBLE_EQ(task.partitions[0].speed(), 75);
  EXPECT_EQ(task.partitions[0].done, 3000U);
}

TEST(Balancer, WhoStartsAgainKeepsWhatIsDone) {
  Task task = task_of(1'000'000, {ran(4000, seconds(20), 200, 900), ran(1, seconds(20), 1)});
  EXPECT_EQ(start(task, 0, Millis(0), seconds(100)).assigned, 900U);
  EXPECT_EQ(task.partitions[0].done, 4000U);
  report(task, by_speed(), 0, 4500, seconds(10), seconds(110));
  EXPECT_DOUBLE_EQ(task.partitions[0].speed(), 50);
  // Fewer than before, and no speed that would make it an estimate: not taken.
  start(task, 0, Millis(0), seconds(120));
  report(task, by_speed(), 0, 100, seconds(10), seconds(130));
  EXPECT_EQ(task.partitions[0].done, 4500U);
}

TEST(Balancer, WhoIsSilentIsNotCountedOn) {
  Task task = task_of(1'000'000, {ran(2000, seconds(20), 100), ran(2000, seconds(20), 100, 777)});
  report(task, by_speed(), 0, 8000, seconds(80), seconds(80));
  EXPECT_EQ(task.partitions[1].assigned, 777U);
  EXPECT_EQ(task.partitions[0].assigned, 8000 + 990'000U);
  EXPECT_EQ(task.eta, 9900U);
}

TEST(Balancer, WhatIsLostIsDoneByOthers) {
  Task task = task_of(1'000'000, {ran(2000, seconds(20), 100), ran(9000, seconds(20), 100)});
  lose(task, by_speed(), 1, seconds(30));
  EXPECT_FALSE(task.partitions[1].started);
  EXPECT_EQ(task.partitions[0].assigned, 1'000'000U);
  EXPECT_EQ(task.uncovered(seconds(30)), 0U);
  EXPECT_EQ(task.uncovered(seconds(90)), 998'000U);
}

TEST(Balancer, TheStaticSplitMovesNothing) {
  Task task = task_of(10'000, {ran(100, seconds(20), 5, 5000), ran(4000, seconds(20), 200, 5000)});
  EXPECT_EQ(report(task, never(), 0, 200, seconds(40), seconds(40)).assigned, 5000U);
  EXPECT_EQ(task.eta, 960U);
  EXPECT_EQ(report(task, never(), 1, 5000, seconds(40), seconds(40)).assigned, 5000U);
}

TEST(Balancer, WhoHasDoneItsShareMayFinishUnlessMuchIsLeft) {
  EXPECT_EQ(may_finish(9, 10, 0, seconds(40)), Permission::more_to_do);
  EXPECT_EQ(may_finish(10, 10, 41, seconds(40)), Permission::report);
  EXPECT_EQ(may_finish(10, 10, 40, seconds(40)), Permission::granted);
}

// Properties.

TEST(Split, IsExactAndFair) {
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<double> weights(1 + random.below(12));
    for (double& weight : weights) {
      weight = static_cast<double>(random.below(1 << random.below(30)));
    }
    weights[random.below(weights.size())] += 0.5;
    const uint64_t total = random.next() >> (2 + random.below(62));
    const uint64_t least = random.below(20);
    const std::vector<uint64_t> parts = split(total, weights, least);
    ASSERT_EQ(std::accumulate(parts.begin(), parts.end(), uint64_t{0}), total) << round;
    const uint64_t each = std::min<uint64_t>(least, total / weights.size());
    ASSERT_GE(std::ranges::min(parts), each) << round;
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (size_t i = 0; i < parts.size(); ++i) {
      const double ideal = static_cast<double>(total) * weights[i] / all;
      const auto most = static_cast<double>(each) + 2 + ideal + 1e-15 * static_cast<double>(total);
      ASSERT_LE(static_cast<double>(parts[i]), most) << round;
    }
  }
}

TEST(Balancer, WhoHasNothingToDoMayEndAtOnce) {
  Task task = make_task(1, 2, seconds(40));
  EXPECT_EQ(start(task, 1, Millis(0), Millis(0)).assigned, 0U);
  EXPECT_EQ(report(task, by_speed(), 1, 0, Millis(0), Millis(0)).code, Code::not_started);
  EXPECT_EQ(finish(task, by_speed(), 1, 0, Millis(0), Millis(0)), Code::ok);
  EXPECT_EQ(finish(task, by_speed(), 1, 0, Millis(0), Millis(0)), Code::not_started);
  EXPECT_EQ(finish(task, by_speed(), 1, 0, seconds(1), seconds(1)), Code::ended);
}

TEST(Balancer, AnEndSoonAfterAReportSaysNothingAboutSpeed) {
  Task task = task_of(1000, {ran(100, seconds(20), 5), ran(100, seconds(20), 5)});
  EXPECT_EQ(finish(task, by_speed(), 0, 400, seconds(19), seconds(20)), Code::not_started);
  EXPECT_EQ(finish(task, by_speed(), 0, 400, seconds(20), seconds(20)), Code::ok);
  EXPECT_EQ(task.partitions[0].done, 400U);
  EXPECT_EQ(task.partitions[0].speed(), 5);
  EXPECT_EQ(finish(task, by_speed(), 1, 400, Millis(20'001), Millis(20'001)), Code::ok);
  EXPECT_EQ(task.partitions[1].speed(), 5);
}

// Partitions of any speed, which changes; some die with what they have done and begin again, some
// leave. Whatever happens, in the end everything is done, and at every moment what is to do is in
// somebody's share or known to be in nobody's.
TEST(Balancer, IterationsAreConserved) {
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    Random random(seed);
    struct Runner {
      double speed = 0;
      double done = 0;
      Millis began = Millis(0);
    };
    std::vector<Runner> runners(1 + random.below(8));
    const uint64_t iterations = 1 + random.below(1 << random.below(16));
    Task task = make_task(iterations, runners.size(), seconds(5 + random.below(60)));
    task.gap = Millis(0);
    Millis now(0);
    for (size_t step = 0; step < 2000 && !task.ended; ++step) {
      now += Millis(100 + random.below(5000));
      if (std::ranges::all_of(task.partitions, &Partition::finished)) {  // One more is needed.
        task.partitions.emplace_back();
        runners.emplace_back();
      }
      const size_t i = random.below(runners.size());
      Runner& runner = runners[i];
      Partition& partition = task.partitions[i];
      if (partition.finished) continue;
      if (!partition.started) {
        runner = {1 + static_cast<double>(random.below(100)), 0, now};
        ASSERT_EQ(start(task, i, Millis(0), now).code, Code::ok);
        continue;
      }
      const Millis took = now - partition.last;
      runner.done += runner.speed * std::chrono::duration<double>(took).count();
      runner.done = std::min(runner.done, static_cast<double>(partition.assigned));
      const auto done = std::max(static_cast<uint64_t>(runner.done), partition.done);
      if (random.below(20) == 0) runner.speed = 1 + static_cast<double>(random.below(100));
      const Millis elapsed = now - partition.resumed;
      if (step < 300 && random.below(30) == 0) {
        lose(task, by_speed(), i, now);
      } else if (done >= partition.assigned && task.uncovered(now) > 0) {
        ASSERT_EQ(report(task, by_speed(), i, done, elapsed, now).code, Code::ok);
        partition.assigned += task.uncovered(now);
      } else if (done >= partition.assigned) {
        ASSERT_EQ(finish(task, by_speed(), i, done, elapsed, now), Code::ok);
      } else {
        ASSERT_EQ(report(task, by_speed(), i, done, elapsed, now).code, Code::ok);
      }
      uint64_t covered = task.uncovered(now);
      for (const Partition& one : task.partitions) {
        covered += task.is_active(one, now) ? std::max(one.done, one.assigned) : one.done;
      }
      ASSERT_GE(covered, iterations) << "seed " << seed;
    }
    ASSERT_TRUE(task.ended) << "seed " << seed;
    ASSERT_GE(task.done(), iterations) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dunlin::balance
