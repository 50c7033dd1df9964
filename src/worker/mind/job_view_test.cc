#include "worker/mind/job_view.h"

#include <gtest/gtest.h>

namespace dunlin::worker {
namespace {

TEST(PageView, ManyStartsOfATaskAreOneClaim) {
  PageView view;
  for (uint32_t attempt = 1; attempt <= 1000; ++attempt) {
    for (const uint32_t offset : {7U, 9U}) add_claim(view.page, offset, attempt, "w");
    ASSERT_EQ(view.claims_of(7), attempt);
    ASSERT_EQ(view.claims_of(9), attempt);
  }
  EXPECT_EQ(view.claims_of(8), 0U);
  EXPECT_EQ(view.page.claims_size(), 2);
}

TEST(PageView, TheLastClaimCanBeTakenBackByItself) {
  PageView view;
  add_claim(view.page, 7, 1, "a");
  add_claim(view.page, 7, 2, "b");
  forget_claims(view.page, 7, 1);
  EXPECT_EQ(view.claims_of(7), 2U) << "it is not the last one";
  forget_claims(view.page, 7, 2);
  EXPECT_EQ(view.claims_of(7), 1U);
  add_claim(view.page, 7, 3, "c");
  EXPECT_EQ(view.claims_of(7), 2U);
  forget_claims(view.page, 7, std::nullopt);
  EXPECT_EQ(view.claims_of(7), 0U);
  EXPECT_EQ(view.page.claims_size(), 0);
}

// A job of 257 pages, of which the first 256 are below another node than the last one. All are in
// the tree but `without`.
class TwoLevels : public testing::Test {
 protected:
  static constexpr uint64_t kTasks = kPageTasks * (kFanOut + 1);
  using Place = std::pair<uint32_t, uint64_t>;
  using Places = std::set<Place>;

  TwoLevels() { job_.text->spec.set_tasks(kTasks); }

  void see(const Place& place, std::optional<uint32_t> without = {}) {
    const auto [level, number] = place;
    NodeView& view = job_.nodes[place];
    view = {};
    const uint64_t below = level == 1 ? kPageTasks : kPageTasks * kFanOut;
    for (uint32_t child = 0; child < children_of(level, number, kTasks); ++child) {
      if (child != without) add_child(view.node, child, {.ok = below, .failed = 0});
    }
  }
  void enter(uint64_t page) { job_.full[page] = {.ok = kPageTasks, .failed = 0}; }

  JobView job_;
};

TEST_F(TwoLevels, AFullNodeIsEnteredAboveInTheSameCommit) {
  see({1, 0}, 7);
  see({2, 0}, 0);
  enter(7);
  const Propagation propagation = propagation_of(job_);
  EXPECT_EQ(propagation.changed, (Places{{1, 0}, {2, 0}}));
  EXPECT_TRUE(propagation.complete);
}

TEST_F(TwoLevels, ANodeThatIsNotFullLeavesTheOneAboveAlone) {
  see({1, 0}, 7);
  see({2, 0}, 0);
  clear_bit(*job_.nodes[{1, 0}].node.mutable_full(), 8);
  enter(7);
  const Propagation propagation = propagation_of(job_);
  EXPECT_EQ(propagation.changed, (Places{{1, 0}}));
  EXPECT_FALSE(propagation.complete);
}

// A retry has taken page 256 and the node above it out since we read the root.
TEST_F(TwoLevels, ANodeThatBecomesFullIsComparedAboveThoughItsBitSeemsToBeThere) {
  see({2, 0}, 0);
  see({1, 1}, 0);
  enter(256);
  const Propagation propagation = propagation_of(job_);
  EXPECT_FALSE(propagation.found_there);
  EXPECT_EQ(propagation.changed, (Places{{1, 1}, {2, 0}}));
}

// A retry has taken a page out of it, and it out of the root, before we read that.
TEST_F(TwoLevels, AFullNodeThatIsEnteredIsCompared) {
  see({1, 0});
  see({2, 0}, 0);
  enter(7);
  const Propagation propagation = propagation_of(job_);
  EXPECT_TRUE(propagation.found_there);
  EXPECT_EQ(propagation.changed, (Places{{1, 0}, {2, 0}}));
}

TEST(Backoff, IsNeverNegativeNorForEver) {
  model::Spec spec;
  for (const uint64_t first : {uint64_t{0}, uint64_t{500}, uint64_t{1} << 50U, UINT64_MAX}) {
    spec.set_backoff_ms(first);
    Millis before(0);
    for (const uint32_t failures : {0U, 1U, 16U, 1000U, UINT32_MAX}) {
      EXPECT_GE(backoff_of(spec, failures), before) << first;
      before = backoff_of(spec, failures);
    }
  }
}

}  // namespace
}  // namespace dunlin::worker
