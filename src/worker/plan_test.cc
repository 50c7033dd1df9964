#include "worker/plan.h"

#include <gtest/gtest.h>

namespace dunlin {
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

}  // namespace
}  // namespace dunlin
