#include "worker/mind/asks.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace dunlin::worker {
namespace {

class AsksTest : public testing::Test {
 protected:
  AsksTest() { log::set_level(log::Level::off); }
  ~AsksTest() override { log::set_level(log::Level::info); }

  Ask only() {
    std::vector<Ask> all = asks.take();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Ask() : all[0];
  }
  void pass(Millis time) {
    asks.set_now({asks.now().at + time, 0});
    asks.tick();
  }
  Asks::Then note() {
    return [this](Answer&& answer) { heard.push_back(std::move(answer)); };
  }

  Asks asks = Asks(7);
  std::vector<Answer> heard;
};

TEST_F(AsksTest, AnAnswerIsHeardOnceAndThenForgotten) {
  asks.ask(AskDepth{"q"}, note());
  EXPECT_EQ(asks.open(), 1U);
  EXPECT_EQ(asks.open_of<AskDepth>(), 1U);
  EXPECT_TRUE(asks.answered(only().id, Depth{3, 4}));
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(std::get<Depth>(heard[0]), (Depth{3, 4}));
  EXPECT_EQ(asks.open(), 0U);
}

TEST_F(AsksTest, ALostAnswerIsAskedForAgainByteForByte) {
  asks.commit({Erase{"t", "k", 1}}, note());
  const Ask first = only();
  EXPECT_FALSE(asks.answered(first.id, Error{Code::unavailable, "lost"}));
  EXPECT_TRUE(asks.take().empty()) << "after a pause";
  pass(Millis(100));
  const Ask again = only();
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(std::get<Commit>(again.request).nonce, std::get<Commit>(first.request).nonce);
  EXPECT_TRUE(heard.empty());
}

TEST_F(AsksTest, PausesGrowAndEnd) {
  asks.ask(AskDepth{"q"}, note());
  Ask ask = only();
  Millis last(0);
  for (int i = 0; i < 20; ++i) {
    asks.answered(ask.id, Error{Code::full, "full"});
    const auto pause = std::chrono::duration_cast<Millis>(asks.next_wake() - asks.now().at);
    EXPECT_LT(pause, std::chrono::seconds(10));
    last = pause;
    pass(pause);
    ask = only();
  }
  EXPECT_GE(last, std::chrono::seconds(5));
}

TEST_F(AsksTest, NoTwoCommitsHaveTheSameNonce) {
  asks.commit({}, note());
  asks.commit({}, note());
  const std::vector<Ask> all = asks.take();
  EXPECT_NE(std::get<Commit>(all[0].request).nonce, std::get<Commit>(all[1].request).nonce);
}

TEST_F(AsksTest, AConflictIsHeard) {
  asks.commit({}, note());
  EXPECT_TRUE(asks.answered(only().id, Error{Code::conflict, "no"}));
  EXPECT_EQ(std::get<Error>(heard.at(0)).code, Code::conflict);
}

TEST_F(AsksTest, ARefusalIsHeardByWhoWantsToAndElseAskedAgain) {
  asks.commit({}, note());
  EXPECT_FALSE(asks.answered(only().id, Error{Code::corrupt, "bad"}));
  EXPECT_TRUE(heard.empty());
  asks.commit({}, note(), Asks::Hears::refusals);
  EXPECT_TRUE(asks.answered(only().id, Error{Code::corrupt, "bad"}));
  EXPECT_EQ(heard.size(), 1U);
}

TEST_F(AsksTest, ARefusedTokenEndsEverything) {
  asks.ask(AskDepth{"q"}, note());
  EXPECT_FALSE(asks.failure());
  EXPECT_FALSE(asks.answered(only().id, Error{Code::denied, "no such token"}));
  ASSERT_TRUE(asks.failure());
  EXPECT_EQ(asks.failure()->what, "no such token");
}

TEST_F(AsksTest, RowsThatAreLeftOutAreAskedForAgain) {
  std::vector<Row> rows;
  asks.get_rows(Get{"t", {"a", "b", "c"}}, [&](std::vector<Row>&& all) { rows = all; });
  asks.answered(only().id, Rows{{{"a", "1", 1}, {"b", "2", 2}}});
  const Ask rest = only();
  EXPECT_EQ(std::get<Get>(rest.request).keys, std::vector<std::string>{"c"});
  asks.answered(rest.id, Rows{{{"c", "3", 3}}});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].key, "c");
}

TEST_F(AsksTest, WhatIsDueIsDoneInItsOrder) {
  std::string done;
  asks.later(Millis(20), [&] { done += 'b'; });
  asks.later(Millis(10), [&] { done += 'a'; });
  asks.later(Millis(99), [&] { done += 'c'; });
  EXPECT_EQ(asks.next_wake(), asks.now().at + Millis(10));
  pass(Millis(30));
  EXPECT_EQ(done, "ab");
}

}  // namespace
}  // namespace dunlin::worker
