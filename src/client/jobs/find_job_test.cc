#include "client/jobs/find_job.h"

#include <gtest/gtest.h>

#include "model/views/list_jobs.h"
#include "testing/jobs.h"

namespace dunlin::client {
namespace {

class FindJob : public TestJobs {
 protected:
  // Submitted at `age` before now.
  std::string submit_old(std::chrono::hours age, const std::string& name) {
    std::string id = make_job_id(random, kNow - age);
    model::Spec spec = spec_of(1);
    spec.set_name(name);
    submit_job(id, spec);
    return id;
  }
  std::string found(const std::string& text) {
    const auto job = find_job(store->table(), text, kNow);
    return job.ok() ? job.value().id() : job.error().what;
  }
  std::vector<std::string> newest(size_t max, const std::string& before = "") {
    std::vector<std::string> ids;
    const auto jobs = newest_jobs(
                          store->table(), kNow, max, [](const Listed&) { return true; }, before)
                          .value();
    ids.reserve(jobs.size());
    for (const Listed& one : jobs) ids.push_back(one.job.id());
    return ids;
  }

  static constexpr WallTime kNow{std::chrono::hours(500'000)};
  Random random{7};
};

TEST_F(FindJob, TheNewestComeFirstHoweverOldTheyAre) {
  const std::string old = submit_old(std::chrono::hours(24 * 400), "a");
  const std::string week = submit_old(std::chrono::hours(24 * 6), "a");
  const std::string day = submit_old(std::chrono::hours(20), "b");
  const std::string now = submit_old(std::chrono::hours(0), "c");
  EXPECT_EQ(newest(10), (std::vector<std::string>{now, day, week, old}));
  EXPECT_EQ(newest(2), (std::vector<std::string>{now, day}));
  EXPECT_EQ(newest(3), (std::vector<std::string>{now, day, week}));
  EXPECT_EQ(newest(2, now), (std::vector<std::string>{day, week}));
  EXPECT_EQ(newest(9, week), (std::vector<std::string>{old}));
  EXPECT_EQ(newest(9, old), (std::vector<std::string>{}));
}

TEST_F(FindJob, ANameMeansTheNewestWithIt) {
  submit_old(std::chrono::hours(24 * 400), "sweep");
  const std::string newer = submit_old(std::chrono::hours(30), "sweep");
  submit_old(std::chrono::hours(1), "other");
  EXPECT_EQ(found("sweep"), newer);
}

TEST_F(FindJob, LastIsTheNewest) {
  EXPECT_NE(found("last").find("no jobs yet"), std::string::npos);
  submit_old(std::chrono::hours(5), "a");
  const std::string newest_id = submit_old(std::chrono::hours(4), "b");
  EXPECT_EQ(found("last"), newest_id);
}

TEST_F(FindJob, TheBeginningOfAnIdIsEnoughIfItIsTheOnlyOne) {
  submit_job("job1a", 1);
  submit_job("job1b", 1);
  submit_job("job1", 1);
  EXPECT_EQ(found("job1a"), "job1a");
  EXPECT_EQ(found("job1"), "job1");
  EXPECT_NE(found("job").find("several"), std::string::npos);
  EXPECT_NE(found("nobody").find("no job \"nobody\""), std::string::npos);
  EXPECT_NE(found("a b").find("no job"), std::string::npos);
}

}  // namespace
}  // namespace dunlin::client
