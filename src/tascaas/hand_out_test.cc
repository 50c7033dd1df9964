#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "store/memory.h"
#include "tascaas/dispatcher.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"
#include "testing/clock.h"

namespace dunlin::tascaas {
namespace {

// One of its requests has an unknown end: it was not carried out, or its answer was lost.
class FailingOnce final : public RequestStore {
 public:
  FailingOnce(RequestStore& store, int step, bool carried_out)
      : RequestStore(2), store_(store), left_(step), carried_out_(carried_out) {}

  bool failed() const { return left_ < 0; }

 protected:
  Answer call(Request&& request) override {
    if (left_-- != 0) return store_.ask(std::move(request));
    if (carried_out_) (void)store_.ask(std::move(request));
    return Error{Code::unavailable, "no answer"};
  }

 private:
  RequestStore& store_;
  int left_;
  const bool carried_out_;
};

// A copy of its first commit that finishes messages is quicker than the commit itself, and somebody
// else writes the row in between: as it is, or so that the job ends without what was handed out.
class Overtaken final : public RequestStore {
 public:
  explicit Overtaken(RequestStore& store, bool ends = false)
      : RequestStore(2), store_(store), ends_(ends) {}

  bool happened() const { return happened_; }

 protected:
  Answer call(Request&& request) override {
    const auto* commit = std::get_if<Commit>(&request);
    const auto* put = commit == nullptr ? nullptr : std::get_if<Put>(&commit->writes[0]);
    if (put == nullptr || !put->key.starts_with("job/") || std::exchange(happened_, true)) {
      return store_.ask(std::move(request));
    }
    EXPECT_TRUE(std::holds_alternative<Committed>(store_.ask(Request(request))));
    Job job;
    EXPECT_TRUE(job.ParseFromString(put->value));
    if (ends_) set_ended(job, WallTime(Millis(1)));
    EXPECT_TRUE(store_.table().put(kTable, {put->key, job.SerializeAsString(), kAnyVersion}).ok());
    return store_.ask(std::move(request));
  }

 private:
  RequestStore& store_;
  const bool ends_;
  bool happened_ = false;
};

class HandOut : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_TRUE(add_tenant(*store_, "t", {}, clock_.wall()).ok());
    tenant_ = read_tenant(store_->table(), "t").value();
    EXPECT_TRUE(put_text(*store_, "t", "input/data", "x", clock_.wall()).ok());
    for (const std::string name : {"a", "b"}) {
      EXPECT_TRUE(put_text(*store_, "t", "input/" + name + ".config",
                           R"({"iterations":1000,"time":0,"inputFile":"data","initWorkers":2})",
                           clock_.wall())
                      .ok());
    }
    taken_ = take_in(*store_, tenant_, clock_.wall()).value();
    EXPECT_EQ(taken_.size(), 2U);
    infra_ = register_infrastructure(*store_, tenant_, 4, 4, clock_.wall()).value();
  }

  // Adds what the infrastructure is told of, each partition once.
  void ask(Store& store) {
    const auto handed = hand_out(store, tenant_, infra_, 10, clock_.wall());
    if (!handed.ok()) return;
    for (const Handed& one : handed.value()) {
      EXPECT_TRUE(told_.insert({one.job, one.partition}).second) << "told twice";
    }
  }

  SimClock clock_;
  std::unique_ptr<RequestStore> store_ = memory_store(clock_);
  Tenant tenant_;
  std::string infra_;
  std::vector<Taken> taken_;
  std::set<std::pair<std::string, size_t>> told_;
};

class FailingHandOut : public HandOut, public testing::WithParamInterface<std::pair<int, bool>> {};

TEST_P(FailingHandOut, WhatIsMarkedIsTold) {
  FailingOnce failing(*store_, GetParam().first, GetParam().second);
  ask(failing);
  clock_.advance(std::chrono::minutes(1));  // Leases end; nothing is late yet.
  ask(*store_);
  EXPECT_EQ(told_.size(), 4U) << "at step " << GetParam().first
                              << (failing.failed() ? ", which failed" : "");
}

std::vector<std::pair<int, bool>> steps() {
  std::vector<std::pair<int, bool>> all;
  for (int step = 0; step < 14; ++step) {
    all.emplace_back(step, false);
    all.emplace_back(step, true);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Steps, FailingHandOut, testing::ValuesIn(steps()));

TEST_F(HandOut, WhatWasMarkedBeforeAConflictIsTold) {
  Overtaken overtaken(*store_);
  ask(overtaken);
  EXPECT_TRUE(overtaken.happened());
  EXPECT_EQ(told_.size(), 4U);
}

TEST_F(HandOut, WhatWasSparedBeforeAConflictIsNotTold) {
  Overtaken overtaken(*store_, true);
  ask(overtaken);
  EXPECT_TRUE(overtaken.happened());
  EXPECT_EQ(told_.size(), 2U) << "those of the other job";
}

// What the first two tickets were for is not needed any more.
TEST_F(HandOut, WhoAsksForOneGetsOneAlthoughOthersWereSpared) {
  auto job = read_tascaas_job(store_->table(), taken_[0].job).value();
  for (Job::Partition& one : *job.record.mutable_partitions()) one.set_queued(false);
  const std::string value = job.record.SerializeAsString();
  ASSERT_TRUE(store_->table().put(kTable, {job_row(taken_[0].job), value, job.version}).ok());
  const auto handed = hand_out(*store_, tenant_, infra_, 1, clock_.wall()).value();
  ASSERT_EQ(handed.size(), 1U);
  EXPECT_EQ(handed[0].job, taken_[1].job);
}

TEST_F(HandOut, AllStepsAreTried) {
  FailingOnce failing(*store_, 14, false);
  ask(failing);
  EXPECT_FALSE(failing.failed());
  EXPECT_EQ(told_.size(), 4U);
}

}  // namespace
}  // namespace dunlin::tascaas
