#include "model/jobs/cascade.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <functional>
#include <utility>
#include <vector>

#include "model/jobs/release.h"
#include "testing/jobs.h"

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

// Whoever may submit writes them; no program of ours does.
TEST_F(CascadeTest, ARingIsGoneThroughOnce) {
  submit_job("t", 1);
  for (const auto& [id, other] : {std::pair("a", "b"), {"b", "a"}, {"c", "c"}}) {
    model::Job job;
    job.set_id(id);
    *job.mutable_spec() = spec_of(1);
    job.mutable_spec()->add_after(other);
    job.set_queue(queue_of(route_of(job.spec())));
    put(kJobs, id, job.SerializeAsString());
    end_job(id, model::End::SKIPPED, 0, 0);
    put(kWaits, id, "");
    put(kAfter, after_key(other, id), "");
    put(kAfter, after_key(other, ""), "");
    put(kAfter, after_key("t", id), "");
  }
  submit_after("well", "t");
  end_job("t", model::End::DONE, 1, 0);
  Dying limited(*store, 1000);
  const auto released = release_dependants(limited, "t", 7);
  ASSERT_TRUE(released.ok()) << released.error().what;
  EXPECT_EQ(rows(kWaits), 0U);
  EXPECT_EQ(queued("well").size(), 1U);
}

TEST_F(CascadeTest, AJobThatNamesWhatCannotBeDoesNotStandInTheWayOfTheOthers) {
  const std::vector<std::function<void(model::Job&)>> wrongs = {
      [](model::Job& job) { job.set_queue("tascaas.physics"); },
      [](model::Job& job) { job.set_queue("reply.x"); },
      [](model::Job& job) { job.set_queue("work.5/x"); },
      [](model::Job& job) { job.set_queue(""); },
      [](model::Job& job) { job.mutable_spec()->add_after("a b"); },
      [](model::Job& job) { job.mutable_spec()->add_after(""); },
      [](model::Job& job) { job.mutable_spec()->add_after(job.spec().after(0)); },
      [](model::Job& job) {
        for (int i = 0; i < 20'000; ++i) job.mutable_spec()->add_after("a");
      },
  };
  for (size_t i = 0; i < wrongs.size(); ++i) {
    const std::string ended = fmt::format("a{}", i);
    submit_job(ended, 1);
    for (const char* id : {"b", "c", "d"}) submit_after(fmt::format("{}{}", id, i), ended);
    const std::string bad = fmt::format("c{}", i);
    model::Job job = read_job(store->table(), bad).value().record;
    wrongs[i](job);
    put(kJobs, bad, job.SerializeAsString());
    end_job(ended, model::End::DONE, 1, 0);
    const auto released = release_dependants(*store, ended, 7);
    ASSERT_FALSE(released.ok()) << i;
    EXPECT_EQ(released.error().code, Code::corrupt) << i << released.error().what;
    for (const char* id : {"b", "d"}) EXPECT_EQ(queued(fmt::format("{}{}", id, i)).size(), 1U) << i;
  }
  EXPECT_EQ(rows(kWaits), wrongs.size());
}

}  // namespace
}  // namespace dunlin
