#include "stores/engine/table_state.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <map>

#include "base/env.h"

namespace dunlin::engine {
namespace {

using Model = std::map<std::string, RowState, std::less<>>;

// Keys as they are: long common beginnings, one inside another, odd bytes, growing and at random.
std::string some_key(Random& random) {
  switch (random.below(5)) {
    case 0:
      return fmt::format("{:08}/{:04}", random.below(60), random.below(3));
    case 1:
      return std::string(1 + random.below(300), 'a');
    case 2:
      return std::string(1 + random.below(3), static_cast<char>(random.next()));
    case 3:
      return fmt::format("{}", random.below(3000));
    default:
      return fmt::format("job-{:x}", random.next() % 500 * 0x9e3779b97f4a7c15);
  }
}

void expect_same(const TableState& table, const Model& model) {
  ASSERT_EQ(table.size(), model.size());
  auto row = table.begin();
  for (const auto& [key, state] : model) {
    ASSERT_NE(row, table.end());
    ASSERT_EQ(row->first, key);
    ASSERT_EQ(row->second, state);
    ++row;
  }
  ASSERT_EQ(row, table.end());
}

TEST(TableState, IsASortedMap) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableState table;
    Model model;
    const uint64_t puts = 30 + random.below(50);  // Percent: some tables grow, some shrink.
    for (int step = 0; step < 1500; ++step) {
      const std::string key = some_key(random);
      const auto known = model.find(key);
      const std::optional<RowState> before =
          known == model.end() ? std::nullopt : std::optional(known->second);
      ASSERT_EQ(table.find(key), before);
      if (random.percent(puts)) {
        const RowState state{{static_cast<uint32_t>(random.next()), 7, 9}, random.next()};
        ASSERT_EQ(table.put(key, state), before);
        model[key] = state;
      } else {
        ASSERT_EQ(table.erase(key), before);
        model.erase(key);
      }
      const std::string place = some_key(random);
      const auto expected = model.lower_bound(place);
      const auto found = table.lower_bound(place);
      ASSERT_EQ(found == table.end(), expected == model.end());
      if (expected != model.end()) {
        ASSERT_EQ(found->first, expected->first);
      }
      const auto behind = table.upper_bound(place);
      const auto expected_behind = model.upper_bound(place);
      ASSERT_EQ(behind == table.end(), expected_behind == model.end());
      if (expected_behind != model.end()) {
        ASSERT_EQ(behind->first, expected_behind->first);
      }
      if (step % 100 == 0) expect_same(table, model);
    }
    expect_same(table, model);
    for (const auto& [key, state] : Model(model)) ASSERT_EQ(table.erase(key), state);
    EXPECT_TRUE(table.empty());
    EXPECT_EQ(table.begin(), table.end());
  }
}

// The bound behind "a million ended jobs in 300 MB": three rows a job.
TEST(TableState, ARowTakesFewBytes) {
  Random random(1);
  TableState growing;
  TableState mixed;
  constexpr size_t kRows = 20'000;
  for (size_t i = 0; i < kRows; ++i) {
    growing.put(fmt::format("0mkx3q{:06}-{:08x}/00000000", i / 10, random.next() % (1U << 31U)),
                {});
    mixed.put(fmt::format("{:016x}/00000000", random.next()), {});
  }
  EXPECT_LT(growing.memory() / kRows, 60U);
  EXPECT_LT(mixed.memory() / kRows, 80U);
  for (size_t i = 0; i < kRows; ++i) {  // Most of it goes.
    const auto first = mixed.begin();
    if (mixed.size() > kRows / 100) mixed.erase(std::string(first->first));
  }
  EXPECT_LT(mixed.memory(), 100 * mixed.size());
}

}  // namespace
}  // namespace dunlin::engine
