#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <thread>

#include "store/contract.h"
#include "store/contract_calls.h"

namespace dunlin::contract {
namespace {

Millis since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now() - start);
}

}  // namespace

// Queues: delivery and order.

TEST_P(StoreContract, APushedMessageIsPulledWithItsBody) {
  push(*store_, name_, {{"a", "hello"}});
  const std::vector<Delivery> pulled = pull(*store_, name_);
  ASSERT_EQ(pulled.size(), 1U);
  EXPECT_EQ(pulled[0].lease.id, "a");
  EXPECT_EQ(pulled[0].body, "hello");
  EXPECT_EQ(pulled[0].attempt, 1U);
}

TEST_P(StoreContract, AQueueThatWasNeverUsedIsEmpty) {
  EXPECT_TRUE(pull(*store_, name_).empty());
  EXPECT_EQ(depth(*store_, name_), Depth{});
  EXPECT_EQ(finish(*store_, name_, {{"a", 1}}), "ok");  // Already gone.
  const std::vector<Lease> unknown = {{"a", 1}};
  EXPECT_EQ(must(store_->queue().renew(name_, unknown, kLong)), unknown);
}

TEST_P(StoreContract, MessagesComeOldestFirstAndAtMostAsManyAsAsked) {
  push_ids(*store_, name_, {"d", "b"});
  push_ids(*store_, name_, {"c", "a"});
  EXPECT_EQ(ids(pull(*store_, name_, 3)), (Strings{"d", "b", "c"}));
  EXPECT_EQ(ids(pull(*store_, name_, 3)), (Strings{"a"}));
  EXPECT_EQ(ids(pull(*store_, name_, 3)), (Strings{}));
}

TEST_P(StoreContract, AMessagePushedAgainWhileQueuedIsDeliveredOnce) {
  push(*store_, name_, {{"a", "first"}, {"a", "second"}});
  push(*store_, name_, {{"a", "third"}});
  const std::vector<Delivery> pulled = pull(*store_, name_);
  ASSERT_EQ(pulled.size(), 1U);
  EXPECT_EQ(pulled[0].body, "first");
  push(*store_, name_, {{"a", "while leased"}});
  EXPECT_TRUE(pull(*store_, name_).empty());
  EXPECT_EQ(depth(*store_, name_), (Depth{.ready = 0, .leased = 1}));
}

TEST_P(StoreContract, AnIdMayBeUsedAgainOnceItIsFinished) {
  push(*store_, name_, {{"a", "first"}});
  EXPECT_EQ(finish(*store_, name_, {pull_one(*store_, name_).lease}), "ok");
  push(*store_, name_, {{"a", "second"}});
  const Delivery again = pull_one(*store_, name_);
  EXPECT_EQ(again.body, "second");
  EXPECT_EQ(again.attempt, 1U);
}

TEST_P(StoreContract, QueuesDoNotShareMessages) {
  push(*store_, name_, {{"a", "here"}});
  push(*store_, name_ + "x", {{"a", "there"}});
  EXPECT_EQ(finish(*store_, name_, {pull_one(*store_, name_).lease}), "ok");
  EXPECT_EQ(pull_one(*store_, name_ + "x").body, "there");
}

TEST_P(StoreContract, AMessageIsSeenByEveryConnectionAndHandedToOne) {
  const std::unique_ptr<Store> other = subject_->connect();
  push_ids(*store_, name_, {"a", "b"});
  EXPECT_EQ(depth(*other, name_), (Depth{.ready = 2, .leased = 0}));
  EXPECT_EQ(ids(pull(*other, name_, 1)), (Strings{"a"}));
  EXPECT_EQ(ids(pull(*store_, name_)), (Strings{"b"}));
  EXPECT_TRUE(pull(*other, name_).empty());
}

TEST_P(StoreContract, ALeaseMayBeFinishedOverAnotherConnection) {
  push_ids(*store_, name_, {"a"});
  const Lease lease = pull_one(*store_, name_).lease;
  EXPECT_EQ(finish(*subject_->connect(), name_, {lease}), "ok");
  EXPECT_EQ(depth(*store_, name_), Depth{});
}

TEST_P(StoreContract, DepthCountsReadyAndLeased) {
  push_ids(*store_, name_, {"a", "b", "c"});
  const std::vector<Delivery> pulled = pull(*store_, name_, 2, subject_->hold());
  EXPECT_EQ(depth(*store_, name_), (Depth{.ready = 1, .leased = 2}));
  EXPECT_EQ(finish(*store_, name_, {pulled.at(0).lease}), "ok");
  EXPECT_EQ(depth(*store_, name_), (Depth{.ready = 1, .leased = 1}));
  subject_->wait(subject_->hold());
  EXPECT_EQ(depth(*store_, name_), (Depth{.ready = 2, .leased = 0}));
}

// Queues: leases.

TEST_P(StoreContract, ALeasedMessageIsHiddenUntilItsLeaseEnds) {
  push_ids(*store_, name_, {"a"});
  const Delivery first = pull_one(*store_, name_, subject_->hold());
  EXPECT_TRUE(pull(*store_, name_).empty());
  subject_->wait(subject_->hold());
  const Delivery second = pull_one(*store_, name_);
  EXPECT_EQ(second.body, "body of a");
  EXPECT_NE(second.lease, first.lease);
  EXPECT_TRUE(pull(*store_, name_).empty());
}

TEST_P(StoreContract, EachDeliveryCountsOneAttempt) {
  push_ids(*store_, name_, {"a"});
  for (uint32_t attempt = 1; attempt <= 4; ++attempt) {
    const Delivery delivery = pull_one(*store_, name_);
    EXPECT_EQ(delivery.attempt, attempt);
    EXPECT_TRUE(must(store_->queue().renew(name_, {&delivery.lease, 1}, Millis(0))).empty());
  }
}

TEST_P(StoreContract, AnExpiredMessageReturnsToItsPlace) {
  push_ids(*store_, name_, {"a", "b", "c", "d"});
  const std::vector<Delivery> held = pull(*store_, name_, 3, subject_->hold());
  EXPECT_EQ(finish(*store_, name_, {held.at(1).lease}), "ok");
  subject_->wait(subject_->hold());
  EXPECT_EQ(ids(pull(*store_, name_)), (Strings{"a", "c", "d"}));
}

TEST_P(StoreContract, AGivenBackMessageIsReadyAtOnceInItsPlace) {
  push_ids(*store_, name_, {"a", "b", "c"});
  const std::vector<Lease> held = leases(pull(*store_, name_, 2));
  EXPECT_TRUE(must(store_->queue().renew(name_, held, Millis(0))).empty());
  EXPECT_EQ(depth(*store_, name_), (Depth{.ready = 3, .leased = 0}));
  EXPECT_EQ(ids(pull(*subject_->connect(), name_)), (Strings{"a", "b", "c"}));
}

TEST_P(StoreContract, ALeaseThatEndedHoldsUntilTheMessageIsHandedOn) {
  push_ids(*store_, name_, {"a", "b", "c"});
  const std::vector<Delivery> held = pull(*store_, name_, 3, subject_->hold());
  subject_->wait(subject_->hold());
  EXPECT_EQ(finish(*store_, name_, {held.at(0).lease}), "ok");
  EXPECT_TRUE(must(store_->queue().renew(name_, {&held.at(1).lease, 1}, kLong)).empty());
  EXPECT_EQ(ids(pull(*store_, name_)), (Strings{"c"}));
}

TEST_P(StoreContract, AGivenBackLeaseCanStillFinish) {
  push_ids(*store_, name_, {"a"});
  const Lease lease = pull_one(*store_, name_).lease;
  EXPECT_TRUE(must(store_->queue().renew(name_, {&lease, 1}, Millis(0))).empty());
  EXPECT_EQ(finish(*store_, name_, {lease}), "ok");
  EXPECT_TRUE(pull(*store_, name_).empty());
}

TEST_P(StoreContract, ARenewedLeaseLastsForItsNewTimeFromNow) {
  push_ids(*store_, name_, {"a"});
  const Lease lease = pull_one(*store_, name_, subject_->hold()).lease;
  EXPECT_TRUE(must(store_->queue().renew(name_, {&lease, 1}, subject_->hold() * 4)).empty());
  subject_->wait(subject_->hold());
  EXPECT_TRUE(pull(*store_, name_).empty());
  subject_->wait(subject_->hold() * 3);
  EXPECT_EQ(pull_one(*store_, name_).attempt, 2U);
}

TEST_P(StoreContract, ALeaseMayBeRenewedToEndSooner) {
  push_ids(*store_, name_, {"a"});
  const Lease lease = pull_one(*store_, name_, kLong).lease;
  EXPECT_TRUE(must(store_->queue().renew(name_, {&lease, 1}, subject_->hold())).empty());
  EXPECT_TRUE(pull(*store_, name_).empty());
  subject_->wait(subject_->hold());
  EXPECT_EQ(pull_one(*store_, name_).attempt, 2U);
}

TEST_P(StoreContract, AStaleLeaseFinishesNothing) {
  push_ids(*store_, name_, {"a", "b"});
  const std::vector<Delivery> held = pull(*store_, name_, 2);
  EXPECT_TRUE(must(store_->queue().renew(name_, {&held.at(0).lease, 1}, Millis(0))).empty());
  const Lease current = pull_one(*subject_->connect(), name_).lease;
  EXPECT_EQ(finish(*store_, name_, {held.at(1).lease, held.at(0).lease}), "conflict");
  EXPECT_EQ(depth(*store_, name_), (Depth{.ready = 0, .leased = 2}));
  EXPECT_EQ(finish(*store_, name_, {held.at(1).lease, current}), "ok");
  EXPECT_EQ(depth(*store_, name_), Depth{});
}

TEST_P(StoreContract, RenewReturnsTheLeasesThatAreLost) {
  push_ids(*store_, name_, {"stale", "finished", "held"});
  const std::vector<Lease> old = leases(pull(*store_, name_, 3));
  EXPECT_EQ(finish(*store_, name_, {old.at(1)}), "ok");
  EXPECT_TRUE(must(store_->queue().renew(name_, {old.data(), 1}, Millis(0))).empty());
  const Lease current = pull_one(*store_, name_).lease;
  EXPECT_EQ(must(store_->queue().renew(name_, old, kLong)), (std::vector{old.at(0), old.at(1)}));
  EXPECT_EQ(must(store_->queue().renew(name_, old, Millis(0))),
            (std::vector{old.at(0), old.at(1)}));
  EXPECT_EQ(finish(*store_, name_, {current}), "ok");  // A lost lease did not give it back.
  EXPECT_EQ(ids(pull(*store_, name_)), (Strings{"held"}));
}

TEST_P(StoreContract, ALeaseOfAnEarlierMessageOfTheSameIdIsStale) {
  push_ids(*store_, name_, {"a"});
  const Lease old = pull_one(*store_, name_).lease;
  EXPECT_EQ(finish(*store_, name_, {old}), "ok");
  push_ids(*store_, name_, {"a"});
  EXPECT_EQ(finish(*store_, name_, {old}), "conflict");
  EXPECT_EQ(must(store_->queue().renew(name_, {&old, 1}, kLong)), std::vector{old});
  EXPECT_EQ(ids(pull(*store_, name_)), (Strings{"a"}));
}

TEST_P(StoreContract, AMadeUpLeaseIsStale) {
  push_ids(*store_, name_, {"a"});
  const Lease made_up = {.id = "a", .token = 0};
  EXPECT_EQ(finish(*store_, name_, {made_up}), "conflict");
  EXPECT_EQ(must(store_->queue().renew(name_, {&made_up, 1}, kLong)), std::vector{made_up});
  EXPECT_EQ(ids(pull(*store_, name_)), (Strings{"a"}));
}

// Queues: waiting, and many threads.

TEST_P(StoreContract, APullThatFindsMessagesDoesNotWait) {
  push_ids(*store_, name_, {"a"});
  EXPECT_EQ(ids(must(store_->queue().pull(name_, 10, kLong, kWaitMax))), (Strings{"a"}));
}

TEST_P(WaitingContract, AWaitingPullIsAnsweredByAPush) {
  const std::unique_ptr<Store> other = subject_->connect();
  const auto start = std::chrono::steady_clock::now();
  std::vector<Delivery> pulled;
  std::thread waiter([&] { pulled = must(other->queue().pull(name_, 10, kLong, Millis(60'000))); });
  subject_->wait(Millis(100));  // Most likely it waits by now; the test holds either way.
  push_ids(*store_, name_, {"a"});
  waiter.join();
  EXPECT_EQ(ids(pulled), (Strings{"a"}));
  EXPECT_LT(since(start), Millis(30'000));
}

TEST_P(WaitingContract, AWaitingPullReturnsNoneAfterItsWait) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(must(store_->queue().pull(name_, 10, kLong, Millis(300))).empty());
  EXPECT_GE(since(start), Millis(290));  // Clocks round.
  EXPECT_LT(since(start), Millis(30'000));
}

TEST_P(WaitingContract, ALeaseThatEndsAnswersAWaitingPull) {
  push_ids(*store_, name_, {"a"});
  pull_one(*subject_->connect(), name_, subject_->hold());
  const auto start = std::chrono::steady_clock::now();
  const auto pulled =
      must(store_->queue().pull(name_, 10, kLong, subject_->hold() + Millis(60'000)));
  EXPECT_EQ(ids(pulled), (Strings{"a"}));
  EXPECT_LT(since(start), subject_->hold() + Millis(30'000));
}

TEST_P(WaitingContract, AGivenBackMessageAnswersAWaitingPull) {
  push_ids(*store_, name_, {"a"});
  const Lease lease = pull_one(*store_, name_).lease;
  const std::unique_ptr<Store> other = subject_->connect();
  std::vector<Delivery> pulled;
  std::thread waiter([&] { pulled = must(other->queue().pull(name_, 10, kLong, Millis(60'000))); });
  subject_->wait(Millis(100));
  EXPECT_TRUE(must(store_->queue().renew(name_, {&lease, 1}, Millis(0))).empty());
  waiter.join();
  EXPECT_EQ(ids(pulled), (Strings{"a"}));
}

TEST_P(StoreContract, ManyHoldersShareOutAQueueWithoutOverlap) {
  constexpr size_t kMessages = 300;
  push(*store_, name_, messages(kMessages));
  std::vector<std::unique_ptr<Store>> holders(6);
  for (auto& holder : holders) holder = subject_->connect();
  std::vector<Strings> taken(holders.size());
  const auto work = [&](size_t holder) {  // Returns false at the end of the queue.
    const std::vector<Delivery> pulled = pull(*holders[holder], name_, 7);
    std::ranges::move(ids(pulled), std::back_inserter(taken[holder]));
    EXPECT_EQ(finish(*holders[holder], name_, leases(pulled)), "ok");
    return !pulled.empty();
  };
  if (subject_->waits()) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < holders.size(); ++i) {
      threads.emplace_back([&work, i] {
        while (work(i)) {
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  } else {
    for (size_t i = 0; work(i % holders.size()); ++i) {
    }
  }
  Strings all;
  for (Strings& some : taken) std::ranges::move(some, std::back_inserter(all));
  EXPECT_EQ(all.size(), kMessages);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), kMessages);
  EXPECT_EQ(depth(*store_, name_), Depth{});
}

// Queues: sizes.

TEST_P(StoreContract, BodiesMayHoldAnyBytesOrNone) {
  push(*store_, name_, {{"all", all_bytes()}, {"none", ""}});
  const std::vector<Delivery> pulled = pull(*store_, name_);
  EXPECT_EQ(pulled.at(0).body, all_bytes());
  EXPECT_EQ(pulled.at(1).body, "");
}

TEST_P(StoreContract, LargeBatchesOfMessagesKeepTheirOrder) {
  for (const size_t count : {size_t{1'000}, kBatchMax}) {
    const std::string queue = fmt::format("{}-{}", name_, count);
    push(*store_, queue, messages(count));
    const std::vector<Delivery> pulled = pull(*store_, queue, count);
    ASSERT_EQ(pulled.size(), count);
    EXPECT_TRUE(std::ranges::is_sorted(ids(pulled)));
    EXPECT_TRUE(must(store_->queue().renew(queue, leases(pulled), kLong)).empty());
    EXPECT_EQ(finish(*store_, queue, leases(pulled)), "ok");
    EXPECT_EQ(depth(*store_, queue), Depth{});
  }
}

TEST_P(StoreContract, APullGivesNoMoreBytesThanFitIntoAnAnswer) {
  for (const Message& message : messages(40, kValueMax)) push(*store_, name_, {message});
  Strings all;
  for (int pulls = 0; pulls < 40 && all.size() < 40; ++pulls) {
    const std::vector<Delivery> pulled = pull(*store_, name_);
    EXPECT_GE(pulled.size(), 1U);
    EXPECT_LE(pulled.size() * kValueMax, kBatchBytesMax);
    std::ranges::move(ids(pulled), std::back_inserter(all));
  }
  EXPECT_EQ(all.size(), 40U);
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

TEST_P(StoreContract, MessagesHaveLimits) {
  const std::string longest = name_ + std::string(kNameMax - name_.size(), 'x');
  const Message largest = {std::string(kIdMax, '~'), std::string(kValueMax, 'b')};
  push(*store_, longest, {largest});
  const Delivery pulled = pull_one(*store_, longest);
  EXPECT_EQ(pulled.lease.id, largest.id);
  EXPECT_EQ(pulled.body, largest.body);
  EXPECT_EQ(finish(*store_, longest, {pulled.lease}), "ok");

  const auto refused = [&](const std::vector<Message>& sent) {
    EXPECT_EQ(outcome(store_->queue().push(name_, sent)), "invalid");
  };
  refused({{"a", ""}, {std::string(kIdMax + 1, 'x'), ""}});
  refused({{"a", ""}, {"b", std::string(kValueMax + 1, 'b')}});
  refused(messages(kBatchMax + 1, 0));
  refused(messages(kBatchBytesMax / kValueMax, kValueMax));
  for (const std::string& id : odd_keys()) refused({{"a", ""}, {id, ""}});
  EXPECT_EQ(depth(*store_, name_), Depth{});  // Refused whole.
}

TEST_P(StoreContract, CallsOnQueuesHaveLimits) {
  push_ids(*store_, name_, {"a"});
  Queue& queue = store_->queue();
  EXPECT_EQ(outcome(queue.pull(name_, 0, kLong, kNoWait)), "invalid");
  EXPECT_EQ(outcome(queue.pull(name_, kBatchMax + 1, kLong, kNoWait)), "invalid");
  EXPECT_EQ(outcome(queue.pull(name_, 1, Millis(0), kNoWait)), "invalid");
  EXPECT_EQ(outcome(queue.pull(name_, 1, kHoldMax + Millis(1), kNoWait)), "invalid");
  EXPECT_EQ(outcome(queue.pull(name_, 1, kLong, Millis(-1))), "invalid");
  EXPECT_EQ(outcome(queue.pull(name_, 1, kLong, kWaitMax + Millis(1))), "invalid");
  const Lease lease = pull_one(*store_, name_).lease;
  EXPECT_EQ(lease.id, "a");
  EXPECT_EQ(outcome(queue.renew(name_, {&lease, 1}, Millis(-1))), "invalid");
  EXPECT_EQ(outcome(queue.renew(name_, {&lease, 1}, kHoldMax + Millis(1))), "invalid");
  EXPECT_EQ(outcome(queue.push(name_, {})), "ok");
  EXPECT_EQ(outcome(queue.renew(name_, {}, kLong)), "ok");
  EXPECT_EQ(outcome(queue.finish(name_, {})), "ok");
}

TEST_P(StoreContract, OddQueueNamesAreRefused) {
  const Message message = {"a", ""};
  const Lease lease = {"a", 1};
  for (const std::string& name : odd_names()) {
    EXPECT_EQ(outcome(store_->queue().push(name, {&message, 1})), "invalid");
    EXPECT_EQ(outcome(store_->queue().pull(name, 1, kLong, kNoWait)), "invalid");
    EXPECT_EQ(outcome(store_->queue().renew(name, {&lease, 1}, kLong)), "invalid");
    EXPECT_EQ(outcome(store_->queue().finish(name, {&lease, 1})), "invalid");
    EXPECT_EQ(outcome(store_->queue().depth(name)), "invalid");
  }
}

}  // namespace dunlin::contract
