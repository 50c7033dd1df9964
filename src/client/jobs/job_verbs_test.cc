#include "client/jobs/job_verbs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "testing/jobs.h"

namespace dunlin::client {
namespace {

class JobVerbs : public TestJobs {
 protected:
  JobVerbs() { clock.advance(Millis(now_us() / 1000 + 1000)); }

  template <typename Verb>
  std::string say(const Verb& verb, cli::Form form = cli::Form::plain, int code = kExitDone) {
    ::testing::internal::CaptureStdout();
    const Result<int> ran = run(verb, VerbEnv{*store, clock, form, "dunlin://hub:1"});
    std::string out = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(ran.ok() ? ran.value() : exit_code(ran.error().code), code)
        << out << (ran.ok() ? "" : ran.error().what);
    return ran.ok() ? out : out + ran.error().what;
  }
  static bool has(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  }
  void add_worker(const std::string& id, const std::vector<std::string>& tags, uint32_t busy,
                  Millis age = Millis(0)) {
    model::WorkerInfo worker;
    worker.set_id(id);
    worker.set_host("lab1");
    worker.set_slots(4);
    worker.set_busy(busy);
    for (const std::string& tag : tags) worker.add_tags(tag);
    worker.set_seen_ms((clock.wall() - age).time_since_epoch().count());
    put(kWorkers, id, worker.SerializeAsString());
  }
};

TEST_F(JobVerbs, StatusTellsCountsAndReasons) {
  submit_job("j1", 1000);
  run_tasks("j1", 1000, 0, 300, {5, 6});
  const std::string text = say(StatusVerb{"j1"});
  EXPECT_TRUE(has(text, "state     open")) << text;
  EXPECT_TRUE(has(text, "tasks     1000: 298 ok, 2 failed, 700 to go")) << text;
  EXPECT_TRUE(has(text, "to go\nrate ")) << text;
  EXPECT_TRUE(has(text, "    2  exit code 3")) << text;
  EXPECT_EQ(say(StatusVerb{"j1"}, cli::Form::quiet), "open\n");
}

TEST_F(JobVerbs, StatusInJsonHasTheNamesThatScriptsRelyOn) {
  submit_job("j1", 10);
  run_tasks("j1", 10, 0, 10, {5});
  end_job("j1", model::End::DONE, 9, 1);
  const auto object = nlohmann::json::parse(say(StatusVerb{"j1"}, cli::Form::json));
  for (const char* name : {"job", "name", "state", "tasks", "ok", "failed", "waiting", "rate",
                           "created_us", "ended_us", "failures"}) {
    EXPECT_TRUE(object.contains(name)) << name;
  }
  EXPECT_EQ(object["state"], "failed");
  EXPECT_EQ(object["failures"][0]["why"], "exit code 3");
  EXPECT_EQ(object["failures"][0]["count"], 1);
}

TEST_F(JobVerbs, StatusOfAllIsATable) {
  EXPECT_EQ(say(StatusVerb{}), "there are no jobs\n");
  submit_job("j1", 10);
  submit_job("j2", 20);
  const std::string text = say(StatusVerb{});
  EXPECT_LT(text.find("j2"), text.find("j1")) << text;
}

TEST_F(JobVerbs, AListCanBeOfOneStateOrOwner) {
  submit_job("j1", 1);
  end_job("j1", model::End::DONE, 1, 0);
  model::Spec spec = spec_of(1);
  spec.set_owner("bob");
  submit_job("j2", spec);
  EXPECT_EQ(say(ListVerb{}, cli::Form::quiet), "j2\nj1\n");
  EXPECT_EQ(say(ListVerb{.state = "done"}, cli::Form::quiet), "j1\n");
  EXPECT_EQ(say(ListVerb{.owner = "bob"}, cli::Form::quiet), "j2\n");
  EXPECT_EQ(say(ListVerb{.max = 1}, cli::Form::quiet), "j2\n");
  EXPECT_TRUE(has(say(ListVerb{.state = "odd"}, cli::Form::plain, kExitUsage), "\"odd\""));
  EXPECT_TRUE(has(say(ListVerb{}), "bob"));
}

TEST_F(JobVerbs, ResultsShowEachTask) {
  submit_job("j1", 5);
  run_tasks("j1", 5, 0, 4, {2});
  const std::string text = say(ResultsVerb{.job = "j1"});
  EXPECT_TRUE(has(text, "   2  failed     3        1")) << text;
  EXPECT_FALSE(has(text, "waiting")) << text;
  EXPECT_EQ(say(ResultsVerb{.job = "j1"}, cli::Form::quiet), "0\n1\n2\n3\n");
  const std::string one = say(ResultsVerb{.job = "j1", .failed = true}, cli::Form::json);
  const auto object = nlohmann::json::parse(one);
  EXPECT_EQ(object["task"], 2);
  EXPECT_EQ(object["state"], "failed");
  EXPECT_EQ(object["exit"], 3);
  EXPECT_EQ(object["stdout"], "2\n");
  EXPECT_EQ(object["worker"], "w1");
  EXPECT_LE(object["received_us"], object["started_us"]);
  EXPECT_LE(object["started_us"], object["ended_us"]);
}

TEST_F(JobVerbs, ATaskThatIsAskedForIsShownWithoutAnOutcomeToo) {
  submit_job("j1", 500);
  run_tasks("j1", 500, 0, 2);
  EXPECT_TRUE(has(say(ResultsVerb{.job = "j1", .tasks = "1-2"}), "2  waiting"));
  end_job("j1", model::End::CANCELLED, 2, 0);
  EXPECT_TRUE(has(say(ResultsVerb{.job = "j1", .tasks = "499"}), "499  cancelled"));
  EXPECT_TRUE(has(say(ResultsVerb{.job = "j1", .tasks = "500"}, cli::Form::plain, kExitNotFound),
                  "0 to 499"));
  say(ResultsVerb{.job = "j1", .tasks = "3-1"}, cli::Form::plain, kExitUsage);
  say(ResultsVerb{.job = "j1", .tasks = "x"}, cli::Form::plain, kExitUsage);
}

TEST_F(JobVerbs, FollowEndsWithTheJob) {
  submit_job("j1", 300);
  run_tasks("j1", 300, 0, 300);
  end_job("j1", model::End::DONE, 300, 0);
  EXPECT_EQ(say(ResultsVerb{.job = "j1", .tasks = "298-299", .follow = true}, cli::Form::quiet),
            "298\n299\n");
}

TEST_F(JobVerbs, BytesThatAreNotTextStayWhole) {
  submit_job("j1", 1);
  model::Page page;
  *page.add_outcomes() = outcome(0, model::STATE_OK, std::string("\xff\0x", 3));
  put_page("j1", 0, page);
  EXPECT_EQ(say(LogsVerb{"j1", 0}), std::string("\xff\0x", 3));
  EXPECT_TRUE(has(say(ResultsVerb{.job = "j1"}, cli::Form::json), "\"stdout_base64\":\"/wB4\""));
}

TEST_F(JobVerbs, LogsOfATaskWithoutOutcomeSayWhatToDo) {
  submit_job("j1", 2);
  EXPECT_TRUE(has(say(LogsVerb{"j1", 1}, cli::Form::plain, kExitNotFound), "dunlin explain j1"));
  EXPECT_TRUE(has(say(LogsVerb{"j1", 2}, cli::Form::plain, kExitNotFound), "no task 2"));
}

TEST_F(JobVerbs, WaitTellsHowJobsEnded) {
  submit_job("j1", 1);
  submit_job("j2", 1);
  end_job("j1", model::End::DONE, 1, 0);
  EXPECT_EQ(say(WaitVerb{.jobs = {"j1"}}), "job j1 is done: 1 task ok\n");
  EXPECT_TRUE(
      has(say(WaitVerb{.jobs = {"j1", "j2"}, .timeout = "0"}, cli::Form::plain, kExitFailed),
          "job j2 has not ended"));
  end_job("j2", model::End::DONE, 0, 1);
  EXPECT_EQ(say(WaitVerb{.jobs = {"j1", "j2"}}, cli::Form::quiet, kExitFailed), "");
  say(WaitVerb{.jobs = {"j1", "nobody"}}, cli::Form::plain, kExitNotFound);
}

TEST_F(JobVerbs, CancelSaysIfAJobHadEnded) {
  submit_job("j1", 1);
  EXPECT_EQ(say(CancelVerb{{"j1"}}), "cancelled job j1\n");
  EXPECT_EQ(say(CancelVerb{{"j1"}}), "job j1 has already ended: it was cancelled\n");
  say(CancelVerb{{"j1", "nobody"}}, cli::Form::plain, kExitNotFound);
}

TEST_F(JobVerbs, RetrySaysHowManyTasksRunAgain) {
  submit_job("j1", 10);
  run_tasks("j1", 10, 0, 10, {4, 7});
  end_job("j1", model::End::DONE, 8, 2);
  EXPECT_EQ(say(RetryVerb{.job = "j1"}), "queued 2 tasks of job j1 again\n");
  EXPECT_TRUE(has(say(RetryVerb{.job = "j1"}, cli::Form::plain, kExitFailed), "has not ended"));
}

TEST_F(JobVerbs, ExplainNamesTheJobsThatAreWaitedFor) {
  submit_job("a", 1);
  model::Spec spec = spec_of(1);
  spec.add_after("a");
  submit_job("b", spec);
  EXPECT_EQ(say(ExplainVerb{"b"}), "job b waits for 1 job\n  a is open\n");
  end_job("a", model::End::DONE, 0, 1);
  EXPECT_EQ(say(ExplainVerb{"b"}), "job b was skipped: job a had 1 of 1 tasks fail\n");
}

TEST_F(JobVerbs, ExplainSaysWhichWorkerIsMissing) {
  model::Spec spec = spec_of(1);
  spec.mutable_requires_()->add_tags("gpu");
  spec.mutable_requires_()->add_tags("x86");
  submit_job("j", spec);
  add_worker("old", {"gpu", "x86"}, 0, std::chrono::minutes(1));
  EXPECT_TRUE(
      has(say(ExplainVerb{"j"}),
          "no worker is online: start one with `dunlin worker --at dunlin://hub:1 --tag gpu "
          "--tag x86`"));
  add_worker("w1", {}, 0);
  add_worker("w2", {"x86"}, 0);
  const std::string text = say(ExplainVerb{"j"});
  EXPECT_TRUE(has(text, "the nearest is w2 on lab1, which lacks the tag gpu")) << text;
  add_worker("w3", {"gpu", "x86"}, 4);
  const std::string busy = say(ExplainVerb{"j"});
  EXPECT_TRUE(has(busy, "1 worker can run it, with 4 of 4 slots busy")) << busy;
  EXPECT_TRUE(has(busy, "all are busy: 1 message is in its queue")) << busy;
}

TEST_F(JobVerbs, PoolShowsWhoIsOnline) {
  EXPECT_TRUE(has(say(PoolVerb{}), "dunlin worker --at dunlin://hub:1"));
  add_worker("w1", {"gpu"}, 2);
  add_worker("w2", {}, 0, std::chrono::hours(1));
  const std::string text = say(PoolVerb{});
  EXPECT_TRUE(has(text, "w1      lab1  online    2/4")) << text;
  EXPECT_TRUE(has(text, "w2      lab1  offline   0/4")) << text;
  EXPECT_EQ(say(PoolVerb{}, cli::Form::quiet), "w1\n");
}

}  // namespace
}  // namespace dunlin::client
