#include "doors/rest/server/budget.h"

#include <gtest/gtest.h>

#include <memory>

namespace dunlin::rest {
namespace {

TEST(RestBudget, AllSharesTogetherStayWithinIt) {
  Budget budget(100);
  auto first = std::make_unique<Budget::Share>(budget);
  Budget::Share second(budget);
  EXPECT_TRUE(first->grow_to(60));
  EXPECT_FALSE(second.grow_to(41));
  EXPECT_TRUE(second.grow_to(40));
  EXPECT_FALSE(first->grow_to(61));
  EXPECT_TRUE(first->grow_to(10)) << "it has more already";
  first.reset();
  EXPECT_TRUE(second.grow_to(1000)) << "one alone may be of any size";
  Budget::Share third(budget);
  EXPECT_FALSE(third.grow_to(1));
}

}  // namespace
}  // namespace dunlin::rest
