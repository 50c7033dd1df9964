#include "model/iterations/ledger_clock.h"

#include <gtest/gtest.h>

#include <set>

#include "model/iterations/ledgers.h"
#include "model/keys.h"
#include "model/rows.h"
#include "store/memory.h"
#include "testing/clock.h"

namespace dunlin {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Millis kStep = Millis(100);

// Two machines that share the iterations of a job, one iteration each time that suits them.
class LedgerClocks : public testing::Test {
 protected:
  struct Machine {
    Machine(const Clock& real, Millis off, size_t number, double speed)
        : clock(real, off), partition(number), per_second(speed) {}
    SkewedClock clock;
    LedgerClock seen = {};
    size_t partition;
    double per_second;
    uint64_t had = 0;
    Instant ready = {};
    bool ended = false;
    bool given_up = false;
  };

  // Asks for a span if the last one is done, unless it is dead.
  void step(Machine& one) {
    if (one.ended || clock.now() < one.ready) return;
    const auto turn =
        next_iterations(store->table(), {job, one.partition, 1, one.had}, {one.seen, one.clock})
            .value();
    one.given_up |= turn.code != balance::Code::ok;
    one.ended = !turn.wait && !turn.span;
    if (!turn.span) return;
    for (uint64_t i = turn.span->first; i < turn.span->last; ++i) given.insert(i);
    one.had += turn.span->size();
    const auto time = static_cast<double>(turn.span->size()) * 1000 / one.per_second;
    one.ready = clock.now() + Millis(static_cast<int64_t>(time));
  }

  SimClock clock;
  const std::unique_ptr<RequestStore> store = memory_store(clock);
  const IterativeJob job = {.id = "job", .iterations = 2000, .partitions = 2};
  std::multiset<uint64_t> given;
};

TEST_F(LedgerClocks, NobodyIsGivenUpBecauseOfItsClock) {
  for (const Millis off : {hours(-1), hours(0), hours(1)}) {
    ASSERT_TRUE(store->table().erase(kLedgers, job.id, kAnyVersion).ok());
    given.clear();
    Machine fast(clock, Millis(0), 0, 100);
    Machine slow(clock, off, 1, 20);
    for (int i = 0; i < 10'000 && !(fast.ended && slow.ended); ++i) {
      step(fast);
      step(slow);
      // The slow one's clock is set, again and again.
      if (i % 50 == 0) slow.clock.jump(i % 100 == 0 ? seconds(500) : seconds(-500));
      clock.advance(kStep);
    }
    EXPECT_TRUE(fast.ended && slow.ended);
    EXPECT_FALSE(fast.given_up || slow.given_up) << off.count();
    EXPECT_EQ(given.size(), 2000U) << "some were done in vain";
    EXPECT_EQ(fast.had + slow.had, 2000U);
    EXPECT_GT(slow.had, 100U) << "it did its part";
    const auto page = read_record<model::Page>(store->table(), kPages, page_key("job", 0)).value();
    EXPECT_EQ(page.record.revoked_size(), 0);
  }
}

TEST_F(LedgerClocks, WhoDiesIsGivenUpWhateverItsClockSays) {
  for (const Millis off : {hours(-1), hours(0), hours(1)}) {
    ASSERT_TRUE(store->table().erase(kLedgers, job.id, kAnyVersion).ok());
    ASSERT_TRUE(store->table().erase(kPages, page_key("job", 0), kAnyVersion).ok());
    given.clear();
    Machine lives(clock, Millis(0), 0, 100);
    Machine dies(clock, off, 1, 20);
    const Instant begun = clock.now();
    while (!lives.ended && clock.now() - begun < seconds(120)) {
      step(lives);
      if (clock.now() - begun < seconds(5)) step(dies);
      clock.advance(kStep);
    }
    EXPECT_TRUE(lives.ended);
    EXPECT_EQ(lives.had, 2000U) << "all that the other had is done again";
    EXPECT_LT(clock.now() - begun, seconds(60)) << off.count();
  }
}

balance::Ledger ledger_of_two() {
  balance::Ledger ledger = balance::make_ledger(100, 2, seconds(60));
  for (size_t i = 0; i < 2; ++i) {
    next_span(ledger, balance::by_speed(), i, 1, seconds(1), Millis(0));
  }
  return ledger;
}

TEST(LedgerClock, GoesOnFromWhatTheLedgerShows) {
  LedgerClock seen;
  const balance::Ledger ledger = ledger_of_two();
  const Instant start = Instant(hours(5));
  EXPECT_EQ(seen.look("j", ledger, seconds(40), start, start), seconds(40));
  EXPECT_EQ(seen.look("j", ledger, seconds(40), start, start + seconds(3)), seconds(43));
  EXPECT_EQ(seen.look("j", ledger, seconds(50), start, start + seconds(4)), seconds(50));
  EXPECT_EQ(seen.look("j", ledger, seconds(45), start, start + seconds(5)), seconds(51));
}

TEST(LedgerClock, AStoreThatWasAwayMakesNobodySilent) {
  LedgerClock seen;
  balance::Ledger ledger = ledger_of_two();
  Instant now = Instant(hours(5));
  seen.look("j", ledger, Millis(0), now, now);
  EXPECT_EQ(seen.silence("j", 1), Millis(0));
  now += seconds(5);
  seen.look("j", ledger, Millis(0), now, now);
  EXPECT_EQ(seen.silence("j", 1), seconds(5));
  // The answer takes half a minute: nobody could be heard.
  seen.look("j", ledger, Millis(0), now, now + seconds(30));
  EXPECT_EQ(seen.silence("j", 1), Millis(0));
  now += seconds(35);
  next_span(ledger, balance::by_speed(), 1, 1, seconds(1), seconds(35));
  seen.look("j", ledger, Millis(0), now, now);
  EXPECT_EQ(seen.silence("j", 0), seconds(5));
  EXPECT_EQ(seen.silence("j", 1), Millis(0));
  EXPECT_EQ(seen.silence("j", 7), Millis(0));
  EXPECT_EQ(seen.silence("k", 0), Millis(0));
}

TEST(LedgerClock, RemembersTheJobsThatWereLookedAtLast) {
  LedgerClock seen;
  const balance::Ledger ledger = ledger_of_two();
  Instant now = Instant(hours(5));
  const auto look = [&](const std::string& job) {
    now += seconds(1);
    seen.look(job, ledger, Millis(0), now, now);
  };
  look("first");
  look("second");
  for (size_t i = 0; i < LedgerClock::kJobsMax; ++i) {
    look("first");
    look("job" + std::to_string(i));
  }
  look("first");
  look("second");
  EXPECT_GT(seen.silence("first", 0), seconds(1000));
  EXPECT_EQ(seen.silence("second", 0), Millis(0));
}

}  // namespace
}  // namespace dunlin
