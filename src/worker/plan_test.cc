#include "worker/plan.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

TEST(PageView, ManyStartsOfATaskAreCountedInFewClaims) {
  PageView view;
  for (uint32_t attempt = 1; attempt <= 1000; ++attempt) {
    for (const uint32_t offset : {7U, 9U}) {
      make_room_for_claim(view.page, offset);
      model::Claim& claim = *view.page.add_claims();
      claim.set_offset(offset);
      claim.set_attempt(attempt);
      claim.set_worker("w");
    }
    ASSERT_EQ(view.claims_of(7), attempt);
    ASSERT_EQ(view.claims_of(9), attempt);
  }
  EXPECT_EQ(view.claims_of(8), 0U);
  ASSERT_EQ(view.page.claims_size(), 2 * kClaimsKept);
  EXPECT_EQ(view.page.claims(0).attempt(), 998U);
  EXPECT_EQ(view.page.claims(0).earlier(), 997U);
  EXPECT_EQ(view.page.claims(5).attempt(), 1000U) << "the last one can be taken back by itself";
  EXPECT_EQ(view.page.claims(5).earlier(), 0U);
}

}  // namespace
}  // namespace dunlin
