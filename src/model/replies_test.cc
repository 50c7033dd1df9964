#include "model/replies.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "model/jobs/results.h"

namespace dunlin {
namespace {

model::Reply reply_of(const std::string& job, uint64_t page, const std::vector<uint32_t>& offsets) {
  model::Reply reply;
  reply.set_job(job);
  model::Reply::Part& part = *reply.add_parts();
  part.set_page(page);
  for (const uint32_t offset : offsets) {
    model::Outcome& outcome = *part.mutable_outcomes()->add_outcomes();
    outcome.set_offset(offset);
    outcome.set_state(model::STATE_OK);
  }
  return reply;
}

Delivery delivery_of(std::string id, const model::Reply& reply) {
  return {.lease = {std::move(id), 7}, .body = reply.SerializeAsString(), .attempt = 1};
}

TEST(Replies, ThePullIsOfTheQueueAndWaitsAsLongAsItsCallerDoes) {
  const Pull pull = ReplyQueue("reply.me").pull(Millis(1234));
  EXPECT_EQ(pull.queue, "reply.me");
  EXPECT_EQ(pull.wait, Millis(1234));
  EXPECT_GT(pull.max, 1U);
  EXPECT_GE(pull.hold, Millis(10'000));
}

TEST(Replies, WhatWasReadIsFinishedOnce) {
  ReplyQueue queue("reply.me");
  EXPECT_FALSE(queue.finish());
  const auto some = queue.read(
      {delivery_of("1", reply_of("a", 0, {0})), delivery_of("2", reply_of("b", 3, {4, 5}))});
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[1].job(), "b");
  EXPECT_EQ(some[1].parts(0).page(), 3U);
  EXPECT_EQ(queue.read({delivery_of("3", reply_of("a", 0, {1}))}).size(), 1U);
  EXPECT_EQ(queue.unfinished(), 3U);
  const std::optional<Finish> finish = queue.finish();
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->queue, "reply.me");
  EXPECT_EQ(finish->leases, (std::vector<Lease>{{"1", 7}, {"2", 7}, {"3", 7}}));
  EXPECT_FALSE(finish->strict);
  EXPECT_FALSE(queue.finish());
  EXPECT_EQ(queue.unfinished(), 0U);
}

TEST(Replies, WhatIsNoReplyIsLeftOutAndFinishedAllTheSame) {
  log::set_level(log::Level::error);
  ReplyQueue queue("reply.me");
  const auto some = queue.read({{.lease = {"1", 7}, .body = "\xff\xff", .attempt = 1},
                                delivery_of("2", reply_of("a", 0, {0}))});
  log::set_level(log::Level::info);
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0].job(), "a");
  EXPECT_EQ(queue.finish()->leases.size(), 2U);
}

TEST(Replies, AJobTakesEachOutcomeOnceAndOnlyItsOwn) {
  ResultFollower follower("a", 258);
  std::vector<uint64_t> tasks;
  const auto take = [&](const TaskResult& result) -> Result<void> {
    tasks.push_back(result.task);
    return {};
  };
  ASSERT_TRUE(follower.add(reply_of("a", 1, {0, 1}), take).ok());
  ASSERT_TRUE(follower.add(reply_of("a", 1, {1, 0}), take).ok());  // It came again.
  ASSERT_TRUE(follower.add(reply_of("b", 0, {3}), take).ok());
  ASSERT_TRUE(follower.add(reply_of("a", 0, {2}), take).ok());
  EXPECT_EQ(tasks, (std::vector<uint64_t>{256, 257, 2}));
  EXPECT_EQ(follower.taken(), 3U);
  EXPECT_FALSE(follower.complete());
}

}  // namespace
}  // namespace dunlin
