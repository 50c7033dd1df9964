#include "model/jobs/tree.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace dunlin {
namespace {

TEST(Tree, AJobOfOnePageHasNoNodes) {
  EXPECT_EQ(root_level(1), 0);
  EXPECT_EQ(root_level(256), 0);
  EXPECT_EQ(root_level(257), 1);
}

TEST(Tree, ThreeLevelsCoverSixteenMillionTasks) {
  EXPECT_EQ(root_level(65'536), 1);
  EXPECT_EQ(root_level(65'537), 2);
  EXPECT_EQ(root_level(16'777'216), 2);
  EXPECT_EQ(root_level(kTasksMax), 3);
}

TEST(Tree, TheLastNodeOfALevelHasFewerChildren) {
  const uint64_t tasks = 65'536 + 300;  // 258 pages: two nodes, then the root.
  EXPECT_EQ(level_size(0, tasks), 258);
  EXPECT_EQ(level_size(1, tasks), 2);
  EXPECT_EQ(children_of(1, 0, tasks), 256);
  EXPECT_EQ(children_of(1, 1, tasks), 2);
  EXPECT_EQ(children_of(1, 2, tasks), 0);
  EXPECT_EQ(children_of(2, 0, tasks), 2);
}

TEST(Tree, BitsBeyondTheEndAreZero) {
  std::string bits;
  EXPECT_FALSE(has_bit(bits, 200));
  clear_bit(bits, 200);
  EXPECT_TRUE(bits.empty());
  set_bit(bits, 200);
  set_bit(bits, 7);
  EXPECT_TRUE(has_bit(bits, 200));
  EXPECT_FALSE(has_bit(bits, 199));
  EXPECT_EQ(count_bits(bits), 2);
  clear_bit(bits, 7);
  EXPECT_EQ(count_bits(bits), 1);
}

TEST(Tree, WhatIsNotOkCountsAsFailed) {
  model::Page page;
  for (const auto state : {model::STATE_OK, model::STATE_LOST, model::STATE_TIMEOUT}) {
    page.add_outcomes()->set_state(state);
  }
  EXPECT_EQ(counts_of(page), (Counts{1, 2}));
  EXPECT_TRUE(is_full(page, 0, 3));
  EXPECT_FALSE(is_full(page, 0, 4));
  EXPECT_TRUE(is_full(page, 1, 259));
}

TEST(Tree, AChildIsCountedOnceAndTakenAwayOnce) {
  model::Node node;
  EXPECT_TRUE(add_child(node, 3, {250, 6}));
  EXPECT_FALSE(add_child(node, 3, {250, 6}));
  EXPECT_EQ(counts_of(node), (Counts{250, 6}));
  EXPECT_TRUE(remove_child(node, 3, {250, 6}));
  EXPECT_FALSE(remove_child(node, 3, {250, 6}));
  EXPECT_EQ(counts_of(node), (Counts{}));
}

TEST(Tree, TheRootIsFullWhenTheLastPageIs) {
  const uint64_t tasks = 70'000;
  std::map<std::pair<uint32_t, uint64_t>, model::Node> nodes;
  const uint32_t top = root_level(tasks);
  for (uint64_t page = level_size(0, tasks); page-- > 0;) {
    EXPECT_FALSE(is_full(nodes[{top, 0}], top, 0, tasks)) << page;
    Counts counts{page_size(page, tasks), 0};
    uint64_t number = page;
    for (uint32_t level = 1; level <= top; ++level) {
      model::Node& node = nodes[{level, parent_of(number)}];
      EXPECT_TRUE(add_child(node, child_of(number), counts));
      number = parent_of(number);
      if (!is_full(node, level, number, tasks)) break;
      counts = counts_of(node);
    }
  }
  EXPECT_TRUE(is_full(nodes[{top, 0}], top, 0, tasks));
  EXPECT_EQ(counts_of(nodes[{top, 0}]), (Counts{tasks, 0}));
}

TEST(Tree, ANodeThatCountsFewerTasksThanItsChildStays) {
  model::Node node;
  add_child(node, 3, {5, 0});
  EXPECT_FALSE(remove_child(node, 3, {4, 1}));
  EXPECT_EQ(counts_of(node), (Counts{5, 0}));
  EXPECT_TRUE(has_bit(node.full(), 3));
}

}  // namespace
}  // namespace dunlin
