#include "stores/engine/index.h"

#include <gtest/gtest.h>

#include <vector>

namespace dunlin::engine {
namespace {

PushRecord push(std::string_view id, uint64_t number) {
  return {.queue = "q", .id = id, .number = number, .body = "b"};
}

}  // namespace

TEST(Replay, TwoMessagesCannotHaveOneNumber) {
  Index index;
  Replay replay(index, Instant());
  EXPECT_TRUE(replay.apply(push("a", 7), {1, 40, 20}));
  EXPECT_TRUE(replay.apply(push("a", 7), {1, 60, 20}));  // Moved.
  EXPECT_FALSE(replay.apply(push("b", 7), {1, 80, 20}));
  EXPECT_EQ(index.item("q", "b"), nullptr);
  ASSERT_NE(index.item("q", "a"), nullptr);
  EXPECT_EQ(index.live_bytes(), 20U);
}

TEST(Replay, TheLastPushOfAnIdIsTheOneThatCounts) {
  Index index;
  Replay replay(index, Instant());
  EXPECT_TRUE(replay.apply(push("a", 1), {1, 40, 20}));
  EXPECT_TRUE(replay.apply(push("a", 2), {1, 60, 20}));
  ASSERT_NE(index.item("q", "a"), nullptr);
  EXPECT_EQ(index.item("q", "a")->number, 2U);
  EXPECT_EQ(index.queue("q")->ready.size(), 1U);
  EXPECT_EQ(index.live_bytes(), 20U);
  EXPECT_TRUE(replay.apply(push("b", 1), {1, 80, 20}));  // Its number is free again.
}

TEST(Index, SegmentsFarApartTakeNoMemoryBetweenThem) {
  Index index;
  index.put_row("t", "a", {.at = {1, 40, 20}, .version = 1});
  index.put_row("t", "b", {.at = {1'000'000'000, 40, 30}, .version = 2});
  EXPECT_EQ(index.live_bytes(1), 20U);
  EXPECT_EQ(index.live_bytes(2), 0U);
  EXPECT_EQ(index.live_bytes(1'000'000'000), 30U);
}

}  // namespace dunlin::engine
