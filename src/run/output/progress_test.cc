#include "run/output/progress.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>

namespace dunlin::run {
namespace {

using namespace std::chrono_literals;

RunProgress some() {
  return {.total = 1000,
          .ok = 410,
          .failed = 2,
          .running = 8,
          .per_s = 103,
          .left = 5700ms,
          .elapsed = 4s};
}

// Columns of a terminal: without colours, a UTF-8 character as one.
size_t columns_of(std::string_view text) {
  size_t columns = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\x1b') escape = true;
    if (!escape && (static_cast<uint8_t>(c) & 0xc0U) != 0x80) ++columns;
    if (escape && c == 'm') escape = false;
  }
  return columns;
}

TEST(RunProgress, TheBarShowsWhatMatters) {
  EXPECT_EQ(progress_bar(some(), {}),
            " 41% ############..................   412/1000  2 failed  5.7s left  103/s");
  EXPECT_EQ(progress_bar(some(), {.width = 60}),
            " 41% ######-.........   412/1000  2 failed  5.7s left  103/s");
  EXPECT_EQ(progress_bar(some(), {.width = 30}), " 41%   412/1000  2 failed");
  EXPECT_EQ(progress_bar(some(), {.width = 3}), "");
}

TEST(RunProgress, TheBarMayHaveColoursAndFineLines) {
  const std::string line = progress_bar(some(), {.colour = true, .unicode = true});
  EXPECT_EQ(line.find(" 41% \x1b[31m━━"), 0U) << line;
  EXPECT_EQ(columns_of(line), 74U);
}

TEST(RunProgress, AnEndedRunSaysHowLongItTook) {
  const RunProgress ended{.total = 3, .ok = 3, .per_s = 1.5, .elapsed = 2s};
  EXPECT_EQ(progress_bar(ended, {.width = 50}), "100% ##################  3/3  in 2s  1.5/s");
  EXPECT_EQ(progress_text(ended), "3 of 3 done (100%), 1.5/s, took 2s");
  EXPECT_EQ(progress_text({}), "0 of 0 done (100%), took 0s");
}

TEST(RunProgress, ALineOfTextSaysTheSame) {
  EXPECT_EQ(progress_text(some()), "412 of 1000 done (41%), 2 failed, 8 running, 103/s, 5.7s left");
}

TEST(RunProgress, TheBarNeverWraps) {
  const bool holds = rc::check("the bar fits", [] {
    RunProgress progress;
    progress.total = *rc::gen::inRange<uint64_t>(0, 1'000'000'001);
    progress.ok = *rc::gen::inRange<uint64_t>(0, progress.total + 1);
    progress.failed = *rc::gen::inRange<uint64_t>(0, progress.total - progress.ok + 1);
    progress.per_s = *rc::gen::inRange(0, 10'000'000);
    if (*rc::gen::arbitrary<bool>()) progress.left = Millis(*rc::gen::inRange(0, 1 << 30));
    const LineStyle style{*rc::gen::inRange<size_t>(0, 200), *rc::gen::arbitrary<bool>(),
                          *rc::gen::arbitrary<bool>()};
    RC_ASSERT(columns_of(progress_bar(progress, style)) <= style.width);
  });
  EXPECT_TRUE(holds);
}

TEST(RunProgress, ARateIsShortAndReadable) {
  EXPECT_EQ(human_rate(0), "0/s");
  EXPECT_EQ(human_rate(1234567), "1.2M/s");
  EXPECT_EQ(human_rate(200'000), "200.0k/s");
  EXPECT_EQ(human_rate(1234), "1234/s");
  EXPECT_EQ(human_rate(1.25), "1.2/s");
  EXPECT_EQ(human_rate(0.05), "3/min");
  EXPECT_EQ(human_rate(0.001), "3.6/h");
}

TEST(RunProgress, ThePaceIsThatOfTheLastHalfMinute) {
  Pace pace;
  EXPECT_EQ(pace.per_s(), 0);
  EXPECT_EQ(pace.left(10), std::nullopt);
  for (int i = 0; i <= 100; ++i) pace.on(i * 1s, static_cast<uint64_t>(i) * 10);
  EXPECT_NEAR(pace.per_s(), 10, 0.1);
  for (int i = 1; i <= 60; ++i) pace.on(100s + i * 1s, 1000 + static_cast<uint64_t>(i) * 100);
  EXPECT_NEAR(pace.per_s(), 100, 1);
  EXPECT_NEAR(static_cast<double>(pace.left(8000)->count()), 10'000, 200);
}

TEST(RunProgress, SlowTasksAreMeasuredOverAllTheTime) {
  Pace pace;
  pace.on(0s, 500);  // Of an earlier run.
  for (int i = 1; i <= 600; ++i) pace.on(i * 1s, 500 + static_cast<uint64_t>(i) / 300);
  EXPECT_NEAR(pace.per_s(), 2.0 / 600, 1e-6);
}

TEST(RunProgress, ManyCallsInASecondCostNoMemory) {
  Pace pace;
  for (int i = 0; i < 100'000; ++i) pace.on(i * 1ms, static_cast<uint64_t>(i));
  EXPECT_NEAR(pace.per_s(), 1000, 20);
}

}  // namespace
}  // namespace dunlin::run
