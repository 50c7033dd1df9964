#include "model/ledgers.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "base/env_posix.h"
#include "store/memory.h"

namespace dunlin {
namespace {

using balance::Span;
using std::chrono::seconds;

WallTime at(int64_t second) { return WallTime(seconds(1'800'000'000 + second)); }

class Ledgers : public testing::Test {
 protected:
  const std::unique_ptr<CallStore> store = memory_store(posix_clock());
  Table& table = store->table();
  const IterativeJob job = {.id = "job", .iterations = 100'000, .partitions = 2};

  std::optional<Span> turn(size_t partition, uint32_t attempt, int64_t second) {
    const auto taken = take_turn(table, job, partition, attempt, at(second));
    EXPECT_TRUE(taken.ok());
    return taken.ok() ? taken.value().span : std::nullopt;
  }
};

TEST_F(Ledgers, TurnsAreKeptInTheStore) {
  EXPECT_EQ(turn(0, 1, 0), (Span{0, 50}));
  EXPECT_EQ(turn(0, 1, 1), (Span{50, 100}));
  EXPECT_EQ(turn(1, 1, 2), (Span{50'000, 50'050}));
  const LedgerNow now = read_ledger(table, job, at(3)).value();
  EXPECT_EQ(now.begun, at(0));
  EXPECT_EQ(now.ledger.holders[0].taken, 100U);
  EXPECT_EQ(now.ledger.pool(), 100'000U - 150);
  EXPECT_DOUBLE_EQ(now.ledger.task.partitions[0].speed(), 50);
}

TEST_F(Ledgers, WhatIsLostOrLeftComesBack) {
  turn(0, 1, 0);
  turn(0, 1, 1);
  turn(1, 1, 1);
  EXPECT_EQ(leave(table, job, 0, 1, 60, at(2)).value(), balance::Code::ok);
  ASSERT_TRUE(lose_partition(table, job, 1, 1, at(2)).ok());
  const LedgerNow now = read_ledger(table, job, at(3)).value();
  EXPECT_EQ(now.ledger.back, (std::vector<Span>{{60, 100}, {50'000, 50'050}}));
  EXPECT_EQ(leave(table, job, 0, 1, 60, at(4)).value(), balance::Code::ended);
}

TEST_F(Ledgers, ADamagedRowIsNotBelieved) {
  turn(0, 1, 0);
  const LedgerNow good = read_ledger(table, job, at(1)).value();
  model::Ledger twice = encode(good);
  twice.mutable_partitions(1)->mutable_own()->set_first(49'999);
  EXPECT_FALSE(decode(twice).ok());
  model::Ledger lacking = encode(good);
  lacking.mutable_partitions(0)->clear_spans();
  EXPECT_FALSE(decode(lacking).ok());
  model::Ledger endless = encode(good);
  endless.mutable_partitions(1)->mutable_own()->set_size(UINT64_MAX);
  EXPECT_FALSE(decode(endless).ok());
  EXPECT_FALSE(decode(model::Ledger()).ok());
  EXPECT_TRUE(decode(encode(good)).ok());
}

TEST_F(Ledgers, LargeOnesFitIntoARow) {
  LedgerNow large{balance::make_ledger(uint64_t{1} << 50U, kPartitionsMax, seconds(300)), at(0)};
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < kPartitionsMax; ++i) {
      next_span(large.ledger, balance::never(), i, 1, seconds(1), seconds(round));
    }
  }
  EXPECT_LT(encode(large).ByteSizeLong(), kValueMax);
  EXPECT_TRUE(decode(encode(large)).ok());
}

// Before its first commit, somebody else is quicker.
class Outrun final : public CallStore {
 public:
  Outrun(CallStore& store, std::function<void()> other)
      : CallStore(1), store_(store), other_(std::move(other)) {}

 protected:
  Answer call(Request&& request) override {
    if (std::holds_alternative<Commit>(request)) {
      if (const auto other = std::exchange(other_, {})) other();
    }
    return store_.ask(std::move(request));
  }

 private:
  CallStore& store_;
  std::function<void()> other_;
};

TEST_F(Ledgers, OfTwoTurnsAtOnceOneIsSecond) {
  std::optional<Span> first;
  Outrun slow(*store, [&] { first = turn(1, 1, 0); });
  const auto second = take_turn(slow.table(), job, 0, 1, at(0));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value().span, (Span{0, 50}));
  EXPECT_EQ(first, (Span{50'000, 50'050}));
  EXPECT_EQ(read_ledger(table, job, at(1)).value().ledger.pool(), 100'000U - 100);
}

}  // namespace
}  // namespace dunlin
