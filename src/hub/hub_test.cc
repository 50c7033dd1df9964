#include "hub/hub.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/failing_core.h"

namespace dunlin::hub {
namespace {

constexpr Millis kHold = Millis(10'000);
constexpr Millis kWait = Millis(1'000);
const Scopes kAll = Scope::admin;

// A core that does as it is told: a commit that fails is undone.
class ScriptedCore final : public Core {
 public:
  Answer handle(Request&& request, Instant now) override {
    ++handled;
    if (refusing && std::holds_alternative<Pull>(request)) return *refusing;
    if (silent && std::holds_alternative<AskDepth>(request)) return *silent;
    return below_.handle(std::move(request), now);
  }
  Result<void> commit(Instant now) override {
    ++commits;
    if (!failing) return below_.commit(now);
    below_.undo();
    return Error(*failing);
  }
  std::vector<std::string> expire(Instant now) override { return below_.expire(now); }
  std::optional<Instant> next_expiry() const override { return below_.next_expiry(); }

  std::optional<Error> failing;
  std::optional<Error> refusing;  // Of pulls.
  std::optional<Error> silent;    // About depths.
  int commits = 0;
  int handled = 0;

 private:
  UndoableCore below_;
};

class HubTest : public testing::Test {
 protected:
  HubTest() {
    for (SessionId session = 1; session <= 9; ++session) hub.opened(session, kAll);
  }

  void ask(SessionId session, uint64_t id, Request request) {
    hub.request(session, id, std::move(request), now);
  }
  void push(SessionId session, std::string queue, int count) {
    std::vector<Message> messages;
    messages.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) messages.push_back({std::to_string(++last_message), "body"});
    ask(session, kPushId, Commit{++last_nonce, {Push{std::move(queue), std::move(messages)}}});
  }
  void pull(SessionId session, uint64_t id, std::string queue, uint64_t max = 100,
            Millis wait = kWait) {
    ask(session, id, Pull{std::move(queue), max, kHold, wait});
  }

  // The answers of a turn but those of push(), by request number.
  std::map<uint64_t, Answer> turn() {
    std::map<uint64_t, Answer> answers;
    order.clear();
    for (Reply& reply : hub.turn(now)) {
      if (reply.id == kPushId) continue;
      order.push_back(reply.id);
      answers[reply.id] = std::move(reply.answer);
    }
    return answers;
  }

  static std::vector<Delivery> taken(const Answer& answer) {
    return std::get<Deliveries>(answer).deliveries;
  }
  static Code code(const Answer& answer) { return std::get<Error>(answer).code; }

  static constexpr uint64_t kPushId = 1'000'000;
  ScriptedCore core;
  HubMind hub{core};
  Instant now = Instant(Millis(1'000'000));
  std::vector<uint64_t> order;
  int last_message = 0;
  uint64_t last_nonce = 0;
};

TEST_F(HubTest, APullThatFindsMessagesIsAnsweredInTheSameTurn) {
  push(1, "q", 3);
  pull(2, 1, "q", 2);
  const auto answers = turn();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(taken(answers.at(1)).size(), 2U);
  EXPECT_EQ(core.commits, 1);
}

TEST_F(HubTest, NothingIsAnsweredBeforeTheTurn) {
  ask(1, 1, AskDepth{"q"});
  EXPECT_EQ(core.commits, 0);
  EXPECT_EQ(std::get<Depth>(turn().at(1)), Depth{});
  EXPECT_EQ(core.commits, 1);
  EXPECT_TRUE(turn().empty());
}

TEST_F(HubTest, AWaitingPullIsWokenByAPush) {
  pull(1, 1, "q");
  EXPECT_TRUE(turn().empty());
  now += Millis(10);
  push(2, "other", 1);
  EXPECT_TRUE(turn().empty());
  push(2, "q", 1);
  EXPECT_EQ(taken(turn().at(1)).size(), 1U);
  EXPECT_EQ(hub.waiting(), 0U);
}

TEST_F(HubTest, AWaitingPullIsWokenByAMessageGivenBack) {
  push(1, "q", 1);
  pull(1, 1, "q");
  const Lease lease = taken(turn().at(1)).front().lease;
  pull(2, 2, "q");
  EXPECT_TRUE(turn().empty());
  ask(1, 3, Renew{"q", {lease}, Millis(0)});
  const auto answers = turn();
  ASSERT_EQ(taken(answers.at(2)).size(), 1U);
  EXPECT_EQ(taken(answers.at(2)).front().attempt, 2U);
}

TEST_F(HubTest, AWaitingPullIsWokenByALeaseThatEnds) {
  push(1, "q", 1);
  ask(1, 1, Pull{"q", 1, Millis(500), Millis(0)});
  EXPECT_EQ(taken(turn().at(1)).size(), 1U);
  pull(2, 2, "q");
  EXPECT_TRUE(turn().empty());
  ASSERT_TRUE(hub.next_wake());
  EXPECT_EQ(*hub.next_wake(), now + Millis(500));
  now = *hub.next_wake();
  EXPECT_EQ(taken(turn().at(2)).size(), 1U);
}

TEST_F(HubTest, AWaitingPullIsWokenByALeaseWhoseEndAnotherRequestFound) {
  push(1, "q", 1);
  ask(1, 1, Pull{"q", 1, Millis(500), Millis(0)});
  EXPECT_EQ(taken(turn().at(1)).size(), 1U);
  pull(2, 2, "q");
  EXPECT_TRUE(turn().empty());
  now += Millis(501);
  ask(3, 3, AskDepth{"q"});
  EXPECT_EQ(taken(turn().at(2)).size(), 1U);
}

TEST_F(HubTest, PullsWaitOnWhileTheCoreCannotHandOutAndAreServedWhenItCan) {
  pull(1, 1, "q");
  pull(2, 2, "q");
  EXPECT_TRUE(turn().empty());
  push(3, "q", 1);
  core.refusing = Error{Code::full, "no space left"};
  const auto answers = turn();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(code(answers.at(1)), Code::full);
  ASSERT_TRUE(hub.next_wake());
  EXPECT_LE(*hub.next_wake(), now + Millis(100));
  core.refusing.reset();
  now = *hub.next_wake();
  EXPECT_EQ(taken(turn().at(2)).size(), 1U);
}

TEST_F(HubTest, PullsWaitOnWhileTheCoreCannotSayWhatIsReady) {
  pull(1, 1, "q");
  EXPECT_TRUE(turn().empty());
  push(2, "q", 1);
  core.silent = Error{Code::unavailable, "the disk hesitates"};
  EXPECT_TRUE(turn().empty());
  EXPECT_TRUE(turn().empty());
  ASSERT_TRUE(hub.next_wake());
  EXPECT_LE(*hub.next_wake(), now + Millis(100));
  core.silent.reset();
  now = *hub.next_wake();
  EXPECT_EQ(taken(turn().at(1)).size(), 1U);
}

TEST_F(HubTest, APullThatWaitedLongEnoughGetsNothing) {
  pull(1, 1, "q", 1, Millis(300));
  pull(2, 2, "q", 1, Millis(200));
  EXPECT_TRUE(turn().empty());
  EXPECT_EQ(*hub.next_wake(), now + Millis(200));
  now += Millis(199);
  EXPECT_TRUE(turn().empty());
  now += Millis(1);
  auto answers = turn();
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_TRUE(taken(answers.at(2)).empty());
  now += Millis(100);
  EXPECT_TRUE(taken(turn().at(1)).empty());
  EXPECT_FALSE(hub.next_wake());
}

TEST_F(HubTest, AMessageThatComesAtTheDeadlineIsDelivered) {
  pull(1, 1, "q", 1, Millis(300));
  turn();
  now += Millis(300);
  push(2, "q", 1);
  EXPECT_EQ(taken(turn().at(1)).size(), 1U);
}

TEST_F(HubTest, WaitersAreServedInTheOrderInWhichTheyCame) {
  for (uint64_t i = 1; i <= 5; ++i) pull(6 - i, i, "q");
  turn();
  push(9, "q", 3);
  const auto answers = turn();
  EXPECT_EQ(order, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(taken(answers.at(1)).front().lease.id, "1");
  EXPECT_EQ(taken(answers.at(3)).front().lease.id, "3");
  EXPECT_EQ(hub.waiting(), 2U);
}

TEST_F(HubTest, WaitersShareWhatIsReady) {
  pull(1, 1, "q", 100);
  pull(2, 2, "q", 2);
  pull(3, 3, "q", 100);
  turn();
  push(9, "q", 10);
  const auto answers = turn();
  EXPECT_EQ(taken(answers.at(1)).size(), 4U);  // A third of 10, rounded up.
  EXPECT_EQ(taken(answers.at(2)).size(), 2U);  // As many as it wants of half of 6.
  EXPECT_EQ(taken(answers.at(3)).size(), 4U);  // The rest.
}

TEST_F(HubTest, APushOfManyPartsServesItsQueueOnce) {
  pull(1, 1, "q", 10);
  pull(2, 2, "q", 10);
  turn();
  push(3, "q", 5);
  push(4, "q", 5);
  const auto answers = turn();
  EXPECT_EQ(taken(answers.at(1)).size(), 5U);
  EXPECT_EQ(taken(answers.at(2)).size(), 5U);
}

TEST_F(HubTest, ARenewalOfNothingEndsThePullsOfItsSessionThatWaitThere) {
  pull(1, 1, "q");
  pull(1, 2, "other");
  pull(2, 3, "q");
  EXPECT_TRUE(turn().empty());
  ask(1, 4, Renew{"q", {}, kHold});
  const auto answers = turn();
  EXPECT_TRUE(taken(answers.at(1)).empty());
  EXPECT_TRUE(std::get<Lost>(answers.at(4)).leases.empty());
  EXPECT_EQ(hub.waiting(), 2U);
  push(3, "q", 1);
  EXPECT_EQ(taken(turn().at(3)).size(), 1U);
}

TEST_F(HubTest, NobodyOvertakesAWaiter) {
  pull(1, 1, "q", 1);
  turn();
  push(2, "q", 1);
  pull(3, 2, "q", 1, Millis(0));
  pull(4, 3, "q", 1);
  const auto answers = turn();
  EXPECT_EQ(taken(answers.at(1)).size(), 1U);
  EXPECT_TRUE(taken(answers.at(2)).empty());
  EXPECT_FALSE(answers.contains(3));
}

TEST_F(HubTest, AClosedSessionTakesNoMessages) {
  pull(1, 1, "q");
  pull(2, 2, "q");
  turn();
  hub.closed(1);
  push(3, "q", 1);
  const auto answers = turn();
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_EQ(taken(answers.at(2)).size(), 1U);
  EXPECT_EQ(hub.waiting(), 0U);
}

TEST_F(HubTest, ASessionThatClosesBeforeTheTurnIsNotAnsweredButWhatItWroteStays) {
  push(1, "q", 1);
  hub.closed(1);
  EXPECT_TRUE(hub.turn(now).empty());
  ask(2, 1, AskDepth{"q"});
  EXPECT_EQ(std::get<Depth>(turn().at(1)).ready, 1U);
}

TEST_F(HubTest, IdleWaitersCostNothing) {
  for (SessionId session = 100; session < 5'100; ++session) {
    hub.opened(session, kAll);
    pull(session, session, "q" + std::to_string(session));
    pull(session, session + 10'000, "shared");
  }
  turn();
  core.handled = 0;
  push(1, "shared", 1);
  push(1, "q100", 1);
  const auto answers = turn();
  EXPECT_EQ(answers.size(), 2U);
  EXPECT_EQ(core.handled, 6);  // Two pushes; for each queue its depth and one pull.
}

TEST_F(HubTest, ATurnWhoseCommitFailsAnswersOnlyThatError) {
  push(1, "q", 2);
  turn();
  core.failing = Error{Code::full, "no space left"};
  ask(1, 1, AskDepth{"q"});
  ask(1, 2, Commit{77, {Put{"t", "k", "v", 0}}});
  pull(2, 3, "q", 1);
  pull(2, 4, "empty");
  const auto answers = turn();
  EXPECT_EQ(answers.size(), 3U);
  for (uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(code(answers.at(id)), Code::full);
  EXPECT_EQ(hub.waiting(), 1U);

  core.failing.reset();
  push(1, "empty", 1);
  EXPECT_EQ(taken(turn().at(4)).size(), 1U);
}

TEST_F(HubTest, WhatAFailedCommitGaveBackGoesToWhoeverWaits) {
  push(1, "q", 1);
  turn();
  pull(1, 1, "q");
  pull(2, 2, "q");
  core.failing = Error{Code::full, "no space left"};
  const auto failed = turn();
  EXPECT_EQ(failed.size(), 1U);
  EXPECT_EQ(code(failed.at(1)), Code::full);

  core.failing.reset();
  ASSERT_TRUE(hub.next_wake());
  EXPECT_GT(*hub.next_wake(), now) << "it would spin while commits fail";
  now = *hub.next_wake();
  EXPECT_EQ(taken(turn().at(2)).size(), 1U);
}

TEST_F(HubTest, AWaiterWhoseMessageCouldNotBeCommittedIsToldSo) {
  pull(1, 1, "q");
  pull(2, 2, "q");
  turn();
  push(3, "q", 1);
  core.failing = Error{Code::unavailable, "the disk hesitates"};
  const auto answers = turn();
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_EQ(code(answers.at(1)), Code::unavailable);
  EXPECT_EQ(hub.waiting(), 1U);
  ask(3, 3, AskDepth{"q"});
  core.failing.reset();
  EXPECT_EQ(std::get<Depth>(turn().at(3)), Depth{});
}

TEST_F(HubTest, ARequestThatIsNotValidFailsAlone) {
  ask(1, 1, Pull{"no such name!", 1, kHold, Millis(0)});
  ask(1, 2, AskDepth{"q"});
  const auto answers = turn();
  EXPECT_EQ(code(answers.at(1)), Code::invalid);
  EXPECT_EQ(std::get<Depth>(answers.at(2)), Depth{});
}

TEST_F(HubTest, ARequestBeyondTheScopesIsDeniedAndNotHandled) {
  hub.opened(50, Scope::submit);
  push(50, "q", 1);
  turn();
  core.handled = 0;
  pull(50, 1, "q");
  ask(50, 2, BlobErase{"b"});
  const auto answers = turn();
  EXPECT_EQ(code(answers.at(1)), Code::denied);
  EXPECT_EQ(code(answers.at(2)), Code::denied);
  EXPECT_EQ(core.handled, 0);
}

TEST_F(HubTest, ASessionHasOnlySoManyPullsThatWait) {
  for (uint64_t i = 1; i <= 65; ++i) pull(1, i, "q" + std::to_string(i));
  pull(1, 66, "q1", 1, Millis(0));
  pull(2, 67, "q1");
  const auto answers = turn();
  EXPECT_EQ(answers.size(), 2U);
  EXPECT_EQ(code(answers.at(65)), Code::full);
  EXPECT_TRUE(taken(answers.at(66)).empty());
  EXPECT_EQ(hub.waiting(), 65U);
}

TEST_F(HubTest, ASessionHasOnlySoManyRequestsWithoutAnswer) {
  pull(1, 1, "q");
  for (uint64_t i = 2; i <= 1024; ++i) {
    EXPECT_FALSE(hub.busy(1));
    ask(1, i, AskDepth{"q"});
  }
  EXPECT_TRUE(hub.busy(1));
  EXPECT_FALSE(hub.busy(2));
  ask(1, 1025, AskDepth{"q"});
  const auto answers = turn();
  EXPECT_EQ(code(answers.at(1025)), Code::full);
  EXPECT_EQ(std::get<Depth>(answers.at(1024)), Depth{});
  EXPECT_FALSE(hub.busy(1));
}

TEST_F(HubTest, ASessionWhoseAnswersAreLargeIsBusy) {
  ask(1, 1, Commit{1, {Put{"t", "k", std::string(kValueMax, 'x'), 0}}});
  turn();
  uint64_t id = 1;
  while (!hub.busy(1)) ask(1, ++id, Get{"t", {"k"}});
  EXPECT_EQ(id, 1 + (8U << 20U) / kValueMax);
  EXPECT_FALSE(hub.busy(2));
  turn();
  EXPECT_FALSE(hub.busy(1));
}

TEST_F(HubTest, DrainingEndsAllWaitsAndServesTheRest) {
  pull(1, 1, "q");
  turn();
  hub.drain();
  EXPECT_LE(*hub.next_wake(), now);
  push(2, "other", 1);
  pull(3, 2, "q");
  pull(3, 3, "other");
  const auto answers = turn();
  EXPECT_TRUE(taken(answers.at(1)).empty());
  EXPECT_TRUE(taken(answers.at(2)).empty());
  EXPECT_EQ(taken(answers.at(3)).size(), 1U);
  pull(3, 4, "q");
  EXPECT_TRUE(taken(turn().at(4)).empty());
}

}  // namespace
}  // namespace dunlin::hub
