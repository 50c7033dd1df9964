#include "worker/slots/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/text.h"
#include "testing/slots.h"
#include "worker/process/stamps.h"

namespace dunlin::worker {
namespace {

// Whoever cuts it without looking cuts a character.
std::string long_complaint() {
  std::string text = "x";
  for (int i = 0; i < 600; ++i) text += "\xc3\xa4";
  return text;
}

std::vector<Assignment> many(const model::Spec& spec, uint64_t count) {
  const auto job = std::make_shared<JobText>(JobText{"job", spec});
  std::vector<Assignment> assignments;
  for (uint64_t i = 1; i <= count; ++i) {
    assignments.push_back({.ticket = i, .job = job, .task = i, .attempt = 1});
  }
  return assignments;
}

TEST(Slots, ANoopIsOkAndCarriesItsTicketAttemptAndTime) {
  TestSlots slots;
  const int64_t before = wall_us();
  const Ending ending = slots.run(slots.builtin("noop"));
  EXPECT_EQ(ending.ticket, 1U);
  EXPECT_EQ(ending.outcome.state(), model::STATE_OK);
  EXPECT_EQ(ending.outcome.attempt(), 2U);
  EXPECT_GE(ending.started_us, before);
  EXPECT_LE(ending.started_us, wall_us());
}

TEST(Slots, EachOfTenThousandTasksEndsOnce) {
  TestSlots slots({.slots = 4});
  slots->assign(many(slots.builtin("noop"), 10'000), 64);
  std::set<uint64_t> tickets;
  for (const Ending& ending : slots.take(10'000)) tickets.insert(ending.ticket);
  EXPECT_EQ(tickets.size(), 10'000U);
  EXPECT_EQ(*tickets.rbegin(), 10'000U);
  EXPECT_EQ(slots->running(), 0U);
}

TEST(Slots, OneSlotKeepsTheOrder) {
  for (const size_t grab : {1U, 7U}) {
    TestSlots slots;
    slots->assign(many(slots.builtin("noop"), 100), grab);
    const std::vector<Ending> endings = slots.take(100);
    EXPECT_TRUE(std::is_sorted(endings.begin(), endings.end(),
                               [](const auto& a, const auto& b) { return a.ticket < b.ticket; }));
  }
}

TEST(Slots, TheDescriptorIsQuietWhenAllWasTaken) {
  TestSlots slots;
  EXPECT_FALSE(slots.wait(0));
  slots.run(slots.builtin("noop"));
  EXPECT_FALSE(slots.wait(0));
  EXPECT_TRUE(slots->take().empty());
}

TEST(Slots, ASleepLastsAsLongAsItSays) {
  TestSlots slots;
  const Ending ending = slots.run(slots.builtin("sleep", 20));
  EXPECT_EQ(ending.outcome.state(), model::STATE_OK);
  EXPECT_GE(ending.outcome.ran_us(), 20'000U);
  EXPECT_LT(ending.outcome.ran_us(), 10'000'000U);
}

TEST(Slots, ASleepMayBeAFractionOfAMillisecond) {
  TestSlots slots;
  model::Spec& spec = slots.builtin("sleep");
  spec.mutable_inputs()->add_sources()->set_count(1);
  std::vector<Assignment> one = many(spec, 1);
  one[0].task = 0;
  one[0].values = {"0.5"};
  slots->assign(std::move(one), 1);
  const std::vector<Ending> endings = slots.take(1);
  ASSERT_EQ(endings.size(), 1U);
  EXPECT_EQ(endings[0].outcome.state(), model::STATE_OK);
  EXPECT_GE(endings[0].outcome.ran_us(), 500U);
}

TEST(Slots, ASleepOfNoNumberIsRefused) {
  TestSlots slots;
  model::Spec& spec = slots.builtin("sleep", -1);
  const Ending ending = slots.run(spec);
  EXPECT_EQ(ending.outcome.state(), model::STATE_REFUSED);
  EXPECT_EQ(ending.outcome.blame(), model::BLAME_TASK);
  EXPECT_EQ(ending.outcome.why(), "sleep needs a number of milliseconds, not \"-1\"");
}

TEST(Slots, AnUnknownBuiltinIsRefused) {
  TestSlots slots;
  const Ending ending = slots.run(slots.builtin("nop"));
  EXPECT_EQ(ending.outcome.state(), model::STATE_REFUSED);
  EXPECT_EQ(ending.outcome.blame(), model::BLAME_TASK);
  EXPECT_EQ(ending.outcome.why(), "this worker has no builtin \"nop\": it knows noop and sleep");
}

TEST(Slots, AFunctionGetsItsArgumentAndReturnsBytes) {
  SlotOptions options;
  options.functions["twice"] = [](std::string_view argument) -> Result<std::string> {
    return std::string(argument) + '\0' + std::string(argument);
  };
  TestSlots slots(std::move(options));
  const Ending ending = slots.run(slots.function("twice", 21));
  EXPECT_EQ(ending.outcome.state(), model::STATE_OK);
  EXPECT_EQ(ending.outcome.value(), std::string("21\0"
                                                "21",
                                                5));
}

TEST(Slots, WhatAFunctionReportsOrThrowsIsItsFailure) {
  SlotOptions options;
  options.functions["reports"] = [](std::string_view) -> Result<std::string> {
    return Error{Code::invalid, "no such number"};
  };
  options.functions["throws"] = [](std::string_view) -> Result<std::string> {
    throw std::runtime_error("thrown \xff");
  };
  options.functions["complains"] = [](std::string_view) -> Result<std::string> {
    throw std::runtime_error(long_complaint());
  };
  options.functions["strange"] = [](std::string_view) -> Result<std::string> { throw 7; };
  TestSlots slots(std::move(options));
  for (const auto& [name, why] : std::vector<std::pair<std::string, std::string>>{
           {"reports", "no such number"},
           {"throws", "thrown \\xff"},
           {"complains", shorten(long_complaint(), 1000)},
           {"strange", "the function threw something that is not a std::exception"}}) {
    const Ending ending = slots.run(slots.function(name));
    EXPECT_EQ(ending.outcome.state(), model::STATE_FAILED);
    EXPECT_EQ(ending.outcome.blame(), model::BLAME_TASK);
    EXPECT_EQ(ending.outcome.why(), why);
  }
}

TEST(Slots, AnUnknownFunctionIsRefused) {
  TestSlots slots;
  const Ending ending = slots.run(slots.function("gone"));
  EXPECT_EQ(ending.outcome.state(), model::STATE_REFUSED);
  EXPECT_EQ(ending.outcome.blame(), model::BLAME_TASK);
  EXPECT_NE(ending.outcome.why().find("no function \"gone\""), std::string::npos);
}

TEST(Slots, ADroppedSleepEndsAtOnceAndLeavesNothing) {
  TestSlots slots;
  const uint64_t sleeper = slots.start(slots.builtin("sleep", 1'000'000));
  const uint64_t waiting = slots.start(slots.builtin("noop"));
  const uint64_t wanted = slots.start(slots.builtin("noop"));
  slots->drop({sleeper, waiting});
  const std::vector<Ending> endings = slots.take(1);
  ASSERT_EQ(endings.size(), 1U);
  EXPECT_EQ(endings[0].ticket, wanted);
  EXPECT_EQ(slots->running(), 0U);
}

TEST(Slots, AnEndingThatWasNotTakenCanBeDropped) {
  TestSlots slots;
  const uint64_t first = slots.start(slots.builtin("noop"));
  const uint64_t second = slots.start(slots.builtin("noop"));
  ASSERT_TRUE(slots.wait());
  slots->drop({first});
  const std::vector<Ending> endings = slots.take(1);
  ASSERT_EQ(endings.size(), 1U);
  EXPECT_EQ(endings[0].ticket, second);
}

TEST(Slots, WhatWasGrabbedTogetherCanBeDroppedToo) {
  TestSlots slots;
  std::vector<Assignment> three = many(slots.builtin("noop"), 3);
  const model::Spec& sleep = slots.builtin("sleep", 1'000'000);
  three[1].job = std::make_shared<JobText>(JobText{"job", sleep});
  slots->assign(std::move(three), 3);
  std::vector<Ending> endings = slots.take(1);  // Not kept back by the sleep.
  ASSERT_EQ(endings.size(), 1U);
  EXPECT_EQ(endings[0].ticket, 1U);
  slots->drop({3});
  slots->drop({2});
  const uint64_t last = slots.start(slots.builtin("noop"));
  endings = slots.take(1);
  ASSERT_EQ(endings.size(), 1U);
  EXPECT_EQ(endings[0].ticket, last);
}

TEST(Slots, ASpecMayDieAfterItsTicketWasDropped) {
  TestSlots slots({.slots = 2});
  for (int i = 0; i < 200; ++i) {
    auto spec = std::make_unique<model::Spec>();
    spec->mutable_command()->set_builtin("sleep");
    spec->mutable_inputs()->set_first(1000);
    const uint64_t ticket = slots.start(*spec);
    slots->drop({ticket});
  }
  EXPECT_TRUE(slots->take().empty());
}

TEST(Slots, AFunctionThatWasDroppedEndsUnheard) {
  std::atomic<int> calls = 0;
  SlotOptions options;
  options.functions["wait"] = [&calls](std::string_view) -> Result<std::string> {
    ++calls;
    calls.notify_all();
    calls.wait(1);
    return std::string("late");
  };
  TestSlots slots(std::move(options));
  const uint64_t ticket = slots.start(slots.function("wait"));
  calls.wait(0);
  EXPECT_EQ(slots->running(), 1U);
  slots->drop({ticket});
  calls = 2;
  calls.notify_all();
  const Ending next = slots.run(slots.builtin("noop"));
  EXPECT_NE(next.ticket, ticket);
}

TEST(Slots, SlotsRunSideBySide) {
  std::atomic<int> inside = 0;
  SlotOptions options = {.slots = 3};
  options.functions["meet"] = [&inside](std::string_view) -> Result<std::string> {
    ++inside;
    inside.notify_all();
    for (int seen = inside; seen < 3; seen = inside) inside.wait(seen);
    return std::string();
  };
  TestSlots slots(std::move(options));
  for (int i = 0; i < 3; ++i) slots.start(slots.function("meet"));
  EXPECT_EQ(slots.take(3).size(), 3U);
}

TEST(Slots, NoMoreThanTheLimitWorkAndThoseThatAreTooManyFinish) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> meeting = 0;
  SlotOptions options = {.slots = 4};
  options.functions["count"] = [&](std::string_view) -> Result<std::string> {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    --inside;
    return std::string();
  };
  options.functions["meet"] = [&meeting](std::string_view) -> Result<std::string> {
    ++meeting;
    meeting.notify_all();
    for (int seen = meeting; seen < 4; seen = meeting) meeting.wait(seen);
    return std::string();
  };
  TestSlots slots(std::move(options));
  slots->limit(1);
  for (int i = 0; i < 200; ++i) slots.start(slots.function("count"));
  EXPECT_EQ(slots.take(200).size(), 200U);
  EXPECT_EQ(most, 1);
  // All four meet, although there may be only two of them before the last one comes.
  slots->limit(4);
  for (int i = 0; i < 3; ++i) slots.start(slots.function("meet"));
  for (int seen = meeting; seen < 3; seen = meeting) meeting.wait(seen);
  slots->limit(2);
  slots->limit(4);
  slots.start(slots.function("meet"));
  EXPECT_EQ(slots.take(4).size(), 4U);
  most = 0;
  slots->limit(2);
  for (int i = 0; i < 200; ++i) slots.start(slots.function("count"));
  EXPECT_EQ(slots.take(200).size(), 200U);
  EXPECT_LE(most, 2);
}

TEST(Slots, AFolderThatCannotBeMadeIsInvalid) {
  const Result<std::unique_ptr<Slots>> slots = Slots::start({.folder = "/dev/null/worker"});
  ASSERT_FALSE(slots.ok());
  EXPECT_EQ(slots.error().code, Code::invalid);
}

TEST(Slots, StoppingDoesNotWaitForSleepersAndProcesses) {
  int64_t took = INT64_MAX;
  for (int tries = 0; took >= 900'000 && tries < 5; ++tries) {  // The machine may be busy.
    TestSlots slots({.slots = 2});
    const std::string fifo = slots.fifo("started");
    slots.start(slots.builtin("sleep", 1'000'000));
    slots.start(slots.shell("trap '' TERM; echo on > " + fifo + "; sleep 1000; sleep 1000"));
    EXPECT_EQ(TestSlots::hear(fifo), "on");
    const int64_t before = monotonic_us();
    slots.stop();
    took = monotonic_us() - before;
  }
  EXPECT_LT(took, 900'000);
}

}  // namespace
}  // namespace dunlin::worker
