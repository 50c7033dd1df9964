#include "model/cascade.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "model/release.h"
#include "sim/test_jobs.h"

namespace dunlin {
namespace {

class CascadeTest : public TestJobs {
 protected:
  void submit_after(const std::string& id, const std::string& other) {
    model::Spec spec = spec_of(1);
    spec.add_after(other);
    submit_job(id, spec);
  }
  size_t rows(std::string_view table) {
    size_t count = 0;
    std::string after;
    while (true) {
      const auto some = store->table().scan(table, "", after, 1000).value();
      if (some.empty()) return count;
      count += some.size();
      after = some.back().key;
    }
  }
};

TEST_F(CascadeTest, AnyNumberOfJobsMayComeAfterOne) {
  constexpr size_t kJobs = 10'500;
  submit_job("a", 1);
  for (size_t i = 0; i < kJobs; ++i) submit_after(fmt::format("b{}", i), "a");
  EXPECT_EQ(rows(kWaits), kJobs);
  end_job("a", model::End::DONE, 1, 0);
  ASSERT_TRUE(release_dependants(*store, "a", 7).ok());
  EXPECT_EQ(rows(kWaits), 0U);
  EXPECT_EQ(rows(kAfter), 0U);
  const std::string queue = read_job(store->table(), "b0").value().record.queue();
  EXPECT_EQ(store->queue().depth(queue).value().ready, kJobs + 1);
}

TEST_F(CascadeTest, AChainOfAnyLengthIsSkipped) {
  constexpr size_t kJobs = 3000;
  submit_job("job0", 1);
  for (size_t i = 1; i < kJobs; ++i)
    submit_after(fmt::format("job{}", i), fmt::format("job{}", i - 1));
  end_job("job0", model::End::DONE, 0, 1);
  ASSERT_TRUE(release_dependants(*store, "job0", 7).ok());
  EXPECT_EQ(rows(kEnds), kJobs);
  EXPECT_EQ(rows(kWaits), 0U);
  EXPECT_EQ(rows(kAfter), 0U);
}

TEST_F(CascadeTest, ADamagedJobDoesNotStandInTheWayOfTheOthers) {
  submit_job("a", 1);
  for (const char* id : {"b", "c", "d"}) submit_after(id, "a");
  put(kJobs, "c", "\xff these bytes are no job");
  end_job("a", model::End::DONE, 1, 0);
  const auto released = release_dependants(*store, "a", 7);
  ASSERT_FALSE(released.ok());
  EXPECT_NE(released.error().what.find("row c"), std::string::npos);
  EXPECT_EQ(rows(kWaits), 1U);
}

}  // namespace
}  // namespace dunlin
