#include "balance/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/env.h"

namespace dunlin::balance {
namespace {

using std::chrono::seconds;

constexpr Millis kPace = seconds(2);

TEST(Ledger, TheFirstSpansAreProbesAndTheNextByItsSpeed) {
  Ledger ledger = make_ledger(1'000'000, 2, seconds(40));
  const auto take = [&](int64_t ms) {
    return next_span(ledger, by_speed(), 0, 1, kPace, Millis(ms)).span;
  };
  EXPECT_EQ(take(0), (Span{0, 1}));
  EXPECT_EQ(take(10), (Span{1, 17})) << "100 a second, but of one that is not much to go by";
  EXPECT_EQ(take(170), (Span{17, 217}));
  EXPECT_EQ(take(1170), (Span{217, 617})) << "twice as fast";
  EXPECT_EQ(ledger.pool(), 1'000'000U - 617);
}

TEST(Ledger, WhoComesAgainTakesThePlaceOfTheFirst) {
  Ledger ledger = make_ledger(1000, 1, seconds(40));
  next_span(ledger, by_speed(), 0, 1, kPace, seconds(0));
  next_span(ledger, by_speed(), 0, 1, kPace, seconds(1));
  EXPECT_EQ(ledger.pool(), 997U);
  const Turn again = next_span(ledger, by_speed(), 0, 2, kPace, seconds(9));
  EXPECT_EQ(again.span, (Span{3, 4}));
  EXPECT_EQ(ledger.back, (std::vector<Span>{{0, 3}}));
  EXPECT_EQ(ledger.pool(), 999U);
  EXPECT_EQ(next_span(ledger, by_speed(), 0, 1, kPace, seconds(10)).code, Code::ended);
  EXPECT_EQ(end_early(ledger, by_speed(), 0, 1, 3, seconds(10)), Code::ended);
  lose(ledger, by_speed(), 0, 1, seconds(11));  // It is not there any more.
  EXPECT_EQ(ledger.pool(), 999U);
}

TEST(Ledger, WhoLeavesKeepsWhatItHasDone) {
  Ledger ledger = make_ledger(100'000, 2, seconds(40));
  next_span(ledger, by_speed(), 0, 1, kPace, Millis(0));
  EXPECT_EQ(next_span(ledger, by_speed(), 0, 1, kPace, Millis(10)).span, (Span{1, 17}));
  EXPECT_EQ(end_early(ledger, by_speed(), 0, 1, 7, seconds(2)), Code::ok);
  EXPECT_EQ(ledger.back, (std::vector<Span>{{7, 17}}));
  EXPECT_EQ(ledger.task.done(), 7U);
  EXPECT_EQ(next_span(ledger, by_speed(), 0, 1, kPace, seconds(3)).code, Code::ended);
  EXPECT_EQ(next_span(ledger, by_speed(), 1, 1, kPace, seconds(3)).span, (Span{50'000, 50'001}));
}

TEST(Ledger, WhoHasNothingLeftTakesWhatCameBackAndThenFromTheSlowest) {
  Ledger ledger = make_ledger(40, 2, seconds(40));
  uint64_t taken = 0;
  for (int64_t second = 0; ledger.holders[0].own.size() > 0; ++second) {
    taken += next_span(ledger, by_speed(), 0, 1, kPace, seconds(second)).span->size();
  }
  EXPECT_EQ(taken, 20U);
  ledger.back.push_back({20, 21});
  ledger.holders[1].own.first = 21;
  EXPECT_EQ(next_span(ledger, by_speed(), 0, 1, kPace, seconds(100)).span, (Span{20, 21}));
  EXPECT_EQ(next_span(ledger, by_speed(), 0, 1, kPace, seconds(101)).span->first, 30U);
  EXPECT_EQ(ledger.holders[1].own, (Span{21, 30}));
}

TEST(Ledger, RefusesWhatIsNotThere) {
  Ledger ledger = make_ledger(10, 1, seconds(40));
  EXPECT_EQ(next_span(ledger, by_speed(), 1, 1, kPace, seconds(0)).code, Code::out_of_range);
  EXPECT_EQ(end_early(ledger, by_speed(), 1, 1, 0, seconds(0)), Code::out_of_range);
  EXPECT_EQ(end_early(ledger, by_speed(), 0, 1, 0, seconds(0)), Code::not_started);
}

// Partitions of all speeds that come, go, die and come again: each iteration is in exactly one
// partition that ended, or still has it, or is waiting.
TEST(Ledger, EachIterationIsDoneOnce) {
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    Random random(seed);
    const uint64_t iterations = 1 + random.below(1 << random.below(12));
    const size_t partitions = 1 + random.below(6);
    Ledger ledger = make_ledger(iterations, partitions, seconds(1 + random.below(20)));
    std::vector<uint32_t> attempts(partitions, 1);
    Millis now(0);
    for (size_t step = 0; step < 5000; ++step) {
      if (ledger.task.ended && step > 100) break;
      now += Millis(random.below(2000));
      const size_t i = random.below(partitions);
      const uint64_t what = step < 100 ? random.below(20) : 19;
      const uint64_t taken = ledger.holders[i].taken;
      if (what == 0) {
        lose(ledger, by_speed(), i, attempts[i], now);
        ++attempts[i];
      } else if (what == 1) {
        ++attempts[i];  // Its worker is gone, and nobody said so.
      } else if (what == 2) {
        end_early(ledger, by_speed(), i, attempts[i], random.below(taken + 1), now);
      } else if (ledger.task.partitions[i].finished && ledger.pool() > 0) {
        // Only one more would help: what is checked below holds all the same.
        if (std::ranges::all_of(ledger.task.partitions, &Partition::finished)) break;
      } else {
        next_span(ledger, by_speed(), i, attempts[i], kPace, now);
      }
    }
    std::vector<uint32_t> times(iterations, 0);
    const auto count = [&](const Span& span) {
      ASSERT_LE(span.first, span.last);
      ASSERT_LE(span.last, iterations);
      for (uint64_t k = span.first; k < span.last; ++k) ++times[k];
    };
    uint64_t held = 0;
    for (const Ledger::Holder& holder : ledger.holders) {
      uint64_t sum = 0;
      for (const Span& span : holder.spans) {
        count(span);
        sum += span.size();
      }
      count(holder.own);
      ASSERT_EQ(sum, holder.taken) << "seed " << seed;
      ASSERT_LE(holder.spans.size(), 60U) << "seed " << seed;
      held += sum;
    }
    for (const Span& span : ledger.back) count(span);
    ASSERT_TRUE(std::ranges::all_of(times, [](uint32_t n) { return n == 1; })) << "seed " << seed;
    ASSERT_EQ(held + ledger.pool(), iterations) << "seed " << seed;
    const bool all_ended = std::ranges::all_of(
        ledger.task.partitions, [](const Partition& one) { return one.finished || !one.started; });
    if (ledger.pool() == 0 && all_ended) {
      ASSERT_EQ(ledger.task.done(), iterations) << "seed " << seed;
      ASSERT_TRUE(ledger.task.ended) << "seed " << seed;
    }
  }
}

// One of four is five times slower, and the second dies with all it has done: the others make up
// for it, and all end together.
TEST(Ledger, TheFastDoTheWorkOfTheSlow) {
  Ledger ledger = make_ledger(100'000, 4, seconds(10));
  const std::vector<double> speeds = {100, 100, 100, 20};
  std::vector<Millis> free_at(4, Millis(0));
  std::vector<bool> gone(4, false);
  Millis last(0);
  Millis first = Millis::max();
  while (true) {
    size_t i = 4;
    for (size_t k = 0; k < 4; ++k) {
      if (!gone[k] && (i == 4 || free_at[k] < free_at[i])) i = k;
    }
    if (i == 4) break;
    const Millis now = free_at[i];
    if (i == 1 && now > seconds(100)) {
      lose(ledger, by_speed(), 1, 1, now);
      gone[1] = true;
      continue;
    }
    const Turn turn = next_span(ledger, by_speed(), i, 1, kPace, now);
    if (!turn.span) {
      gone[i] = true;
      first = std::min(first, now);
      last = std::max(last, now);
      continue;
    }
    const double took = static_cast<double>(turn.span->size()) / speeds[i];
    free_at[i] = now + std::chrono::ceil<Millis>(std::chrono::duration<double>(took));
  }
  EXPECT_TRUE(ledger.task.ended);
  // Alone they would need 100,000 / 220 = 455 s.
  EXPECT_LT(last, seconds(465));
  EXPECT_LT(last - first, seconds(5));
}

}  // namespace
}  // namespace dunlin::balance
