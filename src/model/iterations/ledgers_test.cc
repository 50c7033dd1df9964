#include "model/iterations/ledgers.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>

#include "base/env_posix.h"
#include "model/counts.h"
#include "model/keys.h"
#include "store/memory.h"
#include "testing/clock.h"

namespace dunlin {
namespace {

using balance::Span;
using std::chrono::seconds;

StoppedClock at(int64_t second) { return StoppedClock(Instant(seconds(1'800'000'000 + second))); }
WallTime wall(int64_t second) { return at(second).wall(); }

class Ledgers : public testing::Test {
 protected:
  const std::unique_ptr<RequestStore> store = memory_store(posix_clock());
  Table& table = store->table();
  LedgerClock seen = {};
  const IterativeJob job = {.id = "job", .iterations = 100'000, .partitions = 2};

  std::map<std::pair<size_t, uint32_t>, uint64_t> given = {};

  std::optional<Span> turn(size_t partition, uint32_t attempt, int64_t second) {
    uint64_t& so_far = given[{partition, attempt}];
    const PartitionAttempt who{job, partition, attempt, so_far};
    const auto taken = next_iterations(table, who, {seen, at(second)});
    EXPECT_TRUE(taken.ok());
    if (!taken.ok() || !taken.value().span) return std::nullopt;
    so_far += taken.value().span->size();
    return taken.value().span;
  }
};

TEST_F(Ledgers, TurnsAreKeptInTheStore) {
  EXPECT_EQ(turn(0, 1, 0), (Span{0, 1}));
  EXPECT_EQ(turn(0, 1, 1), (Span{1, 2}));
  EXPECT_EQ(turn(1, 1, 2), (Span{50'000, 50'001}));
  const LedgerNow now = read_ledger(table, job, wall(3)).value();
  EXPECT_EQ(now.begun, wall(0));
  EXPECT_EQ(now.latest, seconds(2));
  EXPECT_EQ(now.ledger.holders[0].taken, 2U);
  EXPECT_EQ(now.ledger.pool(), 100'000U - 3);
  EXPECT_DOUBLE_EQ(now.ledger.task.partitions[0].speed(), 1);
}

TEST_F(Ledgers, WhatIsLostOrLeftComesBack) {
  turn(0, 1, 0);
  turn(0, 1, 1);
  turn(1, 1, 1);
  EXPECT_EQ(leave(table, {job, 0, 1}, 1, {seen, at(2)}).value(), Left::yes);
  ASSERT_TRUE(lose_partition(table, {job, 1, 1}, {seen, at(2)}).ok());
  const LedgerNow now = read_ledger(table, job, wall(3)).value();
  EXPECT_EQ(now.ledger.back, (std::vector<Span>{{1, 2}, {50'000, 50'001}}));
  EXPECT_EQ(leave(table, {job, 0, 1}, 1, {seen, at(4)}).value(), Left::yes)
      << "the answer was lost";
  EXPECT_EQ(leave(table, {job, 0, 1}, 0, {seen, at(4)}).value(), Left::given_up);
  EXPECT_EQ(leave(table, {job, 1, 1}, 0, {seen, at(4)}).value(), Left::given_up);
}

TEST_F(Ledgers, WhoIsAloneDoesNotLeave) {
  turn(0, 1, 0);
  turn(1, 1, 0);
  EXPECT_EQ(leave(table, {job, 1, 1}, 0, {seen, at(1)}).value(), Left::yes);
  EXPECT_EQ(leave(table, {job, 0, 1}, 0, {seen, at(2)}).value(), Left::alone);
  EXPECT_EQ(leave(table, {job, 0, 1}, 1, {seen, at(2)}).value(), Left::alone);
  EXPECT_EQ(turn(0, 1, 3), (Span{1, 2})) << "it goes on";
  IterativeJob larger = job;
  larger.most = 3;
  EXPECT_EQ(leave(table, {larger, 0, 1}, 1, {seen, at(4)}).value(), Left::yes);
  const LedgerNow now = read_ledger(table, larger, wall(5)).value();
  EXPECT_EQ(now.ledger.holders.size(), 3U) << "there is one more, for the rest";
  EXPECT_EQ(now.ledger.pool(), 100'000U - 1);
}

TEST_F(Ledgers, ADamagedRowIsNotBelieved) {
  turn(0, 1, 0);
  const LedgerNow good = read_ledger(table, job, wall(1)).value();
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
  LedgerNow large{balance::make_ledger(uint64_t{1} << 50U, kPartitionsMax, seconds(300)), wall(0)};
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < kPartitionsMax; ++i) {
      next_span(large.ledger, balance::never(), i, 1, seconds(1), seconds(round));
    }
  }
  EXPECT_LT(encode(large).ByteSizeLong(), kValueMax);
  EXPECT_TRUE(decode(encode(large)).ok());
}

// Many partitions of many speeds, of which some die all the time. REQUIRES: decode() finds every
// iteration once.
struct Crowd {
  Crowd(uint64_t seed, uint64_t iterations, uint32_t dying)
      : random(seed), dying_per_1000(dying), speeds(kPartitionsMax) {
    now.ledger = balance::make_ledger(iterations, kPartitionsMax, seconds(60));
    now.begun = wall(0);
    double all = 0;
    for (double& speed : speeds) all += speed = 1 + static_cast<double>(random.below(1000));
    for (double& speed : speeds) speed *= static_cast<double>(iterations) / all / 10'000;
    for (size_t i = 0; i < kPartitionsMax; ++i) turns.emplace(random.below(1000), i);
  }

  // Until all is done, or as long as it takes if nobody were to die.
  void run() {
    for (int turn = 0; turn < 40'000 && !turns.empty(); ++turn) {
      const auto [at_ms, one] = *turns.begin();
      turns.erase(turns.begin());
      step(Millis(at_ms), one);
      if (turn % 400 != 0 && !turns.empty()) continue;
      const model::Ledger record = encode(now);
      largest = std::max(largest, record.ByteSizeLong());
      ASSERT_TRUE(decode(record).ok());
    }
  }

  void step(Millis at, size_t one) {
    balance::Ledger& ledger = now.ledger;
    const uint32_t attempt = std::max(ledger.holders[one].attempt, 1U);
    if (random.below(1000) < dying_per_1000) {
      lose(ledger, balance::by_speed(), one, attempt, at);
      next_span(ledger, balance::by_speed(), one, attempt + 1, seconds(1), at);
      turns.emplace(at.count() + 1000, one);
      return;
    }
    const auto turn = next_span(ledger, balance::by_speed(), one, attempt, seconds(1), at);
    most = std::max(most, ledger.pieces());
    if (!turn.span) return;
    const double ms = static_cast<double>(turn.span->size()) / speeds[one];
    turns.emplace(at.count() + 1 + static_cast<int64_t>(ms), one);
  }

  Random random;
  const uint32_t dying_per_1000;
  std::vector<double> speeds;  // Iterations a millisecond.
  LedgerNow now;
  std::multimap<int64_t, size_t> turns;  // By the millisecond.
  size_t largest = 0;                    // Bytes of the row.
  size_t most = 0;                       // Pieces.
};

TEST_F(Ledgers, FitIntoARowWhoeverDies) {
  const std::vector<std::pair<uint32_t, uint64_t>> cases = {
      {0, balance::kIterationsMax}, {20, 1'000'000'000'000'000}, {200, balance::kIterationsMax}};
  for (const auto& [dying, iterations] : cases) {
    Crowd crowd(dying + 1, iterations, dying);
    crowd.run();
    EXPECT_LT(crowd.largest, kValueMax) << dying;
    EXPECT_LE(crowd.most, balance::kPiecesMax + kPartitionsMax) << dying;
    if (dying == 0) {
      EXPECT_EQ(crowd.now.ledger.pool(), 0U);
    }
  }
}

TEST_F(Ledgers, AnAnswerThatWasLostIsGivenAgain) {
  turn(0, 1, 0);
  const PartitionAttempt who{job, 0, 1, 1};
  const auto lost = next_iterations(table, who, {seen, at(1)}).value().span;
  EXPECT_EQ(next_iterations(table, who, {seen, at(2)}).value().span, lost);
  EXPECT_EQ(read_ledger(table, job, wall(3)).value().ledger.pool(), 100'000U - 2);
}

TEST_F(Ledgers, AllThatWasGivenIsGivenAgainInItsOrder) {
  turn(0, 1, 0);
  turn(0, 1, 1);
  // What another one had lies elsewhere.
  turn(1, 1, 1);
  ASSERT_TRUE(lose_partition(table, {job, 1, 1}, {seen, at(2)}).ok());
  LedgerNow now = read_ledger(table, job, wall(2)).value();
  now.ledger.holders[0].spans.push_back({50'000, 50'001});
  now.ledger.back.clear();
  ASSERT_TRUE(table.put(kLedgers, {"job", encode(now).SerializeAsString(), kAnyVersion}).ok());
  EXPECT_EQ(next_iterations(table, {job, 0, 1, 0}, {seen, at(3)}).value().span, (Span{0, 2}));
  EXPECT_EQ(next_iterations(table, {job, 0, 1, 1}, {seen, at(3)}).value().span, (Span{1, 2}));
  EXPECT_EQ(next_iterations(table, {job, 0, 1, 2}, {seen, at(3)}).value().span,
            (Span{50'000, 50'001}));
}

TEST_F(Ledgers, WhoSaysThatItHadMoreGetsNothing) {
  EXPECT_EQ(next_iterations(table, {job, 0, 1, 5}, {seen, at(0)}).value().code,
            balance::Code::ended);
  turn(0, 1, 0);
  EXPECT_EQ(next_iterations(table, {job, 0, 1, 5}, {seen, at(1)}).value().code,
            balance::Code::ended);
  const Place place = find_place(table, {job, 0, 1}).value();
  EXPECT_TRUE(place.here);
  EXPECT_FALSE(place.ended);
  EXPECT_EQ(place.given, 1U);
  EXPECT_FALSE(find_place(table, {job, 0, 2}).value().here);
  EXPECT_FALSE(find_place(table, {job, 9, 1}).value().here);
}

TEST_F(Ledgers, WhoLeavesDoesWhatItWasGivenWithoutHearingOfIt) {
  turn(0, 1, 0);
  turn(1, 1, 0);
  const auto lost = next_iterations(table, {job, 0, 1, 1}, {seen, at(1)}).value().span;
  EXPECT_EQ(next_iterations(table, {job, 0, 1, 1}, {seen, at(2)}, true).value().span, lost);
  EXPECT_FALSE(next_iterations(table, {job, 0, 1, 2}, {seen, at(3)}, true).value().span);
  const auto again = next_iterations(table, {job, 0, 1, 2}, {seen, at(4)}, true).value();
  EXPECT_EQ(again.code, balance::Code::ok) << "it is told to end again";
  EXPECT_FALSE(again.span);
  EXPECT_TRUE(find_place(table, {job, 0, 1}).value().ended);
}

TEST_F(Ledgers, WhoRunsAPartitionIsInItsPage) {
  const auto why = [this](uint32_t attempt) {
    const auto worker = worker_of(table, {job, 1, attempt});
    return worker.ok() ? worker.value() : worker.error().what;
  };
  model::Page page;
  const auto put = [&] {
    return table.put(kPages, {page_key("job", 0), page.SerializeAsString(), kAnyVersion}).ok();
  };
  EXPECT_EQ(why(1), "attempt 1 of partition 1 does not run, nor does another");
  for (const uint32_t attempt : {1U, 2U}) {
    model::Claim& claim = *page.add_claims();
    claim.set_offset(1);
    claim.set_attempt(attempt);
    claim.set_worker(attempt == 1 ? "early" : "late");
  }
  page.add_claims()->set_attempt(9);  // Of another one.
  ASSERT_TRUE(put());
  EXPECT_EQ(why(1), "attempt 1 of partition 1 does not run: attempt 2 does");
  EXPECT_EQ(why(2), "late");
  EXPECT_EQ(why(3), "attempt 3 of partition 1 does not run: attempt 2 does");
  revoke(page, 1, 1);
  ASSERT_TRUE(put());
  EXPECT_EQ(why(2), "late");
  revoke(page, 1, 2);
  ASSERT_TRUE(put());
  EXPECT_EQ(why(2),
            "attempt 2 of partition 1 was silent for too long, and others have its iterations");
  page.add_outcomes()->set_offset(1);
  ASSERT_TRUE(put());
  EXPECT_EQ(why(2), "attempt 2 of partition 1 is over: there is a result");
}

TEST_F(Ledgers, WhoLeavesGivesTheRestToOthers) {
  turn(0, 1, 0);
  const auto alone = next_iterations(table, {job, 0, 1, 1}, {seen, at(1)}, true);
  EXPECT_TRUE(alone.value().span) << "there is nobody else";
  turn(1, 1, 1);
  EXPECT_FALSE(next_iterations(table, {job, 0, 1, 2}, {seen, at(2)}, true).value().span);
  const LedgerNow now = read_ledger(table, job, wall(3)).value();
  EXPECT_TRUE(now.ledger.task.partitions[0].finished);
  EXPECT_EQ(now.ledger.holders[0].taken, 2U);
}

TEST_F(Ledgers, WhatAFailedPartitionHadIsFoundAgain) {
  IterativeJob small = job;
  small.iterations = 4;
  const auto had = next_iterations(table, {small, 0, 1}, {seen, at(0)}).value().span->size();
  uint64_t mine = 0;
  while (const auto span =
             next_iterations(table, {small, 1, 1, mine}, {seen, at(1)}).value().span) {
    mine += span->size();
    if (mine + had < 4) continue;
    // It dies, and nobody tells the ledger.
    model::Page page;
    page.add_outcomes()->set_state(model::STATE_LOST);
    ASSERT_TRUE(
        table.put(kPages, {page_key("job", 0), page.SerializeAsString(), kAnyVersion}).ok());
  }
  EXPECT_EQ(mine, 4U);
}

TEST_F(Ledgers, ADeadlineInDangerMakesPartitions) {
  IterativeJob late = job;
  late.partitions = 1;
  late.most = 8;
  late.finish_by = wall(100);
  uint64_t had = 0;
  for (int64_t second = 0; second < 5; ++second) {  // One a second.
    had += next_iterations(table, {late, 0, 1, had}, {seen, at(second)}).value().span->size();
  }
  const Row row = table.get(kLedgers, std::vector<std::string>{"job"}).value()[0];
  EXPECT_EQ(reserve_needed(row, 1, 8, false).value(), 7U);
  EXPECT_TRUE(next_iterations(table, {late, 7, 1}, {seen, at(5)}).value().span);
}

TEST_F(Ledgers, ReserveStartsWhenItIsNeeded) {
  const auto row = [this] {
    return table.get(kLedgers, std::vector<std::string>{"job"}).value()[0];
  };
  EXPECT_EQ(reserve_needed(row(), 2, 8, false).value(), 0U) << "nobody has begun";
  EXPECT_EQ(reserve_needed(row(), 2, 8, true).value(), 6U) << "nobody can begin";
  turn(0, 1, 0);
  EXPECT_EQ(reserve_needed(row(), 2, 8, false).value(), 0U);
  EXPECT_EQ(reserve_needed(row(), 2, 8, true).value(), 1U) << "nobody else is left";
  for (int64_t second = 1; turn(0, 1, second);) second += 100;
  EXPECT_EQ(reserve_needed(row(), 2, 8, false).value(), 6U) << "all is done";
  EXPECT_FALSE(next_iterations(table, {job, 5, 1}, {seen, at(1'000'000)}).value().span);
}

// Before its first commit, somebody else is quicker.
class Outrun final : public RequestStore {
 public:
  Outrun(RequestStore& store, std::function<void()> other)
      : RequestStore(1), store_(store), other_(std::move(other)) {}

 protected:
  Answer call(Request&& request) override {
    if (std::holds_alternative<Commit>(request)) {
      if (const auto other = std::exchange(other_, {})) other();
    }
    return store_.ask(std::move(request));
  }

 private:
  RequestStore& store_;
  std::function<void()> other_;
};

TEST_F(Ledgers, OfTwoTurnsAtOnceOneIsSecond) {
  std::optional<Span> first;
  Outrun slow(*store, [&] { first = turn(1, 1, 0); });
  const auto second = next_iterations(slow.table(), {job, 0, 1}, {seen, at(0)});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value().span, (Span{0, 1}));
  EXPECT_EQ(first, (Span{50'000, 50'001}));
  EXPECT_EQ(read_ledger(table, job, wall(1)).value().ledger.pool(), 100'000U - 2);
}

}  // namespace
}  // namespace dunlin
