#include "run/output/arranger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <rapidcheck.h>

namespace dunlin::run {
namespace {

using Tasks = std::vector<uint64_t>;

Ended ended(uint64_t task, size_t bytes = 0) {
  Ended one;
  one.task = task;
  one.outcome.mutable_out()->set_bytes(std::string(bytes, 'x'));
  return one;
}

Tasks shown(Arranger& arranger) {
  Tasks tasks;
  while (auto one = arranger.next()) tasks.push_back(one->task);
  return tasks;
}

TEST(Arranger, WithoutAnOrderOutcomesAreShownAsTheyCome) {
  Arranger arranger(false);
  arranger.add(ended(5));
  arranger.add(ended(2));
  EXPECT_EQ(shown(arranger), (Tasks{5, 2}));
  EXPECT_EQ(shown(arranger), Tasks{});
}

TEST(Arranger, InOrderAnOutcomeWaitsForThoseBeforeIt) {
  Arranger arranger(true);
  arranger.add(ended(1));
  arranger.add(ended(2));
  EXPECT_EQ(shown(arranger), Tasks{});
  arranger.add(ended(0));
  EXPECT_EQ(shown(arranger), (Tasks{0, 1, 2}));
  arranger.add(ended(1));
  arranger.add(ended(3));
  EXPECT_EQ(shown(arranger), Tasks{3});
}

TEST(Arranger, InOrderNothingWaitsForWhatWasShownBefore) {
  Arranger arranger(true, kArrangedMax, [](uint64_t task) { return task < 3 || task == 5; });
  arranger.add_forgotten(4);
  arranger.add(ended(6));
  EXPECT_EQ(shown(arranger), Tasks{});
  arranger.add(ended(3));
  EXPECT_EQ(shown(arranger), (Tasks{3, 4, 6}));
}

TEST(Arranger, WhatWasNotShownBeforeComesFirst) {
  Arranger arranger(false);
  arranger.add_forgotten(7);
  arranger.add_forgotten(8);
  arranger.add(ended(1));
  EXPECT_EQ(shown(arranger), (Tasks{7, 8, 1}));
}

TEST(Arranger, AtTheEndGapsAreSteppedOver) {
  Arranger arranger(true);
  arranger.add(ended(4));
  arranger.add(ended(2));
  EXPECT_EQ(shown(arranger), Tasks{});
  arranger.end();
  EXPECT_EQ(shown(arranger), (Tasks{2, 4}));
}

TEST(Arranger, WhatDoesNotFitIsForgottenAndKeepsItsPlace) {
  Arranger arranger(true, 3000);
  for (uint64_t task = 1; task < 10; ++task) arranger.add(ended(task, 1000));
  arranger.add(ended(0, 5000));  // What everybody waits for is always kept.
  Tasks forgotten;
  Tasks all;
  while (auto one = arranger.next()) {
    all.push_back(one->task);
    if (one->forgotten) forgotten.push_back(one->task);
    EXPECT_EQ(one->forgotten, one->outcome.out().bytes().empty());
  }
  EXPECT_EQ(all, (Tasks{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(forgotten, (Tasks{3, 4, 5, 6, 7, 8, 9}));
}

TEST(Arranger, ShowsEachTaskOnceInOrderHoweverTheyCome) {
  const bool holds = rc::check("each task once, in order", [] {
    const auto count = *rc::gen::inRange<uint64_t>(0, 60);
    Tasks order(count);
    std::iota(order.begin(), order.end(), uint64_t{0});
    const auto seed =
        *rc::gen::container<std::vector<size_t>>(order.size(), rc::gen::inRange<size_t>(0, 1000));
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[seed[i - 1] % i]);
    Arranger arranger(true, *rc::gen::inRange<size_t>(0, 10'000));
    Tasks all;
    for (const uint64_t task : order) {
      arranger.add(ended(task, 10));
      if (task % 3 == 0) arranger.add(ended(task, 10));
      for (const uint64_t one : shown(arranger)) all.push_back(one);
    }
    std::sort(order.begin(), order.end());
    RC_ASSERT(all == order);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace dunlin::run
