// The contract of Queue: delivery, order and leases, and pulls that wait.
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

// As they came, or sorted if the subject promises no order.
Strings in_order(const StoreSubject& subject, Strings ids) {
  if (!subject.ordered()) std::ranges::sort(ids);
  return ids;
}

}  // namespace

// Queues: delivery and order.

TEST_P(StoreContract, APushedMessageIsPulledWithItsBody) {
  push(*store, name, {{"a", "hello"}});
  const std::vector<Delivery> pulled = pull(*store, name);
  ASSERT_EQ(pulled.size(), 1U);
  EXPECT_EQ(pulled[0].lease.id, "a");
  EXPECT_EQ(pulled[0].body, "hello");
  EXPECT_EQ(pulled[0].attempt, 1U);
}

TEST_P(StoreContract, AQueueThatWasNeverUsedIsEmpty) {
  EXPECT_TRUE(pull(*store, name).empty());
  EXPECT_EQ(depth(*store, name), Depth{});
  EXPECT_EQ(finish(*store, name, {{"a", 1}}), "ok");  // Already gone.
  const std::vector<Lease> unknown = {{"a", 1}};
  EXPECT_EQ(must(store->queue().renew(name, unknown, kLong)), unknown);
}

TEST_P(StoreContract, MessagesComeOldestFirstAndAtMostAsManyAsAsked) {
  push_ids(*store, name, {"d", "b"});
  push_ids(*store, name, {"c", "a"});
  const Strings first = ids(pull(*store, name, 3));
  const Strings second = ids(pull(*store, name, 3));
  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(second.size(), 1U);
  Strings all = first;
  all.insert(all.end(), second.begin(), second.end());
  EXPECT_EQ(in_order(*subject, all), in_order(*subject, {"d", "b", "c", "a"}));
  EXPECT_EQ(ids(pull(*store, name, 3)), (Strings{}));
}

TEST_P(StoreContract, AMessagePushedAgainWhileQueuedIsDeliveredOnce) {
  push(*store, name, {{"a", "first"}, {"a", "second"}});
  push(*store, name, {{"a", "third"}});
  const std::vector<Delivery> pulled = pull(*store, name);
  ASSERT_EQ(pulled.size(), 1U);
  EXPECT_EQ(pulled[0].body, "first");
  push(*store, name, {{"a", "while leased"}});
  EXPECT_TRUE(pull(*store, name).empty());
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 0, .leased = 1}));
}

TEST_P(StoreContract, AnIdMayBeUsedAgainOnceItIsFinished) {
  push(*store, name, {{"a", "first"}});
  EXPECT_EQ(finish(*store, name, {pull_one(*store, name).lease}), "ok");
  push(*store, name, {{"a", "second"}});
  const Delivery again = pull_one(*store, name);
  EXPECT_EQ(again.body, "second");
  EXPECT_EQ(again.attempt, 1U);
}

TEST_P(StoreContract, QueuesDoNotShareMessages) {
  push(*store, name, {{"a", "here"}});
  push(*store, name + "x", {{"a", "there"}});
  EXPECT_EQ(finish(*store, name, {pull_one(*store, name).lease}), "ok");
  EXPECT_EQ(pull_one(*store, name + "x").body, "there");
}

TEST_P(StoreContract, AMessageIsSeenByEveryConnectionAndHandedToOne) {
  const std::unique_ptr<Store> other = subject->connect();
  push_ids(*store, name, {"a", "b"});
  EXPECT_EQ(depth(*other, name), (Depth{.ready = 2, .leased = 0}));
  Strings all = ids(pull(*other, name, 1));
  EXPECT_EQ(all.size(), 1U);
  std::ranges::move(ids(pull(*store, name)), std::back_inserter(all));
  EXPECT_EQ(in_order(*subject, all), (Strings{"a", "b"}));
  EXPECT_TRUE(pull(*other, name).empty());
}

TEST_P(StoreContract, ALeaseMayBeFinishedOverAnotherConnection) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name).lease;
  EXPECT_EQ(finish(*subject->connect(), name, {lease}), "ok");
  EXPECT_EQ(depth(*store, name), Depth{});
}

TEST_P(StoreContract, DepthCountsReadyAndLeased) {
  push_ids(*store, name, {"a", "b", "c"});
  const std::vector<Delivery> pulled = pull(*store, name, 2, subject->hold());
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 1, .leased = 2}));
  EXPECT_EQ(finish(*store, name, {pulled.at(0).lease}), "ok");
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 1, .leased = 1}));
  subject->wait(subject->hold());
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 2, .leased = 0}));
}

// Queues: leases.

TEST_P(StoreContract, ALeasedMessageIsHiddenUntilItsLeaseEnds) {
  push_ids(*store, name, {"a"});
  const Delivery first = pull_one(*store, name, subject->hold());
  EXPECT_TRUE(pull(*store, name).empty());
  subject->wait(subject->hold());
  const Delivery second = pull_one(*store, name);
  EXPECT_EQ(second.body, "body of a");
  EXPECT_NE(second.lease, first.lease);
  EXPECT_TRUE(pull(*store, name).empty());
}

TEST_P(StoreContract, EachDeliveryCountsOneAttempt) {
  push_ids(*store, name, {"a"});
  for (uint32_t attempt = 1; attempt <= 4; ++attempt) {
    const Delivery delivery = pull_one(*store, name);
    EXPECT_EQ(delivery.attempt, attempt);
    EXPECT_TRUE(must(store->queue().renew(name, {&delivery.lease, 1}, Millis(0))).empty());
  }
}

TEST_P(StoreContract, AnExpiredMessageReturnsToItsPlace) {
  push_ids(*store, name, {"a", "b", "c", "d"});
  const std::vector<Delivery> held = pull(*store, name, 3, subject->hold());
  EXPECT_EQ(finish(*store, name, {held.at(1).lease}), "ok");
  subject->wait(subject->hold());
  Strings left = {"a", "b", "c", "d"};
  std::erase(left, held[1].lease.id);
  EXPECT_EQ(in_order(*subject, ids(pull(*store, name))), left);
}

TEST_P(StoreContract, AGivenBackMessageIsReadyAtOnceInItsPlace) {
  push_ids(*store, name, {"a", "b", "c"});
  const std::vector<Lease> held = leases(pull(*store, name, 2));
  EXPECT_TRUE(must(store->queue().renew(name, held, Millis(0))).empty());
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 3, .leased = 0}));
  const Strings all = ids(pull(*subject->connect(), name));
  EXPECT_EQ(in_order(*subject, all), (Strings{"a", "b", "c"}));
}

TEST_P(StoreContract, ALeaseThatEndedHoldsUntilTheMessageIsHandedOn) {
  push_ids(*store, name, {"a", "b", "c"});
  std::vector<Lease> held = leases(pull(*store, name, 3, subject->hold()));
  std::ranges::sort(held, {}, &Lease::id);
  subject->wait(subject->hold());
  EXPECT_EQ(finish(*store, name, {held.at(0)}), "ok");
  EXPECT_TRUE(must(store->queue().renew(name, {&held.at(1), 1}, kLong)).empty());
  EXPECT_EQ(ids(pull(*store, name)), (Strings{"c"}));
}

TEST_P(StoreContract, AGivenBackLeaseCanStillFinish) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name).lease;
  EXPECT_TRUE(must(store->queue().renew(name, {&lease, 1}, Millis(0))).empty());
  EXPECT_EQ(finish(*store, name, {lease}), "ok");
  EXPECT_TRUE(pull(*store, name).empty());
}

TEST_P(StoreContract, ARenewedLeaseLastsForItsNewTimeFromNow) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name, subject->hold()).lease;
  EXPECT_TRUE(must(store->queue().renew(name, {&lease, 1}, subject->hold() * 4)).empty());
  subject->wait(subject->hold());
  EXPECT_TRUE(pull(*store, name).empty());
  subject->wait(subject->hold() * 3);
  EXPECT_EQ(pull_one(*store, name).attempt, 2U);
}

TEST_P(StoreContract, ALeaseMayBeRenewedToEndSooner) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name, kLong).lease;
  EXPECT_TRUE(must(store->queue().renew(name, {&lease, 1}, subject->hold())).empty());
  EXPECT_TRUE(pull(*store, name).empty());
  subject->wait(subject->hold());
  EXPECT_EQ(pull_one(*store, name).attempt, 2U);
}

TEST_P(StoreContract, AStaleLeaseFinishesNothing) {
  push_ids(*store, name, {"a", "b"});
  const std::vector<Delivery> held = pull(*store, name, 2);
  EXPECT_TRUE(must(store->queue().renew(name, {&held.at(0).lease, 1}, Millis(0))).empty());
  const Lease current = pull_one(*subject->connect(), name).lease;
  EXPECT_EQ(finish(*store, name, {held.at(1).lease, held.at(0).lease}), "conflict");
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 0, .leased = 2}));
  EXPECT_EQ(finish(*store, name, {held.at(1).lease, current}), "ok");
  EXPECT_EQ(depth(*store, name), Depth{});
}

TEST_P(StoreContract, RenewReturnsTheLeasesThatAreLost) {
  push_ids(*store, name, {"stale", "finished", "held"});
  std::vector<Lease> old = leases(pull(*store, name, 3));
  std::ranges::sort(old, std::greater<>(), &Lease::id);
  std::swap(old.at(1), old.at(2));
  EXPECT_EQ(finish(*store, name, {old.at(1)}), "ok");
  EXPECT_TRUE(must(store->queue().renew(name, {old.data(), 1}, Millis(0))).empty());
  const Lease current = pull_one(*store, name).lease;
  EXPECT_EQ(must(store->queue().renew(name, old, kLong)), (std::vector{old.at(0), old.at(1)}));
  EXPECT_EQ(must(store->queue().renew(name, old, Millis(0))), (std::vector{old.at(0), old.at(1)}));
  EXPECT_EQ(finish(*store, name, {current}), "ok");  // A lost lease did not give it back.
  EXPECT_EQ(ids(pull(*store, name)), (Strings{"held"}));
}

TEST_P(StoreContract, ALeaseOfAnEarlierMessageOfTheSameIdIsStale) {
  push_ids(*store, name, {"a"});
  const Lease old = pull_one(*store, name).lease;
  EXPECT_EQ(finish(*store, name, {old}), "ok");
  push_ids(*store, name, {"a"});
  EXPECT_EQ(finish(*store, name, {old}), "conflict");
  EXPECT_EQ(must(store->queue().renew(name, {&old, 1}, kLong)), std::vector{old});
  EXPECT_EQ(ids(pull(*store, name)), (Strings{"a"}));
}

TEST_P(StoreContract, AMadeUpLeaseIsStale) {
  push_ids(*store, name, {"a"});
  const Lease made_up = {.id = "a", .token = 0};
  EXPECT_EQ(finish(*store, name, {made_up}), "conflict");
  EXPECT_EQ(must(store->queue().renew(name, {&made_up, 1}, kLong)), std::vector{made_up});
  EXPECT_EQ(ids(pull(*store, name)), (Strings{"a"}));
}

// Queues: waiting, and many threads.

TEST_P(StoreContract, APullThatFindsMessagesDoesNotWait) {
  push_ids(*store, name, {"a"});
  EXPECT_EQ(ids(must(store->queue().pull(name, 10, kLong, kWaitMax))), (Strings{"a"}));
}

TEST_P(WaitingContract, AWaitingPullIsAnsweredByAPush) {
  const std::unique_ptr<Store> other = subject->connect();
  const auto start = std::chrono::steady_clock::now();
  std::vector<Delivery> pulled;
  std::thread waiter([&] { pulled = must(other->queue().pull(name, 10, kLong, Millis(60'000))); });
  subject->wait(Millis(100));  // Most likely it waits by now; the test holds either way.
  push_ids(*store, name, {"a"});
  waiter.join();
  EXPECT_EQ(ids(pulled), (Strings{"a"}));
  EXPECT_LT(since(start), Millis(30'000));
}

TEST_P(WaitingContract, AWaitingPullReturnsNoneAfterItsWait) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(must(store->queue().pull(name, 10, kLong, Millis(300))).empty());
  EXPECT_GE(since(start), Millis(290));  // Clocks round.
  EXPECT_LT(since(start), Millis(30'000));
}

TEST_P(WaitingContract, ALeaseThatEndsAnswersAWaitingPull) {
  push_ids(*store, name, {"a"});
  pull_one(*subject->connect(), name, subject->hold());
  const auto start = std::chrono::steady_clock::now();
  const auto pulled = must(store->queue().pull(name, 10, kLong, subject->hold() + Millis(60'000)));
  EXPECT_EQ(ids(pulled), (Strings{"a"}));
  EXPECT_LT(since(start), subject->hold() + Millis(30'000));
}

TEST_P(WaitingContract, AGivenBackMessageAnswersAWaitingPull) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name).lease;
  const std::unique_ptr<Store> other = subject->connect();
  std::vector<Delivery> pulled;
  std::thread waiter([&] { pulled = must(other->queue().pull(name, 10, kLong, Millis(60'000))); });
  subject->wait(Millis(100));
  EXPECT_TRUE(must(store->queue().renew(name, {&lease, 1}, Millis(0))).empty());
  waiter.join();
  EXPECT_EQ(ids(pulled), (Strings{"a"}));
}

TEST_P(StoreContract, ManyHoldersShareOutAQueueWithoutOverlap) {
  constexpr size_t kMessages = 300;
  push(*store, name, messages(kMessages));
  std::vector<std::unique_ptr<Store>> holders(6);
  for (auto& holder : holders) holder = subject->connect();
  std::vector<Strings> taken(holders.size());
  const auto work = [&](size_t holder) {
    const std::vector<Delivery> pulled = pull(*holders[holder], name, 7);
    std::ranges::move(ids(pulled), std::back_inserter(taken[holder]));
    EXPECT_EQ(finish(*holders[holder], name, leases(pulled)), "ok");
  };
  for (size_t round = 0; round < kMessages && depth(*store, name).ready > 0; ++round) {
    do_all(subject->waits(), holders.size(), work);
  }
  Strings all;
  for (Strings& some : taken) std::ranges::move(some, std::back_inserter(all));
  EXPECT_EQ(all.size(), kMessages);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), kMessages);
  EXPECT_EQ(depth(*store, name), Depth{});
}

// Queues: sizes.

TEST_P(StoreContract, BodiesMayHoldAnyBytesOrNone) {
  push(*store, name, {{"all", all_bytes()}, {"none", ""}});
  for (const Delivery& delivery : pull(*store, name)) {
    EXPECT_EQ(delivery.body, delivery.lease.id == "all" ? all_bytes() : "");
  }
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 0, .leased = 2}));
}

TEST_P(StoreContract, LargeBatchesOfMessagesKeepTheirOrder) {
  for (const size_t count : {size_t{1'000}, kBatchMax}) {
    const std::string queue = fmt::format("{}-{}", name, count);
    push(*store, queue, messages(count));
    std::vector<Delivery> pulled = pull(*store, queue, count);
    while (!subject->ordered() && pulled.size() < count) {  // Then it may give fewer at once.
      std::vector<Delivery> more = pull(*store, queue, count);
      ASSERT_FALSE(more.empty());
      std::ranges::move(more, std::back_inserter(pulled));
    }
    ASSERT_EQ(pulled.size(), count);
    EXPECT_TRUE(!subject->ordered() || std::ranges::is_sorted(ids(pulled)));
    EXPECT_TRUE(must(store->queue().renew(queue, leases(pulled), kLong)).empty());
    EXPECT_EQ(finish(*store, queue, leases(pulled)), "ok");
    EXPECT_EQ(depth(*store, queue), Depth{});
  }
}

TEST_P(StoreContract, APullGivesNoMoreBytesThanFitIntoAnAnswer) {
  for (const Message& message : messages(40, kValueMax)) push(*store, name, {message});
  Strings all;
  for (int pulls = 0; pulls < 40 && all.size() < 40; ++pulls) {
    const std::vector<Delivery> pulled = pull(*store, name);
    EXPECT_GE(pulled.size(), 1U);
    EXPECT_LE(pulled.size() * kValueMax, kBatchBytesMax);
    std::ranges::move(ids(pulled), std::back_inserter(all));
  }
  EXPECT_EQ(all.size(), 40U);
  EXPECT_TRUE(std::ranges::is_sorted(in_order(*subject, all)));
}

TEST_P(StoreContract, MessagesHaveLimits) {
  const std::string longest = name + std::string(kNameMax - name.size(), 'x');
  const Message largest = {std::string(kIdMax, '~'), std::string(kValueMax, 'b')};
  push(*store, longest, {largest});
  const Delivery pulled = pull_one(*store, longest);
  EXPECT_EQ(pulled.lease.id, largest.id);
  EXPECT_EQ(pulled.body, largest.body);
  EXPECT_EQ(finish(*store, longest, {pulled.lease}), "ok");

  const auto refused = [&](const std::vector<Message>& sent) {
    EXPECT_EQ(outcome(store->queue().push(name, sent)), "invalid");
  };
  refused({{"a", ""}, {std::string(kIdMax + 1, 'x'), ""}});
  refused({{"a", ""}, {"b", std::string(kValueMax + 1, 'b')}});
  refused(messages(kBatchMax + 1, 0));
  refused(messages(kBatchBytesMax / kValueMax, kValueMax));
  for (const std::string& id : odd_keys()) refused({{"a", ""}, {id, ""}});
  EXPECT_EQ(depth(*store, name), Depth{});  // Refused whole.
}

TEST_P(StoreContract, CallsOnQueuesHaveLimits) {
  push_ids(*store, name, {"a"});
  Queue& queue = store->queue();
  EXPECT_EQ(outcome(queue.pull(name, 0, kLong, kNoWait)), "invalid");
  EXPECT_EQ(outcome(queue.pull(name, kBatchMax + 1, kLong, kNoWait)), "invalid");
  EXPECT_EQ(outcome(queue.pull(name, 1, Millis(0), kNoWait)), "invalid");
  EXPECT_EQ(outcome(queue.pull(name, 1, kHoldMax + Millis(1), kNoWait)), "invalid");
  EXPECT_EQ(outcome(queue.pull(name, 1, kLong, Millis(-1))), "invalid");
  EXPECT_EQ(outcome(queue.pull(name, 1, kLong, kWaitMax + Millis(1))), "invalid");
  const Lease lease = pull_one(*store, name).lease;
  EXPECT_EQ(lease.id, "a");
  EXPECT_EQ(outcome(queue.renew(name, {&lease, 1}, Millis(-1))), "invalid");
  EXPECT_EQ(outcome(queue.renew(name, {&lease, 1}, kHoldMax + Millis(1))), "invalid");
  EXPECT_EQ(outcome(queue.push(name, {})), "ok");
  EXPECT_EQ(outcome(queue.renew(name, {}, kLong)), "ok");
  EXPECT_EQ(outcome(queue.finish(name, {})), "ok");
}

TEST_P(StoreContract, OddQueueNamesAreRefused) {
  const Message message = {"a", ""};
  const Lease lease = {"a", 1};
  for (const std::string& odd : odd_names()) {
    EXPECT_EQ(outcome(store->queue().push(odd, {&message, 1})), "invalid");
    EXPECT_EQ(outcome(store->queue().pull(odd, 1, kLong, kNoWait)), "invalid");
    EXPECT_EQ(outcome(store->queue().renew(odd, {&lease, 1}, kLong)), "invalid");
    EXPECT_EQ(outcome(store->queue().finish(odd, {&lease, 1})), "invalid");
    EXPECT_EQ(outcome(store->queue().depth(odd)), "invalid");
  }
}

}  // namespace dunlin::contract
