#include "worker/mind/worker.h"

#include <algorithm>

#include "base/log.h"
#include "model/jobs/steer.h"
#include "testing/mind.h"

namespace dunlin::worker {
namespace {

class Mind : public MindTest {
 protected:
  Mind() { log::set_level(log::Level::off); }
  ~Mind() override { log::set_level(log::Level::info); }

  using Tasks = std::vector<uint64_t>;
};

TEST_F(Mind, RunsAJobFromItsMessageToItsEnd) {
  submit_job("job", 1);
  begin();
  ASSERT_EQ(started, Tasks{0});
  EXPECT_FALSE(end_of("job"));
  end(0);
  ASSERT_TRUE(end_of("job"));
  EXPECT_EQ(end_of("job")->ok(), 1U);
  EXPECT_EQ(depth("job"), (Depth{0, 0}));
  EXPECT_EQ(mind->leftovers(), "");
}

TEST_F(Mind, WaitsForWorkThatComesLater) {
  begin();
  pass(Millis(100));
  submit_job("job", 1);
  pass(std::chrono::seconds(6));
  EXPECT_EQ(started, Tasks{0});
}

TEST_F(Mind, StartsTasksOfUnknownLengthOnlyWhereASlotIsFree) {
  submit_job("job", 3);
  begin();
  EXPECT_EQ(started, (Tasks{0, 1}));
  end(1);
  EXPECT_EQ(started, (Tasks{0, 1, 2}));
}

TEST_F(Mind, LetsShortTasksWaitInFrontOfTheSlots) {
  submit_job("job", 100);
  begin();
  end(0, model::STATE_OK, [](Ending& ending) { ending.outcome.set_ran_us(100); });
  EXPECT_GT(running.size(), 2U);
}

TEST_F(Mind, GivesATaskAsManySlotsAsItNeeds) {
  options.slots = 3;
  model::Spec spec = spec_of(2);
  spec.mutable_requires_()->set_cpus(2);
  submit_job("job", spec);
  begin();
  EXPECT_EQ(started, Tasks{0});
  end(0);
  EXPECT_EQ(started, (Tasks{0, 1}));
}

TEST_F(Mind, NeverGivesTwoTasksTheSameGpu) {
  options.slots = 4;
  model::Spec spec = spec_of(3);
  spec.mutable_requires_()->set_gpus(1);
  submit_job("job", spec);
  begin();
  ASSERT_EQ(running.size(), 2U);
  const std::vector<uint32_t> gpus = running.rbegin()->second.gpus;
  EXPECT_NE(running.begin()->second.gpus, gpus);
  end(1);
  EXPECT_EQ(running.rbegin()->second.gpus, gpus);
}

TEST_F(Mind, NeverExceedsItsMemory) {
  options.slots = 4;
  model::Spec spec = spec_of(4);
  spec.mutable_requires_()->set_mem_bytes(400);
  submit_job("job", spec);
  begin();
  EXPECT_EQ(running.size(), 2U);
}

TEST_F(Mind, LeavesARouteAloneThatWantsATagThatItLacks) {
  model::Spec spec = spec_of(1);
  spec.mutable_requires_()->add_tags("slow");
  submit_job("slow", spec);
  spec.mutable_requires_()->set_tags(0, "fast");
  submit_job("fast", spec);
  begin();
  EXPECT_EQ(depth("slow"), (Depth{1, 0}));
  EXPECT_EQ(depth("fast"), (Depth{0, 1}));
}

TEST_F(Mind, PullsTheLargerPriorityFirst) {
  options.slots = 1;
  model::Spec spec = spec_of(1);
  spec.set_priority(1);
  submit_job("small", spec);
  spec.set_priority(9);
  submit_job("large", spec);
  begin();
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running.begin()->second.job->id, "large");
}

TEST_F(Mind, RepeatsARequestUnderTheSameNonceWhenTheAnswerIsLost) {
  submit_job("job", 1);
  begin();
  hold_back(puts(kPages));
  end(0);
  ASSERT_EQ(open.size(), 1U);
  const uint64_t nonce = std::get<Commit>(open[0].request).nonce;
  (void)store->ask(Request(open[0].request));
  answer_with(Error{Code::unavailable, "the answer was lost"});
  pass(Millis(100));
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(std::get<Commit>(open[0].request).nonce, nonce);
  let_go();
  EXPECT_EQ(end_of("job")->ok(), 1U);
  EXPECT_EQ(mind->leftovers(), "");
}

TEST_F(Mind, GivesUpWhenItsTokenIsRefused) {
  hold_back(is<Scan>);
  begin();
  answer_with(Error{Code::denied, "no such token"});
  ASSERT_TRUE(mind->failure());
  EXPECT_EQ(mind->failure()->what, "no such token");
}

TEST_F(Mind, StopsTheTasksOfALeaseThatItLost) {
  submit_job("job", 1);
  begin();
  ASSERT_EQ(running.size(), 1U);
  clock.advance(options.hold + Millis(1));  // It slept.
  rival_pulls("job");
  tick();
  EXPECT_TRUE(running.empty());
  EXPECT_EQ(mind->holds(), 0U);
}

TEST_F(Mind, StartsNothingUnderALeaseThatMayHaveEnded) {
  submit_job("job", 4);
  begin();
  ASSERT_EQ(started, (Tasks{0, 1}));
  clock.advance(options.hold + Millis(1));
  hold_back(is<Renew>);
  end(0);
  EXPECT_EQ(started, (Tasks{0, 1})) << "it asks first whether it still has it";
  ASSERT_FALSE(open.empty());
  let_go();
  EXPECT_EQ(attempts.back(), 2U) << "it had lost it, and got it again";
}

TEST_F(Mind, RenewsItsLeasesWhileATaskRuns) {
  submit_job("job", 1);
  begin();
  pass(options.hold * 3);
  EXPECT_EQ(depth("job"), (Depth{0, 1}));
  end(0);
  EXPECT_EQ(end_of("job")->ok(), 1U);
}

TEST_F(Mind, PushesBackWhatIsMoreThanItShouldHold) {
  submit_job("job", 1000);
  begin();
  EXPECT_EQ(depth("job"), (Depth{1, 1}));
  model::Range tail;
  ASSERT_TRUE(tail.ParseFromString(rival_pulls("job").body));
  EXPECT_GT(tail.first(), 2U);
  EXPECT_LT(tail.first(), 1000U);
  EXPECT_EQ(tail.last(), 1000U);
}

TEST_F(Mind, ForgetsARangeThatItCouldNotSplitInTime) {
  submit_job("job", 1000);
  hold_back([](const Request& request) {
    const auto* commit = std::get_if<Commit>(&request);
    return commit != nullptr && std::holds_alternative<Push>(commit->writes[0]);
  });
  begin();
  ASSERT_EQ(open.size(), 1U);
  ASSERT_EQ(mind->holds(), 1U);
  answer_with(Error{Code::conflict, "somebody else has it"});
  EXPECT_EQ(mind->holds(), 0U);
  EXPECT_TRUE(running.empty());
}

TEST_F(Mind, GivesBackWhatHasNotStartedWhenItDrains) {
  submit_job("job", 6);
  begin();
  ASSERT_EQ(running.size(), 2U);
  mind->drain(now());
  settle();
  EXPECT_EQ(depth("job"), (Depth{1, 1}));
  EXPECT_FALSE(mind->gone());
  end(0);
  end(1);
  pass(std::chrono::seconds(2));
  EXPECT_TRUE(mind->gone());
  EXPECT_EQ(page("job").outcomes_size(), 2);
  EXPECT_EQ(depth("job"), (Depth{1, 0}));
}

TEST_F(Mind, GivesBackWhatRunsAsAnotherAttemptWhenItIsStopped) {
  submit_job("job", 2);
  begin();
  mind->stop(now());
  settle();
  EXPECT_TRUE(running.empty());
  model::Range range;
  ASSERT_TRUE(range.ParseFromString(rival_pulls("job").body));
  EXPECT_GT(range.attempt(), 1U);
  EXPECT_EQ(range.lost(), 0U) << "nobody was lost with it";
  pass(std::chrono::seconds(2));
  EXPECT_TRUE(mind->gone());
}

TEST_F(Mind, LosesATaskThatMayStartOnlyOnceWhenItIsStopped) {
  model::Spec spec = spec_of(1);
  spec.set_delivery(model::DELIVERY_AT_MOST_ONCE);
  submit_job("job", spec);
  begin();
  ASSERT_EQ(running.size(), 1U);
  mind->stop(now());
  settle();
  ASSERT_TRUE(end_of("job"));
  EXPECT_EQ(end_of("job")->failed(), 1U);
  EXPECT_EQ(page("job").outcomes(0).state(), model::STATE_LOST);
}

TEST_F(Mind, StartsATaskThatMayStartOnlyOnceAfterThatIsOnRecord) {
  model::Spec spec = spec_of(1);
  spec.set_delivery(model::DELIVERY_AT_MOST_ONCE);
  submit_job("job", spec);
  hold_back(puts(kPages));
  begin();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_TRUE(started.empty());
  let_go();
  EXPECT_EQ(started, Tasks{0});
  EXPECT_EQ(page("job").claims_size(), 1);
}

TEST_F(Mind, TriesAFailureAgainUnderTheNextAttempt) {
  model::Spec spec = spec_of(1);
  spec.set_retries(1);
  submit_job("job", spec);
  begin();
  end(0, model::STATE_FAILED);
  pass(std::chrono::seconds(1));
  EXPECT_EQ(started, (Tasks{0, 0}));
  EXPECT_EQ(attempts, (std::vector<uint32_t>{1, 2}));
  end(0, model::STATE_FAILED);
  EXPECT_EQ(end_of("job")->failed(), 1U) << "there was one more try";
}

TEST_F(Mind, WaitsBeforeATryAsTheJobSays) {
  model::Spec spec = spec_of(1);
  spec.set_retries(1);
  spec.set_backoff_ms(3000);
  submit_job("job", spec);
  begin();
  end(0, model::STATE_FAILED);
  pass(Millis(2900));
  EXPECT_EQ(started, Tasks{0});
  pass(Millis(1000));
  EXPECT_EQ(started, (Tasks{0, 0}));
}

TEST_F(Mind, StopsTheTasksOfAJobThatIsCancelled) {
  submit_job("job", 2);
  begin();
  ASSERT_TRUE(cancel_job(*store, "job", now_us()).ok());
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(running.empty());
  EXPECT_EQ(depth("job"), (Depth{0, 0}));
  EXPECT_EQ(mind->leftovers(), "");
}

TEST_F(Mind, ReadsAPageAgainThatSomebodyElseHasWritten) {
  submit_job("job", 4);
  begin();
  model::Page other;
  *other.add_outcomes() = outcome(3, model::STATE_OK);
  put_page("job", 0, other);
  end(0);
  pass(Millis(100));
  EXPECT_EQ(page("job").outcomes_size(), 2);
}

TEST_F(Mind, KeepsTheFirstOutcomeOfATask) {
  submit_job("job", 2);
  begin();
  model::Page other;
  *other.add_outcomes() = outcome(0, model::STATE_FAILED);
  put_page("job", 0, other);
  end(0);
  end(1);
  EXPECT_EQ(page("job").outcomes(0).state(), model::STATE_FAILED);
  EXPECT_EQ(end_of("job")->failed(), 1U);
}

TEST_F(Mind, GivesTasksOfALostWorkerMessagesOfTheirOwn) {
  submit_job("job", 3);
  rival_pulls("job");
  clock.advance(std::chrono::hours(2));  // It is lost.
  begin();
  pass(std::chrono::seconds(1));
  EXPECT_EQ(count_bits(page("job").moved()), 3U);
  while (!running.empty()) {
    end(running.begin()->second.task);
    pass(std::chrono::seconds(1));
  }
  EXPECT_EQ(end_of("job")->ok(), 3U);
}

TEST_F(Mind, LosesATaskThatTookThreeWorkersWithIt) {
  submit_job("job", 1);
  model::Page page_of_three;
  for (const uint32_t attempt : {1, 2, 3}) add_claim(page_of_three, 0, attempt, "gone");
  put_page("job", 0, page_of_three);
  for (int i = 0; i < 3; ++i) {
    rival_pulls("job");
    clock.advance(std::chrono::hours(2));
  }
  begin();
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(started.empty());
  EXPECT_EQ(page("job").outcomes(0).state(), model::STATE_LOST);
}

TEST_F(Mind, RestsWhenItCouldNotStartThreeTasks) {
  submit_job("job", 10);
  begin();
  const auto refuse = [](Ending& ending) {
    ending.outcome.set_blame(model::BLAME_WORKER);
    ending.outcome.set_why("the disk is full");
  };
  for (const uint64_t task : {0, 1, 2}) end(task, model::STATE_REFUSED, refuse);
  EXPECT_NE(mind->trouble(), "");
  const size_t count = started.size();
  for (const uint64_t task : running_tasks()) end(task, model::STATE_REFUSED, refuse);
  pass(std::chrono::seconds(4));
  EXPECT_EQ(started.size(), count);
  pass(std::chrono::seconds(4));
  EXPECT_EQ(started.size(), count + 1) << "one, to see if it works";
  end(running.begin()->second.task);
  EXPECT_EQ(mind->trouble(), "");
}

TEST_F(Mind, PublishesAnOutcomeAfterItsOutputIsStored) {
  submit_job("job", 1);
  begin();
  end(0, model::STATE_OK, [](Ending& ending) { ending.out_spool = "/spool/out"; });
  ASSERT_EQ(uploads.size(), 1U);
  EXPECT_FALSE(end_of("job"));
  mind->uploaded(uploads[0].ticket, {}, now());
  settle();
  ASSERT_TRUE(end_of("job"));
  EXPECT_EQ(page("job").outcomes(0).out().where(), model::Output::BLOB);
}

TEST_F(Mind, EndsAJobOfSeveralPagesThroughItsTree) {
  submit_job("job", kPageTasks + 1);
  begin();
  while (!running.empty()) {
    end(running.begin()->second.task, model::STATE_OK,
        [](Ending& ending) { ending.outcome.set_ran_us(10); });
    pass(Millis(50));
  }
  ASSERT_TRUE(end_of("job"));
  EXPECT_EQ(end_of("job")->ok(), kPageTasks + 1);
  EXPECT_EQ(mind->leftovers(), "");
}

TEST_F(Mind, StartsTheJobThatComesAfterTheOneThatItEnds) {
  submit_job("first", 1);
  model::Spec spec = spec_of(1);
  spec.add_after("first");
  submit_job("second", spec);
  begin();
  end(0);
  pass(std::chrono::seconds(1));
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running.begin()->second.job->id, "second");
}

TEST_F(Mind, LetsADamagedPageStopItsOwnTasksAlone) {
  submit_job("bad", 1);
  put(kPages, page_key("bad", 0), "\xff no page");
  rival_pulls("bad");
  clock.advance(std::chrono::hours(2));  // So the page is looked at.
  submit_job("good", 1);
  begin();
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running.begin()->second.job->id, "good");
  end(0);
  EXPECT_TRUE(end_of("good"));
  put(kPages, page_key("bad", 0), "");
  pass(std::chrono::seconds(11));
  ASSERT_EQ(running.size(), 1U) << "it was repaired";
  EXPECT_EQ(running.begin()->second.job->id, "bad");
}

TEST_F(Mind, DropsAMessageThatIsNoRange) {
  submit_job("job", 1);
  rival_pulls("job");
  ASSERT_TRUE(store->queue().push(queue("job"), std::vector<Message>{{"odd", "\xff"}}).ok());
  begin();
  EXPECT_EQ(depth("job"), (Depth{0, 1}));
  EXPECT_EQ(mind->holds(), 0U);
}

TEST_F(Mind, TakesNoMoreAtOnceThanTheSlotsThatAreLeft) {
  options.slots = 4;
  submit_job("job", 8);
  begin();
  ASSERT_EQ(running.size(), 4U);
  mind->set_slots(1, now());
  settle();
  EXPECT_EQ(running.size(), 4U) << "what runs is finished";
  for (const uint64_t task : {0, 1, 2}) end(task);
  EXPECT_EQ(running.size(), 1U);
}

TEST_F(Mind, LeavesAfterSoLongWithoutWork) {
  options.idle_exit = std::chrono::seconds(5);
  begin();
  pass(std::chrono::seconds(3));
  EXPECT_FALSE(mind->gone());
  pass(std::chrono::seconds(5));
  EXPECT_TRUE(mind->gone());
  EXPECT_EQ(get_row(store->table(), kWorkers, "w").value().version, 0U);
}

}  // namespace
}  // namespace dunlin::worker
