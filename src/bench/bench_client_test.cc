#include "bench/bench_client.h"

#include <gtest/gtest.h>

namespace dunlin::bench {
namespace {

model::Reply reply(const std::string& job, uint64_t page, const std::vector<uint32_t>& offsets) {
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

TEST(Tally, CountsEachTaskOnce) {
  Tally tally;
  tally.expect("a", 258);
  ASSERT_TRUE(tally.add(reply("a", 1, {0, 1})).ok());
  ASSERT_TRUE(tally.add(reply("a", 1, {1})).ok());
  EXPECT_EQ(tally.counted(), 2U);
  EXPECT_EQ(tally.repeated(), 1U);
  EXPECT_FALSE(tally.complete());
}

TEST(Tally, IsCompleteWhenEveryJobIs) {
  Tally tally;
  tally.expect("a", 1);
  tally.expect("b", 2);
  ASSERT_TRUE(tally.add(reply("b", 0, {1, 0})).ok());
  EXPECT_FALSE(tally.complete());
  ASSERT_TRUE(tally.add(reply("a", 0, {0})).ok());
  EXPECT_TRUE(tally.complete());
}

TEST(Tally, RefusesWhatNobodyAskedForAndWhatFailed) {
  Tally tally;
  tally.expect("a", 2);
  EXPECT_FALSE(tally.add(reply("b", 0, {0})).ok());
  EXPECT_FALSE(tally.add(reply("a", 0, {2})).ok());
  model::Reply failed = reply("a", 0, {0});
  failed.mutable_parts(0)->mutable_outcomes()->mutable_outcomes(0)->set_state(model::STATE_LOST);
  EXPECT_FALSE(tally.add(failed).ok());
}

}  // namespace
}  // namespace dunlin::bench
