// How jobs of TaScaaS grow and end, as clients see it: late partitions, results, what is left over.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <map>

#include "tascaas/ending.h"
#include "tascaas/turns.h"
#include "testing/tenant.h"

namespace dunlin::rest {
namespace {

using std::chrono::seconds;

class TascaasEnd : public testing::Test {
 protected:
  std::string lb(const std::string& job, const std::string& call) const {
    const HttpAnswer answer = rest.get("/test/lb/" + job + "/" + call);
    return answer.status == 200 ? answer.body : fmt::format("{}: {}", answer.status, answer.body);
  }
  uint64_t assigned(const std::string& job, const std::string& call) const {
    const std::string text = lb(job, call);
    const size_t at = text.find("Assigned: ");
    if (at == std::string::npos) ADD_FAILURE() << text;
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 10));
  }
  std::string state(const std::string& job) const {
    const auto listed = HttpClient(rest.port())
                            .get("/tenant/v1/jobs/" + job,
                                 fmt::format("authorization: Bearer {}\r\n", tenant.secret));
    return json::parse(listed.body).at("state");
  }
  // The infrastructure lives on while a service that looks at once looks after all jobs.
  void pass(Millis time, const std::string& infra = "") {
    rest.clock().move(time);
    if (!infra.empty()) {
      EXPECT_EQ(rest.get("/node/" + infra + "/update").status, 200);
    }
    const TestRest other({}, &rest);
    tenant.enroll(1, 1, &other);
  }

  // The balance.rep of its first partition.
  std::string report(const std::string& job) {
    const std::string key = tascaas::result_key(job, "0", "balance.rep");
    const auto found = tascaas::find_file(tenant.store().table(), "physics", key);
    return found.ok() ? tascaas::read_file(tenant.store(), found.value().file, 10'000).value() : "";
  }

  mutable TestRest rest;
  TestTenant tenant{rest, "physics", {.start_time = seconds(100)}};
};

// The reproduction of a job that grew for its deadline: the second partition was told to stop.
TEST_F(TascaasEnd, WhoStartsLateGetsARealShare) {
  tenant.drop("late.config", 1'000'000, 400, 2);
  const json configs = tenant.fetch(tenant.enroll(), 2);
  const std::string job = configs[0].at("ID");
  EXPECT_EQ(assigned(job, "start?worker=0&dt=0"), 500'000U);
  for (int t = 20; t <= 40; t += 20) {
    rest.clock().move(seconds(20));
    assigned(job, fmt::format("report?worker=0&nIter={}&dt={}", 100 * t, t));
  }
  EXPECT_EQ(assigned(job, "start?worker=1&dt=0"), 500'000U);
  rest.clock().move(seconds(20));
  EXPECT_EQ(assigned(job, "report?worker=0&nIter=6000&dt=60"), 500'000U);
  rest.clock().move(seconds(1));
  EXPECT_EQ(assigned(job, "report?worker=1&nIter=2000&dt=21"), 500'000U);
}

// A job that one partition would take three times as long for as there is: others are added, have
// real shares, and it is done in time.
TEST_F(TascaasEnd, ADeadlineIsMetByPartitionsThatAreAdded) {
  tenant.drop("a.config", 120'000, 400);  // At 100 a second: 1,200 s.
  const std::string infra = tenant.enroll(9, 9);
  struct Runner {
    int64_t began = 0;
    uint64_t assigned = 0;
    bool ended = false;
  };
  std::map<size_t, Runner> runners;
  std::string job;
  int64_t now = 0;
  for (; now <= 400; now += 5) {
    for (const json& one : tenant.fetch(infra, 9)) {
      job = one.at("ID");
      const size_t worker = std::stoul(one.at("worker").get<std::string>());
      runners[worker] = {now, assigned(job, fmt::format("start?worker={}&dt=0", worker)), false};
    }
    rest.clock().move(seconds(5));
    for (auto& [worker, runner] : runners) {
      const int64_t dt = now + 5 - runner.began;
      const auto done = std::min<uint64_t>(100 * static_cast<uint64_t>(dt), runner.assigned);
      if (runner.ended) continue;
      if (done < runner.assigned) {
        if (dt % 20 != 0) continue;
        runner.assigned =
            assigned(job, fmt::format("report?worker={}&nIter={}&dt={}", worker, done, dt));
        const bool all = tascaas::done_of(tenant.job(job)) >= 120'000;
        EXPECT_TRUE(all || runner.assigned > done) << worker << " is told to stop at " << now;
        continue;
      }
      EXPECT_EQ(lb(job, fmt::format("finish?worker={}&nIter={}&dt={}", worker, done, dt)), "0\n");
      EXPECT_EQ(tenant.upload(infra, job, worker), 200);
      runner.ended = true;
    }
    if (tenant.job(job).ended_ms() != 0) break;
  }
  EXPECT_GE(runners.size(), 3U);
  EXPECT_LE(now, 400);
  EXPECT_EQ(state(job), "done");
}

TEST_F(TascaasEnd, AJobIsDoneWhenItsResultsAreThere) {
  tenant.drop("a.config", 1000, 600);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  rest.clock().move(seconds(20));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1000&dt=20"), "0\n");
  EXPECT_EQ(state(job), "running");
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
}

TEST_F(TascaasEnd, WhoseResultsNeverComeIsHandedOutAgain) {
  tenant.drop("a.config", 1000, 600);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  rest.clock().move(seconds(20));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1000&dt=20"), "0\n");
  EXPECT_EQ(report(job), tascaas::speed_report(job, tenant.job(job), 0));
  pass(seconds(99), infra);
  EXPECT_TRUE(tenant.fetch(infra, 1).empty());
  pass(seconds(2), infra);
  ASSERT_EQ(tenant.fetch(infra, 1).size(), 1U);
  EXPECT_EQ(assigned(job, "start?worker=0&dt=0"), 1000U);
  rest.clock().move(seconds(30));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1000&dt=30"), "0\n");
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
  EXPECT_EQ(report(job), tascaas::speed_report(job, tenant.job(job), 0)) << "of the last run";
}

// Its daemon is dead, and it works on.
TEST_F(TascaasEnd, WhoIsForgottenMayBringTheResultsOfWhatItHas) {
  tenant.drop("a.config", 1000, 600);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  for (int t = 50; t <= 1600; t += 50) {
    rest.clock().move(seconds(50));
    EXPECT_TRUE(lb(job, fmt::format("report?worker=0&nIter={}&dt={}", t / 2, t)).starts_with("0"));
  }
  pass(seconds(10));
  EXPECT_EQ(rest.get("/node/" + infra + "/update").status, 401);
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1000&dt=1610"), "0\n");
  EXPECT_EQ(tenant.upload(infra, job, 1), 401) << "nobody has that";
  EXPECT_EQ(tenant.upload(infra, "other", 0), 401);
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
}

// It was so slow to start that its partition waits for another one, which has not come.
TEST_F(TascaasEnd, WhoIsForgottenMayBringTheResultsOfWhatWaitsAgain) {
  tenant.drop("a.config", 1000, 600);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  pass(seconds(1600));
  EXPECT_EQ(rest.get("/node/" + infra + "/update").status, 401);
  ASSERT_TRUE(tenant.job(job).partitions(0).queued());
  EXPECT_EQ(assigned(job, "start?worker=0&dt=0"), 1000U);
  rest.clock().move(seconds(20));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1000&dt=20"), "0\n");
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
}

TEST_F(TascaasEnd, WhatWaitsIsNotHandedOutWhenNothingIsLeft) {
  tenant.drop("a.config", 9000, 600, 4);
  const std::string infra = tenant.enroll();
  const json configs = tenant.fetch(infra, 2);
  const std::string job = configs[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  rest.clock().move(seconds(40));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=9263&dt=40"), "0\n");
  EXPECT_TRUE(tenant.fetch(infra, 9).empty());
  // One that was handed out before has nothing to do; the job does not wait for it.
  // It does not wait either for one that starts now.
  EXPECT_EQ(assigned(job, "start?worker=1&dt=0"), 0U);
  rest.clock().move(seconds(2));
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
  EXPECT_EQ(lb(job, "finish?worker=1&nIter=0&dt=2"), "0\n");
  EXPECT_EQ(assigned(job, "start?worker=3&dt=0"), 0U);
  EXPECT_EQ(lb(job, "finish?worker=3&nIter=0&dt=2"), "0\n");
}

// What was done by who died is lost with it.
TEST_F(TascaasEnd, WhatIsLostAfterNothingWasLeftIsDoneAgain) {
  tenant.drop("a.config", 9000, 600, 2);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  rest.clock().move(seconds(30));
  assigned(job, "report?worker=0&nIter=9100&dt=30");
  EXPECT_TRUE(tenant.fetch(infra, 9).empty());
  pass(seconds(121), infra);
  const json again = tenant.fetch(infra, 9);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(assigned(job, "start?worker=0&dt=0"), 4500U);
  rest.clock().move(seconds(30));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=4500&dt=30"), "0\n");
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  const json rest_of_it = tenant.fetch(infra, 9);
  ASSERT_EQ(rest_of_it.size(), 1U) << "somebody has to do the other half";
  EXPECT_EQ(rest_of_it[0].at("nIter"), "4500");
}

// Two partitions; the first one was given up and handed out again while its program works on, which
// was told to do all there is. Both speak for it, and both bring results.
class TascaasShared : public TascaasEnd {
 protected:
  void SetUp() override {
    tenant.drop("a.config", 10'000, 600, 2);
    first = tenant.enroll(1, 1);
    second = tenant.enroll();
    job = tenant.fetch(first, 1)[0].at("ID");
    EXPECT_EQ(assigned(job, "start?worker=0&dt=0"), 5000U);
    uint64_t told = 0;
    for (int t = 30; t <= 90; t += 30) {
      rest.clock().move(seconds(30));
      told = assigned(job, fmt::format("report?worker=0&nIter={}&dt={}", 10 * t, t));
    }
    EXPECT_EQ(told, 10'000U);
    EXPECT_EQ(rest.get("/node/" + first + "/disconnect").status, 200);
    pass(seconds(61), second);
    EXPECT_EQ(tenant.fetch(second, 9).size(), 2U);
    EXPECT_EQ(assigned(job, "start?worker=0&dt=0"), 5000U);
    rest.clock().move(seconds(900));
    EXPECT_EQ(lb(job, "finish?worker=0&nIter=10000&dt=900"), "0\n");
  }
  // The other half is still to be done.
  void do_the_rest() {
    EXPECT_EQ(tascaas::done_of(tenant.job(job)), 5000U);
    EXPECT_EQ(state(job), "running");
    EXPECT_EQ(assigned(job, "start?worker=1&dt=0"), 5000U);
    rest.clock().move(seconds(30));
    EXPECT_EQ(lb(job, "finish?worker=1&nIter=5000&dt=30"), "0\n");
    EXPECT_EQ(tenant.upload(second, job, 1), 200);
    EXPECT_EQ(state(job), "done");
  }

  std::string first;
  std::string second;
  std::string job;
};

TEST_F(TascaasShared, AFinishCountsWhatTheLeastWasTold) {
  EXPECT_EQ(tenant.upload(first, job, 0), 401) << "it has it no more";
  EXPECT_EQ(lb(job, "report?worker=0&nIter=2500&dt=910"), "1 12\n");
  EXPECT_EQ(tenant.upload(second, job, 0), 200);
  do_the_rest();
}

TEST_F(TascaasShared, AFinishCountsWhatTheLeastWasToldIfBothBringResults) {
  EXPECT_EQ(tenant.upload(tenant.enroll(1, 1), job, 0), 200) << "its daemon has started again";
  EXPECT_EQ(lb(job, "report?worker=0&nIter=2500&dt=910"), "1 12\n");
  EXPECT_EQ(tenant.upload(second, job, 0), 200);
  do_the_rest();
}

// The next holder is told to do more, and dies before it brings results.
TEST_F(TascaasEnd, LateResultsDoNotCountAsWhatTheNextHolderSays) {
  tenant.drop("a.config", 10'000, 600, 2);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  rest.clock().move(seconds(100));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=5000&dt=100"), "0\n");
  pass(seconds(101), infra);
  EXPECT_EQ(tenant.fetch(infra, 9).size(), 2U);
  assigned(job, "start?worker=0&dt=0");
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  for (int t = 30; t <= 60; t += 30) {
    rest.clock().move(seconds(30));
    assigned(job, fmt::format("report?worker=0&nIter={}&dt={}", 10 * t, t));
  }
  rest.clock().move(seconds(30));
  EXPECT_EQ(assigned(job, "report?worker=0&nIter=900&dt=90"), 10'000U);
  rest.clock().move(seconds(900));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=10000&dt=990"), "0\n");
  EXPECT_EQ(tascaas::done_of(tenant.job(job)), 5000U);
  EXPECT_EQ(state(job), "running");
}

TEST_F(TascaasEnd, WithoutATimeResultsEndAPartitionAtOnce) {
  tenant.drop("a.config", 7, 0, 2);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 2)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  assigned(job, "start?worker=1&dt=0");
  EXPECT_EQ(tenant.upload(infra, job, 1), 200);
  EXPECT_EQ(lb(job, "finish?nIter="), "400: missing worker number");
  EXPECT_EQ(state(job), "running");
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
  EXPECT_EQ(tascaas::done_of(tenant.job(job)), 7U);
}

// Programs that only fetch, work and upload.
TEST_F(TascaasEnd, ResultsEndAPartitionThatNeverStarted) {
  tenant.drop("a.config", 7, 0, 2);
  tenant.drop("b.config", 7, 600, 2);
  const std::string infra = tenant.enroll();
  for (int i = 0; i < 2; ++i) {
    const std::string job = tenant.fetch(infra, 2).at(0).at("ID");
    EXPECT_EQ(tenant.upload(infra, job, 0), 200);
    EXPECT_EQ(tascaas::done_of(tenant.job(job)), 4U);
    EXPECT_EQ(tenant.upload(infra, job, 1), 200);
    EXPECT_EQ(state(job), "done");
    EXPECT_EQ(lb(job, "start?worker=1&dt=0"), "2 12\n");
  }
}

TEST_F(TascaasEnd, ResultsEndAPartitionThatWaitsAgain) {
  tenant.drop("a.config", 7, 0);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 2)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  pass(seconds(1600));
  ASSERT_TRUE(tenant.job(job).partitions(0).queued());
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
  EXPECT_TRUE(tenant.fetch(tenant.enroll(), 2).empty());
}

// Nobody has to come for that.
TEST_F(TascaasEnd, ResultsThatComeTooLateEndAPartitionThatWaitsAgain) {
  tenant.drop("a.config", 1000, 600);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  rest.clock().move(seconds(20));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1000&dt=20"), "0\n");
  pass(seconds(101), infra);
  ASSERT_TRUE(tenant.job(job).partitions(0).queued());
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
}

// Their service died before it could look at the job.
TEST_F(TascaasEnd, ResultsOfWhatWaitsAgainAreFound) {
  tenant.drop("a.config", 10'000, 600, 3);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 2)[0].at("ID");
  for (int i = 0; i < 2; ++i) assigned(job, fmt::format("start?worker={}&dt=0", i));
  rest.clock().move(seconds(20));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=6667&dt=20"), "0\n");
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  pass(seconds(121), infra);
  ASSERT_TRUE(tenant.job(job).partitions(1).queued());
  tenant.put(tascaas::result_key(job, "1", "results.dat"), "results");
  pass(seconds(1), infra);
  EXPECT_EQ(state(job), "done");
  EXPECT_TRUE(tenant.fetch(infra, 9).empty());
}

TEST_F(TascaasEnd, WhatWaitsIsSparedIfResultsLeaveNothing) {
  tenant.drop("a.config", 10'000, 600, 3);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 2)[0].at("ID");
  for (int i = 0; i < 2; ++i) assigned(job, fmt::format("start?worker={}&dt=0", i));
  rest.clock().move(seconds(100));
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=6667&dt=100"), "0\n");
  pass(seconds(21), infra);
  ASSERT_TRUE(tenant.job(job).partitions(1).queued());
  ASSERT_TRUE(tenant.job(job).partitions(2).queued());
  EXPECT_EQ(tenant.upload(infra, job, 1), 200);
  EXPECT_TRUE(tenant.job(job).partitions(2).spare());
  EXPECT_EQ(state(job), "running") << "other results are on their way";
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
}

TEST_F(TascaasEnd, WhoHasNothingToDoMayEndAtOnce) {
  tenant.drop("a.config", 1, 0, 2);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 2)[0].at("ID");
  EXPECT_EQ(assigned(job, "start?worker=1&dt=0"), 0U);
  EXPECT_EQ(lb(job, "finish?worker=1&nIter=0&dt=0"), "0\n");
  EXPECT_EQ(lb(job, "finish?worker=1&nIter=0&dt=0"), "3 5\n");
  assigned(job, "start?worker=0&dt=0");
  EXPECT_EQ(lb(job, "finish?worker=0&nIter=1&dt=0.3"), "0\n");
  EXPECT_EQ(tenant.upload(infra, job, 0), 200);
  EXPECT_EQ(state(job), "done");
}

TEST_F(TascaasEnd, AJobFailsWhosePartitionsDoNothing) {
  tenant.drop("a.config", 100, 600);
  const std::string infra = tenant.enroll();
  std::string job;
  size_t fetched = 0;
  while (fetched < 50) {
    const json configs = tenant.fetch(infra, 1);
    if (configs.empty()) break;
    job = configs[0].at("ID");
    assigned(job, fmt::format("start?worker={}&dt=0", fetched));
    rest.clock().move(seconds(2));
    EXPECT_EQ(lb(job, fmt::format("finish?worker={}&nIter=0&dt=2", fetched++)), "0\n");
  }
  EXPECT_EQ(fetched, 10U);
  EXPECT_EQ(state(job), "failed");
}

TEST_F(TascaasEnd, AJobFailsThatMayHaveNoMorePartitions) {
  tascaas::Job job;
  job.set_iterations(2000);
  job.set_created_ms(tascaas::to_ms(rest.clock().wall()));
  for (int i = 0; i < 1000; ++i) {
    tascaas::add_partition(job, 1);
    tascaas::finish_by_results(*job.mutable_partitions(i));
  }
  tenant.keep("full", job);
  EXPECT_EQ(state("full"), "failed");
}

TEST_F(TascaasEnd, WithoutATimeWhoIsSilentForHalfOfTheTimeoutIsHandedOutAgain) {
  tenant.drop("a.config", 7, 0);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 2)[0].at("ID");
  assigned(job, "start?worker=0&dt=0");
  for (int hours = 1; hours <= 12; ++hours) {
    for (int i = 0; i < 6; ++i) {
      rest.clock().move(seconds(600));
      EXPECT_EQ(rest.get("/node/" + infra + "/update").status, 200);
    }
  }
  pass(seconds(0), infra);
  EXPECT_TRUE(tenant.fetch(infra, 2).empty());
  pass(seconds(1), infra);
  EXPECT_EQ(tenant.fetch(infra, 2).size(), 1U);
}

// Over a weekend without infrastructures.
TEST_F(TascaasEnd, AJobThatWaitsForLongIsNotLost) {
  tenant.drop("a.config", 1000, 600, 2);
  tenant.enroll();
  const auto listed =
      HttpClient(rest.port())
          .get("/tenant/v1/jobs", fmt::format("authorization: Bearer {}\r\n", tenant.secret));
  const std::string job = json::parse(listed.body).at("jobs").at(0).at("job");
  pass(seconds(250'000));
  EXPECT_EQ(state(job), "waiting");
  const std::string infra = tenant.enroll();
  EXPECT_EQ(tenant.fetch(infra, 2).size(), 2U);
  assigned(job, "start?worker=0&dt=0");
  EXPECT_EQ(state(job), "running");
  for (int t = 50; t <= 150; t += 50) {
    pass(seconds(50), infra);
    assigned(job, fmt::format("report?worker=0&nIter={}&dt={}", t, t));
  }
  const json again = tenant.fetch(infra, 2);
  ASSERT_EQ(again.size(), 1U) << "what was not started in time is missed";
  EXPECT_EQ(again[0].at("worker"), "1");
}

TEST_F(TascaasEnd, WhatWasNeverHandedOutCannotBeStarted) {
  tenant.drop("a.config", 100, 600, 2);
  const std::string infra = tenant.enroll();
  const std::string job = tenant.fetch(infra, 1)[0].at("ID");
  EXPECT_EQ(lb(job, "start?worker=1&dt=0"),
            "400: worker 1 was not handed out: fetch it with /node/ID/jobs");
  EXPECT_EQ(lb(job, "report?worker=1&nIter=10&dt=20"), "1 5\n");
  EXPECT_EQ(lb(job, "finish?worker=1&nIter=50&dt=20"), "3 5\n");
  EXPECT_EQ(tenant.fetch(infra, 1).size(), 1U);
  EXPECT_EQ(assigned(job, "start?worker=1&dt=0"), 50U);
}

// One request moves the advice by one phase.
TEST_F(TascaasEnd, AfterALongSilenceAdviceIsFollowedForAWhile) {
  tenant.drop("a.config", 100, 600, 4);
  const std::string infra = tenant.enroll(1, 10);
  rest.clock().move(seconds(650));
  EXPECT_EQ(tenant.fetch(infra, 1).size(), 1U);
  const std::string row = tascaas::dispatch_row("physics");
  const auto dispatch =
      read_record<tascaas::Dispatch>(tenant.store().table(), tascaas::kTable, row).value().record;
  EXPECT_TRUE(dispatch.scaling());
}

}  // namespace
}  // namespace dunlin::rest
