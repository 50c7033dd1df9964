#include "stores/mixed/mixed_store.h"

#include <deque>
#include <thread>

#include "store/contract.h"
#include "store/memory.h"
#include "testing/clock.h"

namespace dunlin::mixed {
namespace {

// A queue service at its worst: loses, repeats and reorders, by a seed. Waits for nothing.
class BadService {
 public:
  explicit BadService(uint64_t seed) : random_(seed) {}

  void send(const std::string& queue, const std::string& hint) {
    const std::lock_guard lock(mutex_);
    std::deque<std::string>& hints = queues_[queue];
    for (uint64_t copies = random_.below(4); copies > 0; --copies) {
      hints.insert(hints.begin() + static_cast<ptrdiff_t>(random_.below(hints.size() + 1)), hint);
    }
  }

  std::vector<Hint> receive(const std::string& queue, size_t max) {
    const std::lock_guard lock(mutex_);
    std::vector<Hint> some;
    std::deque<std::string>& hints = queues_[queue];
    while (!hints.empty() && some.size() < max && random_.percent(90)) {
      some.push_back({hints.front(), "receipt"});
      if (random_.percent(80)) hints.pop_front();
    }
    return some;
  }

 private:
  std::mutex mutex_;
  Random random_;
  std::map<std::string, std::deque<std::string>> queues_;
};

class BadHints final : public Hints {
 public:
  explicit BadHints(BadService& service) : service_(service) {}
  size_t bytes_max() const override { return 2000; }
  Result<void> send(std::string_view queue, std::span<const std::string> hints) override {
    for (const std::string& hint : hints) service_.send(std::string(queue), hint);
    return {};
  }
  Result<std::vector<Hint>> receive(std::string_view queue, size_t max, Millis) override {
    return service_.receive(std::string(queue), max);
  }
  Result<void> settle(std::string_view, std::span<const std::string>) override { return {}; }
  void stop() override {}

 private:
  BadService& service_;
};

// Over the memory core, with a bound on the rows of a commit as DynamoDB has.
template <size_t writes_max>
class MixedSubject final : public StoreSubject {
 public:
  std::unique_ptr<Store> connect() override { return make(); }
  std::unique_ptr<Store> connect_twice() override { return twice(make()); }
  void wait(Millis time) override { clock_.advance(time); }
  bool ordered() const override { return false; }
  bool blob_parts() const override { return false; }

 private:
  std::unique_ptr<RequestStore> make() {
    const auto connect = [this]() -> Result<std::unique_ptr<Hints>> {
      return std::unique_ptr<Hints>(std::make_unique<BadHints>(service_));
    };
    MixedParts parts{.table = core_store(*core_, clock_, ++connections_),
                     .hints = connect().value(),
                     .blob_store = core_store(*core_, clock_, ++connections_),
                     .shared = std::make_shared<MixedShared>(connect),
                     .writes_max = writes_max};
    return std::make_unique<MixedStore>(std::move(parts), clock_, ++connections_);
  }

  SimClock clock_;
  std::unique_ptr<Core> core_ = memory_core();
  BadService service_{42};
  uint64_t connections_ = 0;
};

std::unique_ptr<StoreSubject> mixed_subject() {
  return std::make_unique<MixedSubject<kBatchMax>>();
}
std::unique_ptr<StoreSubject> narrow_subject() { return std::make_unique<MixedSubject<100>>(); }

// A service that can be away: then each question takes five seconds.
class AwayHints final : public Hints {
 public:
  struct Service {
    SimClock clock;
    bool away = false;
    std::atomic<bool> full = false;  // It takes no hints.
    int asked = 0;
  };
  explicit AwayHints(Service& service) : service_(service) {}
  size_t bytes_max() const override { return 2000; }
  Result<void> send(std::string_view, std::span<const std::string>) override {
    if (service_.full) return Error{Code::unavailable, "refused"};
    return {};
  }
  Result<std::vector<Hint>> receive(std::string_view, size_t, Millis wait) override {
    ++service_.asked;
    service_.clock.advance(service_.away ? Millis(5000) : wait);
    if (service_.away) return Error{Code::unavailable, "no answer in time"};
    return std::vector<Hint>();
  }
  Result<void> settle(std::string_view, std::span<const std::string>) override { return {}; }
  void stop() override {}

 private:
  Service& service_;
};

TEST(MixedStore, WorkDoesNotWaitForAServiceThatIsAway) {
  AwayHints::Service service;
  const auto connect = [&]() -> Result<std::unique_ptr<Hints>> {
    return std::unique_ptr<Hints>(std::make_unique<AwayHints>(service));
  };
  const std::unique_ptr<Core> core = memory_core();
  MixedParts parts{.table = core_store(*core, service.clock, 1),
                   .hints = connect().value(),
                   .shared = std::make_shared<MixedShared>(connect)};
  MixedStore store(std::move(parts), service.clock, 2);
  const std::vector<Message> messages = {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}};
  ASSERT_TRUE(store.queue().push("work", messages).ok());
  const auto pull = [&](Millis wait) {
    const auto got = store.queue().pull("work", 1, std::chrono::hours(1), wait);
    return got.ok() ? got.value().size() : 99;
  };
  service.away = true;
  EXPECT_EQ(pull(Millis(0)), 1U);
  EXPECT_EQ(service.asked, 1);
  service.clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(pull(Millis(0)), 1U);
  EXPECT_EQ(pull(std::chrono::seconds(20)), 1U);
  EXPECT_EQ(pull(std::chrono::seconds(20)), 1U);
  EXPECT_EQ(service.asked, 1);
  // With nothing to do it is asked again, and is in doubt no more when it answers.
  service.away = false;
  EXPECT_EQ(pull(std::chrono::seconds(20)), 0U);
  const int asked = service.asked;
  EXPECT_GT(asked, 1);
  EXPECT_EQ(pull(Millis(0)), 0U);
  EXPECT_EQ(service.asked, asked + 1);
}

TEST(MixedStore, WhenHintsAreRefusedRowsAreLookedThrough) {
  AwayHints::Service service;
  const auto connect = [&]() -> Result<std::unique_ptr<Hints>> {
    return std::unique_ptr<Hints>(std::make_unique<AwayHints>(service));
  };
  const std::unique_ptr<Core> core = memory_core();
  const auto shared = std::make_shared<MixedShared>(connect);
  MixedParts parts{
      .table = core_store(*core, service.clock, 1), .hints = connect().value(), .shared = shared};
  MixedStore store(std::move(parts), service.clock, 2);
  service.full = true;
  ASSERT_TRUE(store.queue().push("work", std::vector<Message>{{"a", "1"}}).ok());
  while (!shared->sender.fails()) std::this_thread::yield();
  const Millis hold = std::chrono::hours(1);
  EXPECT_EQ(store.queue().pull("work", 1, hold, Millis(0)).value().size(), 1U);
  ASSERT_TRUE(store.queue().push("work", std::vector<Message>{{"b", "2"}}).ok());
  EXPECT_EQ(store.queue().pull("work", 1, hold, std::chrono::seconds(20)).value().size(), 1U);
  EXPECT_EQ(service.asked, 0);
}

TEST(MessageRow, SaysHowLongItIsHeld) {
  const MessageRow row{
      .token = 7, .attempt = 2, .hold = Millis(30'000), .size = 1, .note = {}, .body = "x"};
  EXPECT_EQ(decode_message_row(encode(row))->hold, Millis(30'000));
  // Earlier releases wrote until when: such a lease is watched for a minute.
  EXPECT_EQ(decode_message_row("7 2 1800000000000 1 x")->hold, std::chrono::minutes(1));
  EXPECT_EQ(decode_message_row("7 2 0 1 x")->hold, Millis(0));
  EXPECT_FALSE(decode_message_row("+7 2 1800000000000 1 0 0 x"));
}

// Machines whose wall clocks differ, on one store.
class Machines : public testing::Test {
 protected:
  static constexpr Millis kHold = std::chrono::seconds(30);
  struct Machine {
    std::unique_ptr<MixedStore> store;

    std::vector<Delivery> pull() {
      return store->queue().pull("work", 1, kHold, Millis(0)).value();
    }
    bool renew(const Lease& lease) {
      return store->queue().renew("work", {&lease, 1}, kHold).value().empty();
    }
    Depth depth() { return store->queue().depth("work").value(); }
  };

  Machine machine(Millis off) {
    const auto connect = [this]() -> Result<std::unique_ptr<Hints>> {
      return std::unique_ptr<Hints>(std::make_unique<AwayHints>(service_));
    };
    MixedParts parts{.table = core_store(*core_, service_.clock, ++connections_),
                     .hints = connect().value(),
                     .shared = std::make_shared<MixedShared>(connect)};
    clocks_.push_back(std::make_unique<SkewedClock>(service_.clock, off));
    return {std::make_unique<MixedStore>(std::move(parts), *clocks_.back(), ++connections_)};
  }
  void push(Machine& machine) {
    ASSERT_TRUE(machine.store->queue().push("work", std::vector<Message>{{"a", "1"}}).ok());
  }
  void pass(Millis time) { service_.clock.advance(time); }

  std::vector<std::unique_ptr<SkewedClock>> clocks_;

 private:
  AwayHints::Service service_;
  std::unique_ptr<Core> core_ = memory_core();
  uint64_t connections_ = 0;
};

TEST_F(Machines, NobodyTakesWhatSomebodyHoldsWhateverTheirClocksSay) {
  Machine holder = machine(Millis(0));
  Machine ahead = machine(std::chrono::hours(1));
  Machine behind = machine(-std::chrono::hours(1));
  push(holder);
  const Lease lease = holder.pull().at(0).lease;
  for (int second = 0; second < 300; ++second) {
    if (second % 10 == 0) {
      ASSERT_TRUE(holder.renew(lease)) << second;
    }
    ASSERT_TRUE(ahead.pull().empty()) << second;
    ASSERT_TRUE(behind.pull().empty()) << second;
    EXPECT_EQ(ahead.depth(), (Depth{.ready = 0, .leased = 1}));
    pass(std::chrono::seconds(1));
    clocks_.at(0)->jump(std::chrono::minutes(second % 2 == 0 ? 10 : -10));
  }
}

TEST_F(Machines, WhatALostHolderHadIsTakenAfterItsHoldWhateverTheClocksSay) {
  for (const Millis off : {std::chrono::hours(-1), std::chrono::hours(0), std::chrono::hours(1)}) {
    Machine holder = machine(off);
    Machine other = machine(Millis(0));
    push(holder);
    EXPECT_EQ(holder.pull().size(), 1U);
    EXPECT_TRUE(other.pull().empty());  // From now on it knows that nobody renews the lease.
    pass(kHold - Millis(1));
    EXPECT_TRUE(other.pull().empty());
    pass(Millis(1));
    EXPECT_EQ(other.depth(), (Depth{.ready = 1, .leased = 0}));
    const std::vector<Delivery> taken = other.pull();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].attempt, 2U);
    ASSERT_TRUE(other.store->queue().finish("work", std::vector{taken[0].lease}).ok());
  }
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Mixed, StoreContract, testing::Values(&mixed_subject));
INSTANTIATE_TEST_SUITE_P(MixedNarrow, StoreContract, testing::Values(&narrow_subject));

}  // namespace dunlin::mixed
