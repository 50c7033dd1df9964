#include "worker/slots/channel.h"

#include <gtest/gtest.h>

#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

#include "base/env_posix.h"
#include "store/memory.h"

namespace dunlin::worker {
namespace {

// What a partition's program says and hears.
class Channels : public testing::Test {
 protected:
  // The store is shared; each connection is a view of it.
  class View final : public RequestStore {
   public:
    explicit View(RequestStore& store) : RequestStore(1), store_(store) {}

   protected:
    Answer call(Request&& request) override { return store_.ask(std::move(request)); }

   private:
    RequestStore& store_;
  };

  const std::unique_ptr<RequestStore> store = memory_store(posix_clock());
  LedgerClient ledgers{[this]() -> Result<std::unique_ptr<RequestStore>> {
    return std::unique_ptr<RequestStore>(std::make_unique<View>(*store));
  }};
  const IterativeJob job = {.id = "job", .iterations = 10, .partitions = 1, .most = 2};
  LedgerClock seen = {};

  std::unique_ptr<Channel> open(uint32_t attempt = 1) {
    auto channel = Channel::open(ledgers, {job, 0, attempt, 0}, [] { return false; });
    EXPECT_TRUE(channel.ok());
    return channel.ok() ? std::move(channel).value() : nullptr;
  }

  static std::string ask(const Channel& channel, const std::string& line) {
    EXPECT_EQ(write(channel.descriptor(), line.data(), line.size()),
              static_cast<ssize_t>(line.size()));
    std::string answer;
    char byte = 0;
    while (read(channel.descriptor(), &byte, 1) == 1 && byte != '\n') answer += byte;
    return answer;
  }

  uint64_t pool() {
    return read_ledger(store->table(), job, posix_clock().wall()).value().ledger.pool();
  }
};

TEST_F(Channels, GiveIterationsUntilNoneAreLeft) {
  const auto channel = open();
  uint64_t next = 0;
  while (true) {
    const std::string answer = ask(*channel, "next\n");
    if (answer == "end") break;
    std::istringstream words(answer);
    std::string word;
    uint64_t first = 0;
    uint64_t count = 0;
    ASSERT_TRUE(words >> word >> first >> count) << answer;
    EXPECT_EQ(word, "do");
    EXPECT_EQ(first, next);
    next += count;
  }
  EXPECT_EQ(next, 10U);
  EXPECT_EQ(ask(*channel, "next\n"), "end");
  EXPECT_TRUE(channel->close(true).ok());
  EXPECT_EQ(pool(), 0U);
  const auto late = Channel::open(ledgers, {job, 1, 1, 0}, [] { return false; });
  EXPECT_EQ(late.value(), nullptr) << "there is nothing to do";
}

TEST_F(Channels, WhoEndsTooEarlyGivesAllBack) {
  const auto channel = open();
  EXPECT_EQ(ask(*channel, "next\n"), "do 0 1");
  const Result<void> closed = channel->close(true);
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().what.find("before its iterations were done"), std::string::npos);
  EXPECT_EQ(pool(), 10U);
}

TEST_F(Channels, WhoFailsGivesAllBack) {
  const auto channel = open();
  while (ask(*channel, "next\n") != "end") continue;
  EXPECT_TRUE(channel->close(false).ok());
  EXPECT_EQ(pool(), 10U);
}

TEST_F(Channels, WhoLeavesKeepsWhatItHasDone) {
  const auto channel = open();
  ask(*channel, "next\n");
  ask(*channel, "next\n");
  EXPECT_EQ(ask(*channel, "leave 100\n").substr(0, 5), "error");
  EXPECT_EQ(ask(*channel, "leave 1\n"), "end");
  EXPECT_TRUE(channel->close(true).ok());
  EXPECT_EQ(pool(), 9U);
}

TEST_F(Channels, WhoIsAloneIsToldToGoOn) {
  const auto channel = open();
  ask(*channel, "next\n");
  const auto other = Channel::open(ledgers, {job, 1, 1, 0}, [] { return false; }).value();
  ask(*other, "next\n");
  EXPECT_EQ(ask(*other, "leave 0\n"), "end");
  EXPECT_TRUE(other->close(true).ok());
  EXPECT_EQ(ask(*channel, "leave 1\n").substr(0, 12), "error nobody");
  while (ask(*channel, "next\n") != "end") continue;
  EXPECT_TRUE(channel->close(true).ok());
  EXPECT_EQ(pool(), 0U);
}

TEST_F(Channels, WhatIsSaidLastIsHeard) {
  const auto channel = open();
  ask(*channel, "next\n");
  ASSERT_EQ(write(channel->descriptor(), "leave 1\n", 8), 8);
  EXPECT_TRUE(channel->close(true).ok());
  EXPECT_EQ(pool(), 9U);
}

TEST_F(Channels, ALaterAttemptTakesThePlace) {
  const auto early = open(1);
  ask(*early, "next\n");
  const auto late = open(2);
  EXPECT_EQ(ask(*early, "next\n"), "end");
  const Result<void> closed = early->close(true);
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().what.find("other partitions have its iterations"), std::string::npos);
  while (ask(*late, "next\n") != "end") continue;
  EXPECT_TRUE(late->close(true).ok());
  const LedgerNow now = read_ledger(store->table(), job, posix_clock().wall()).value();
  EXPECT_EQ(now.ledger.holders[0].taken, 10U) << "the early one took nothing from it";
}

// A program that does not use the channel asks the ledger by itself, as the REST service does.
TEST_F(Channels, WhoAsksElsewhereUntilTheEndHasEndedWell) {
  const auto channel = open();
  PartitionAttempt who{job, 0, 1, 0};
  while (true) {
    const balance::Turn turn = next_iterations(store->table(), who, {seen, posix_clock()}).value();
    if (!turn.span) break;
    EXPECT_EQ(turn.span->first, who.had) << "with the first span, which the channel took";
    who.had = turn.span->last;
  }
  EXPECT_EQ(who.had, 10U);
  EXPECT_TRUE(channel->close(true).ok());
  EXPECT_EQ(pool(), 0U);
}

TEST_F(Channels, WhoLeavesElsewhereHasEndedWell) {
  const auto channel = open();
  ASSERT_TRUE(leave(store->table(), {job, 0, 1, 1}, 0, {seen, posix_clock()}).ok());
  EXPECT_TRUE(channel->close(true).ok());
  EXPECT_EQ(pool(), 10U);
}

TEST_F(Channels, WhoAsksNowhereUntilTheEndGivesAllBack) {
  const auto channel = open();
  ASSERT_TRUE(next_iterations(store->table(), {job, 0, 1, 1}, {seen, posix_clock()}).value().span);
  const Result<void> closed = channel->close(true);
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().what.find("exited without asking for iterations"), std::string::npos);
  EXPECT_EQ(pool(), 10U);
}

TEST_F(Channels, ALaterAttemptThatHasEndedIsNotThisOne) {
  const auto early = open(1);
  const auto late = open(2);
  while (ask(*late, "next\n") != "end") continue;
  EXPECT_FALSE(early->close(true).ok());
  EXPECT_TRUE(late->close(true).ok());
  EXPECT_EQ(pool(), 0U);
}

TEST_F(Channels, WhatIsNotUnderstoodIsSaidToBe) {
  const auto channel = open();
  for (const char* line : {"\n", "NEXT\n", "next \n", "leave\n", "leave x\n", "leave -1\n"}) {
    EXPECT_EQ(ask(*channel, line).substr(0, 5), "error") << line;
  }
  const std::string endless(1000, 'x');
  ASSERT_EQ(write(channel->descriptor(), endless.data(), endless.size()), 1000);
  const Result<void> closed = channel->close(true);
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().what.find("too long"), std::string::npos);
}

}  // namespace
}  // namespace dunlin::worker
