#include "store/compare_and_set.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

const Error kBusy = {Code::unavailable, "it changes all the time"};

TEST(CompareAndSet, BeginsAgainUntilNobodyElseWasQuicker) {
  int rounds = 0;
  const auto round = [&]() -> Round<int> {
    ++rounds;
    return rounds < 3 ? std::optional<int>() : std::optional(rounds);
  };
  const Result<int> changed = compare_and_set(kBusy, round);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed.value(), 3);
  EXPECT_EQ(rounds, 3);
}

TEST(CompareAndSet, AnErrorEndsIt) {
  int rounds = 0;
  const auto round = [&]() -> Round<int> {
    ++rounds;
    return Error{Code::denied, "no"};
  };
  const Result<int> changed = compare_and_set(kBusy, round);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, Code::denied);
  EXPECT_EQ(rounds, 1);
}

TEST(CompareAndSet, SaysThatItWasTooBusyAfterItsRounds) {
  int rounds = 0;
  const auto round = [&]() -> Round<int> {
    ++rounds;
    return std::optional<int>();
  };
  const Result<int> changed = compare_and_set(kBusy, round);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, kBusy.code);
  EXPECT_EQ(changed.error().what, kBusy.what);
  EXPECT_EQ(rounds, kRoundsMax);
  EXPECT_FALSE(compare_and_set(round).value());  // Who has no error for it hears of nothing.
}

TEST(CompareAndSet, OnlyAConflictIsSomebodyWhoWasQuicker) {
  EXPECT_EQ(unless_conflict(Result<uint64_t>(7)).value(), 7U);
  EXPECT_FALSE(unless_conflict<uint64_t>(Error{Code::conflict, ""}).value());
  EXPECT_FALSE(unless_conflict<uint64_t>(Error{Code::unavailable, ""}).ok());
}

}  // namespace
}  // namespace dunlin
