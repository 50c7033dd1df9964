#include "worker/mind/held_ranges.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "model/keys.h"

namespace dunlin::worker {
namespace {

class HeldRangesTest : public testing::Test, private RoutesOwner {
 protected:
  Held& hold(uint64_t first, uint64_t last, const std::string& message = "m") {
    const Delivery delivery{{message, ++token}, "", attempt};
    Held& held = ranges.add("work.q", delivery, until());
    held.range.set_job("job");
    held.range.set_first(first);
    held.range.set_last(last);
    ranges.assign(held, jobs.open("job", 0), last);
    return held;
  }
  Held& hold_ready(uint64_t first, uint64_t last, const std::string& message = "m") {
    Held& held = hold(first, last, message);
    ranges.make_ready(held);
    return held;
  }
  Instant until() const { return asks.now().at + kHold; }
  void pass(Millis time) {
    asks.set_now({asks.now().at + time, 0});
    asks.tick();
  }
  Ask only() {
    std::vector<Ask> all = asks.take();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Ask() : all[0];
  }

  static constexpr Millis kHold = std::chrono::seconds(30);
  uint64_t token = 0;
  uint32_t attempt = 1;
  Room room = Room(4, 0, 0);
  Jobs jobs;
  Asks asks = Asks(3);
  Tasks tasks;
  Routes routes = Routes({}, asks, *this);
  HeldRanges ranges = HeldRanges(kHold, asks, jobs, tasks, routes);

 private:
  Offer offer() const override { return {}; }
  bool is_busy() const override { return false; }
  bool holds_any() const override { return false; }
  void idle_too_long() override {}
  bool pulled(const std::string& /*queue*/, std::vector<Delivery>&& /*deliveries*/,
              Instant /*valid_until*/) override {
    return false;
  }
};

TEST_F(HeldRangesTest, TasksOfARangeThatRestsAreNotCounted) {
  Held& held = hold(0, 10);
  EXPECT_EQ(ranges.unstarted(), 0U);
  ranges.make_ready(held);
  EXPECT_EQ(ranges.unstarted(), 10U);
  ranges.check();
}

TEST_F(HeldRangesTest, ATaskIsPendingFromItsStartUntilItIsSettled) {
  Held& held = hold_ready(0, 3);
  ranges.take_next(held);
  ranges.skip_next(held);
  EXPECT_EQ(ranges.unstarted(), 1U);
  EXPECT_EQ(held.pending(), 1U);
  EXPECT_EQ(held.settled, 1U);
  EXPECT_FALSE(held.is_done(0));
  ranges.take_next(held);
  EXPECT_TRUE(held.is_done(2));
  held.bits.insert(0);
  EXPECT_FALSE(held.is_done(2)) << "a page of it must be in the tree first";
}

TEST_F(HeldRangesTest, ASplitPushesTheTailAndKeepsTheRestInOneCommit) {
  Held& held = hold_ready(0, 10);
  ranges.shorten(held, 4);
  EXPECT_EQ(held.phase(), Phase::splitting);
  EXPECT_EQ(ranges.unstarted(), 4U);
  const Ask ask = only();
  const auto& commit = std::get<Commit>(ask.request);
  ASSERT_EQ(commit.writes.size(), 2U);
  model::Range tail;
  ASSERT_TRUE(tail.ParseFromString(std::get<Push>(commit.writes[0]).messages.at(0).body));
  EXPECT_EQ(tail.first(), 4U);
  EXPECT_EQ(tail.last(), 10U);
  EXPECT_EQ(std::get<Keep>(commit.writes[1]).step, 0U);
  asks.answered(ask.id, Committed{1});
  EXPECT_EQ(held.phase(), Phase::ready);
  EXPECT_EQ(ranges.keep(held, 4).step, 1U);
}

TEST_F(HeldRangesTest, ARangeWhoseSplitConflictsIsForgotten) {
  Held& held = hold_ready(0, 10);
  ranges.shorten(held, 4);
  asks.answered(only().id, Error{Code::conflict, "another has it"});
  EXPECT_TRUE(ranges.empty());
  EXPECT_EQ(ranges.unstarted(), 0U);
  EXPECT_EQ(ranges.leases(), 0U);
}

TEST_F(HeldRangesTest, LargeRangesAreCutWhereAPageEnds) {
  Held& held = hold_ready(0, 10 * kPageTasks);
  ranges.shorten(held, 3 * kPageTasks + 7);
  EXPECT_EQ(held.last(), 3 * kPageTasks);
}

TEST_F(HeldRangesTest, ARangeIsInDoubtWhenItsLeaseMayHaveEnded) {
  Held& held = hold_ready(0, 2);
  EXPECT_FALSE(ranges.in_doubt(held));
  pass(kHold);
  EXPECT_TRUE(ranges.in_doubt(held));
  EXPECT_TRUE(ranges.in_doubt(held)) << "it asks once";
  asks.answered(only().id, Lost{});
  EXPECT_FALSE(ranges.in_doubt(held));
}

TEST_F(HeldRangesTest, ALostLeaseStopsItsTasks) {
  Held& held = hold_ready(0, 2);
  ranges.take_next(held);
  tasks.start({.held = held.id, .task = 0, .room = room.take({}, false), .since = {}}, {});
  pass(kHold);
  EXPECT_TRUE(ranges.in_doubt(held));
  asks.answered(only().id, Lost{{held.lease}});
  EXPECT_TRUE(ranges.empty());
  EXPECT_TRUE(tasks.empty());
  EXPECT_EQ(room.cpus_used(), 0U);
}

TEST_F(HeldRangesTest, ARangeThatIsBeingFinishedIsNotForgottenForALostLease) {
  Held& held = hold_ready(0, 1);
  ranges.take_next(held);
  ranges.finishing(held);
  pass(kHold);
  EXPECT_TRUE(ranges.in_doubt(held));
  asks.answered(only().id, Lost{{held.lease}});
  EXPECT_EQ(ranges.size(), 1U) << "the answer to the commit will tell";
  ranges.not_committed(held);
  EXPECT_EQ(held.phase(), Phase::ready);
}

TEST_F(HeldRangesTest, AMessageThatComesAgainReplacesTheRangeThatWeHad) {
  hold_ready(0, 2);
  attempt = 2;
  hold_ready(0, 2);
  EXPECT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges.unstarted(), 2U);
  ranges.check();
}

TEST_F(HeldRangesTest, TheEndOfAJobLeavesNothingOfItsRangesToDo) {
  Held& held = hold_ready(0, 5);
  JobView& job = *held.job;
  PendingOutcome pending;
  pending.held = held.id;
  job.pages[0].outcomes.push_back(std::move(pending));
  ranges.end(job);
  EXPECT_TRUE(held.is_over());
  EXPECT_EQ(ranges.unstarted(), 0U);
  EXPECT_TRUE(job.pages[0].outcomes.empty());
  EXPECT_EQ(ranges.take_to_look_at(), std::set<uint64_t>{held.id});
}

TEST_F(HeldRangesTest, ARangeOfAnEarlierRoundIsOver) {
  Held& held = hold_ready(0, 5);
  ranges.open_again(*held.job, 1);
  EXPECT_TRUE(held.is_over());
  EXPECT_EQ(ranges.unstarted(), 0U);
}

TEST_F(HeldRangesTest, AViewGoesWithItsLastRange) {
  Held& held = hold_ready(0, 5);
  jobs.sweep();
  EXPECT_NE(jobs.find("job"), nullptr);
  ranges.forget(held.id);
  jobs.sweep();
  EXPECT_EQ(jobs.find("job"), nullptr);
}

TEST_F(HeldRangesTest, WhatWaitsForADamagedPageIsStuckForAWhile) {
  Held& held = hold_ready(0, 5);
  held.job->ready = true;
  held.job->pages[0].bad = true;
  ranges.see_damage();
  EXPECT_EQ(ranges.stuck_tasks(), 5U);
  pass(std::chrono::minutes(1));
  EXPECT_EQ(ranges.stuck_tasks(), 0U);
}

}  // namespace
}  // namespace dunlin::worker
