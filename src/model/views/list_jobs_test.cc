#include "model/views/list_jobs.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "testing/jobs.h"

namespace dunlin {
namespace {

using Ids = std::vector<std::string>;

class ListJobs : public TestJobs {
 protected:
  ListJobs() { log::set_level(log::Level::off); }
  ~ListJobs() override { log::set_level(log::Level::info); }

  Ids newest(size_t max = 100) {
    const auto any = [](const Listed&) { return true; };
    return ids_of(newest_jobs(store->table(), clock.wall(), max, any).value());
  }
  Ids after(const std::string& id, size_t max = 100) {
    return ids_of(jobs_after(store->table(), id, max).value());
  }
  void change(const std::string& id, const std::function<void(model::Job&)>& what) {
    model::Job job = read_job(store->table(), id).value().record;
    what(job);
    put(kJobs, id, job.SerializeAsString());
  }

 private:
  static Ids ids_of(const std::vector<Listed>& jobs) {
    Ids ids;
    for (const Listed& one : jobs) ids.push_back(one.job.id());
    return ids;
  }
};

// Whoever may submit can write such rows, with any client.
TEST_F(ListJobs, ADamagedJobHidesNoOther) {
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) submit_job(id, 1);
  put(kEnds, "b", "\xff\xff");
  change("c", [](model::Job& job) { job.mutable_spec()->set_tasks(uint64_t{1} << 63U); });
  change("d", [](model::Job& job) { job.set_id("h"); });
  change("e", [](model::Job& job) {
    job.mutable_spec()->mutable_iterations()->set_total((uint64_t{1} << 63U) + 5);
  });
  change("f", [](model::Job& job) {
    job.mutable_spec()->mutable_iterations()->set_total(1000);
    job.mutable_spec()->mutable_iterations()->set_partitions(4'000'000'000);
  });
  put(kJobs, "g", "\xff\xff");
  EXPECT_EQ(newest(), (Ids{"h", "a"}));
  EXPECT_EQ(newest(1), (Ids{"h"}));
  EXPECT_EQ(after(""), (Ids{"a", "h"}));
  EXPECT_EQ(after("a", 1), (Ids{"h"}));
  for (const char* id : {"c", "d", "e", "f", "g"}) {
    EXPECT_EQ(read_job(store->table(), id).error().code, Code::corrupt) << id;
  }
}

TEST_F(ListJobs, WhatALongListDoesNotNeedIsNotKept) {
  submit_job("a", 1);
  const size_t before =
      newest_jobs(store->table(), clock.wall(), 1, [](const Listed&) { return true; })
          .value()
          .front()
          .job.ByteSizeLong();
  const std::string large(10'000, 'x');
  change("a", [&](model::Job& job) {
    model::Spec& spec = *job.mutable_spec();
    spec.mutable_command()->add_argv(large);
    spec.add_env()->set_value(large);
    spec.set_stdin(large);
    spec.set_cleanup(large);
  });
  const std::vector<Listed> jobs = jobs_after(store->table(), "", 10).value();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.front().job.ByteSizeLong(), before);
}

TEST_F(ListJobs, ManyDamagedRowsInARowAreNoEnd) {
  for (int i = 100; i < 300; ++i) put(kJobs, std::to_string(i), "\xff\xff");
  submit_job("z", 1);
  EXPECT_EQ(newest(), (Ids{"z"}));
  EXPECT_EQ(after("", 1), (Ids{"z"}));
}

}  // namespace
}  // namespace dunlin
