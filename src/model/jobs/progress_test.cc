#include "model/jobs/progress.h"

#include <gtest/gtest.h>

#include "testing/jobs.h"

namespace dunlin {
namespace {

class ProgressTest : public TestJobs {
 protected:
  Progress progress_of(const std::string& id, int64_t later_us = 1'000'000) {
    const WallTime now{Millis((now_us() + later_us) / 1000)};
    return read_progress(*store, id, now).value();
  }
};

TEST_F(ProgressTest, CountsFullPagesByTheTreeAndOthersByThemselves) {
  submit_job("j", 70'000);
  run_tasks("j", 70'000, 0, 512, {3});
  run_tasks("j", 70'000, 66'000, 66'010, {66'001, 66'002});
  const Progress progress = progress_of("j");
  EXPECT_EQ(progress.standing.state, JobState::open);
  EXPECT_EQ(progress.counts, (Counts{511 + 8, 3}));
  EXPECT_EQ(progress.left(), 70'000 - 522);
  EXPECT_GT(progress.rate, 0);
  EXPECT_TRUE(progress.eta_s.has_value());
}

TEST_F(ProgressTest, OfAFreshJobIsNothing) {
  submit_job("j", 10'000'000);
  const Progress progress = progress_of("j");
  EXPECT_EQ(progress.counts, Counts{});
  EXPECT_EQ(progress.rate, 0);
  EXPECT_FALSE(progress.eta_s.has_value());
}

TEST_F(ProgressTest, RateIsThatOfTheLastTenSeconds) {
  submit_job("j", 100);
  run_tasks("j", 100, 0, 50);
  EXPECT_NEAR(progress_of("j", 5'001'000).rate, 10, 0.1);
  EXPECT_EQ(progress_of("j", 60'000'000).rate, 0);
  EXPECT_FALSE(progress_of("j", 60'000'000).eta_s.has_value());
}

TEST_F(ProgressTest, FailuresAreGroupedByReason) {
  submit_job("j", 100);
  model::Page page;
  for (uint64_t task = 0; task < 100; ++task) {
    *page.add_outcomes() = outcome(task, model::STATE_FAILED);
    if (task < 30) page.mutable_outcomes(static_cast<int>(task))->set_why("no such file");
    if (task >= 80) {
      page.mutable_outcomes(static_cast<int>(task))->set_why("odd " + std::to_string(task));
    }
  }
  put_page("j", 0, page);
  end_job("j", model::End::DONE, 0, 100);
  const Progress progress = progress_of("j");
  EXPECT_EQ(progress.standing.state, JobState::failed);
  ASSERT_EQ(progress.failures.size(), kFailuresMax);
  EXPECT_EQ(progress.failures[0].why, "exit code 3");
  EXPECT_EQ(progress.failures[0].count, 50);
  EXPECT_EQ(progress.failures[1].why, "no such file");
  EXPECT_EQ(progress.failures_left, 12);
}

TEST_F(ProgressTest, ClaimedAndMovedAreThoseWithoutOutcome) {
  submit_job("j", 10);
  model::Page page;
  *page.add_outcomes() = outcome(1, model::STATE_OK);
  page.add_claims()->set_offset(1);
  page.add_claims()->set_offset(2);
  for (const uint32_t bit : {1U, 3U, 4U}) set_bit(*page.mutable_moved(), bit);
  put_page("j", 0, page);
  EXPECT_EQ(progress_of("j").claimed, 1);
  EXPECT_EQ(progress_of("j").moved, 2);
}

TEST_F(ProgressTest, StateFollowsFromRows) {
  submit_job("a", 1);
  model::Spec spec = spec_of(1);
  spec.add_after("a");
  submit_job("b", spec);
  EXPECT_EQ(progress_of("a").standing.state, JobState::open);
  EXPECT_EQ(progress_of("b").standing.state, JobState::waiting);
  end_job("a", model::End::DONE, 1, 0);
  EXPECT_EQ(progress_of("a").standing.state, JobState::done);
  end_job("b", model::End::CANCELLED, 0, 0);
  EXPECT_EQ(progress_of("b").standing.state, JobState::cancelled);
  EXPECT_EQ(read_progress(*store, "c", clock.wall()).error().code, Code::not_found);
}

}  // namespace
}  // namespace dunlin
