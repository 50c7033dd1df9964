#include "tascaas/followers.h"

#include <gtest/gtest.h>

#include "balance/advice.h"
#include "model/iterations/ledgers.h"
#include "tascaas/dispatcher.h"
#include "tascaas/infrastructures.h"
#include "tascaas/tenants.h"
#include "testing/jobs.h"

namespace dunlin::tascaas {
namespace {

using std::chrono::seconds;

constexpr Millis kScale = seconds(300);

class Followers : public TestJobs {
 protected:
  static WallTime at(int64_t second) { return WallTime(Millis(now_us() / 1000) + seconds(second)); }

  // As one with the infrastructure's name says it.
  double say(const std::string& id, uint64_t slots, uint64_t begun, int64_t second) {
    return follow(*store, {id, slots, 16, kScale}, begun, at(second)).value();
  }

  void put_worker(const std::string& id, uint32_t busy, int64_t second) {
    model::WorkerInfo info;
    info.set_id(id);
    info.set_slots(8);
    info.set_busy(busy);
    info.set_seen_ms(at(second).time_since_epoch().count());
    put(kWorkers, id, info.SerializeAsString());
  }
};

TEST_F(Followers, AreAdvisedByWhatWaitsAndWhatWasBegun) {
  submit_job("00000001", 40);
  EXPECT_DOUBLE_EQ(say("lab/a", 4, 0, 0), -1);
  EXPECT_DOUBLE_EQ(say("lab/a", 4, 10, 200), -1);
  // The measuring is over: 40 wait, 10 were begun, and there are 4 slots of 16.
  EXPECT_DOUBLE_EQ(say("lab/a", 4, 0, 301), 4 * (1 + 40.0 / 10) / 16);
  EXPECT_EQ(balance::slots_advised(1.25, 4, 16), 16U);
}

TEST_F(Followers, CountTogetherWhateverTheirNames) {
  say("lab/a", 4, 0, 0);
  say("cloud/b", 6, 0, 10);
  EXPECT_DOUBLE_EQ(say("lab/a", 4, 0, 301), 0.8 * 10 / 32);  // Nobody needs them.
  EXPECT_DOUBLE_EQ(say("cloud/b", 6, 0, 302), 0.8 * 10 / 32);
}

TEST_F(Followers, WhatWaitsIsWhatNobodyRuns) {
  EXPECT_EQ(tasks_waiting(*store, at(0)).value(), 0U);
  submit_job("00000001", 10);
  submit_job("00000002", 5);
  end_job("00000002", model::End::DONE, 5, 0);
  put_worker("here", 3, 0);
  put_worker("gone", 8, -60);
  EXPECT_EQ(tasks_waiting(*store, at(0)).value(), 7U);
}

TEST_F(Followers, OfAnIterativeJobOnlyThePartitionsThatThereAreWait) {
  model::Spec spec = spec_of(100);
  spec.mutable_iterations()->set_total(1000);
  spec.mutable_iterations()->set_partitions(3);
  spec.mutable_inputs()->set_single(true);
  submit_job("00000001", spec);
  EXPECT_EQ(tasks_waiting(*store, at(0)).value(), 3U);
}

TEST_F(Followers, AreListedUntilTheyLeave) {
  say("lab/a", 4, 0, 0);
  say("lab/b", 2, 0, 500);
  const auto all = list_infrastructures(store->table(), at(700)).value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].tenant, "");
  EXPECT_EQ(all[0].infrastructure.id, "lab/a");
  EXPECT_EQ(all[0].state(), "silent");
  EXPECT_EQ(all[1].state(), "live");
  ASSERT_TRUE(stop_following(*store, {"lab/b", 2, 16, kScale}, at(701)).ok());
  ASSERT_TRUE(stop_following(*store, {"lab/b", 2, 16, kScale}, at(701)).ok());
  EXPECT_EQ(list_infrastructures(store->table(), at(701)).value().size(), 1U);
}

TEST_F(Followers, AreNobodysInfrastructures) {
  say("lab/a", 4, 0, 0);
  EXPECT_EQ(tenant_of(store->table(), "lab/a").error().code, Code::not_found);
  EXPECT_TRUE(list_tenants(store->table()).value().empty());
}

}  // namespace
}  // namespace dunlin::tascaas
