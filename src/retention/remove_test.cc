#include "retention/remove.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <utility>

#include "model/jobs/steer.h"
#include "model/views/list_jobs.h"
#include "testing/retention.h"

namespace dunlin::retention {
namespace {

class Remove : public TestRetention {
 protected:
  // Much later all ends are known to be old.
  RemoverOptions removal(WallTime now) const {
    return {.old_ends = now == kMuchLater ? kAnyVersion : 0};
  }
  Verdict remove(const std::string& id, WallTime now) { return remove(*store, id, now); }
  Verdict remove(RequestStore& at, const std::string& id, WallTime now) const {
    Remover remover(at, removal(now));
    std::vector<Candidate> jobs = remover.read({id}).value();
    return remover.remove(jobs, now).value().front();
  }
  // Whatever rests of stones is cleared.
  void sweep_stones(WallTime now) { sweep_for(RemoverOptions().stone_kept + Millis(60'000), now); }
};

TEST_F(Remove, ASmallJobGoesInOneCommit) {
  ended_job("j", 3, {.key = "nightly"});
  Counting counting(*store);
  EXPECT_EQ(remove(counting, "j", kMuchLater), Verdict::removed);
  EXPECT_EQ(counting.commits, 1);
  EXPECT_EQ(left_of("j"), "");
}

TEST_F(Remove, AJobGoesWithAllThatBelongsToIt) {
  for (const WallTime now : {kMuchLater, kSoonLater}) {
    ended_job("j", 70'000, {});
    put(kOutputs, output_key("j", 7, 1, "out"), "much");
    put(kOutputs, output_key("jj", 7, 1, "out"), "of another job");
    put_blob(input_blob_name("j", "0"));
    put_blob(blob_name("j", 7, 1, "out"));
    EXPECT_EQ(remove("j", now), Verdict::removed);
    sweep_stones(now);
    EXPECT_EQ(left_of("j"), "");
    EXPECT_NE(left_of("jj"), "");
  }
}

TEST_F(Remove, WhatWorkersWriteLateGoesToo) {
  ended_job("j", 3, {});
  EXPECT_EQ(remove("j", kSoonLater), Verdict::removed);
  EXPECT_EQ(read_job(store->table(), "j").error().code, Code::not_found);
  EXPECT_TRUE(jobs_after(store->table(), "", 10).value().empty());
  run_tasks("j", 3, 0, 3);
  put_blob(blob_name("j", 1, 1, "out"));
  sweep_stones(kSoonLater);
  EXPECT_EQ(left_of("j"), "");
}

TEST_F(Remove, AJobThatHasNotEndedStays) {
  submit_job("j", 3);
  EXPECT_EQ(remove("j", kMuchLater), Verdict::open);
  EXPECT_EQ(remove("k", kMuchLater), Verdict::absent);
  EXPECT_TRUE(read_job(store->table(), "j").ok());
}

TEST_F(Remove, AJobThatOthersComeAfterStaysUntilTheyWereStarted) {
  for (const uint64_t tasks : {3, 300}) {
    submit_job("a", tasks);
    model::Spec spec = spec_of(1);
    spec.add_after("a");
    submit_job("b", spec);
    run_tasks("a", tasks, 0, tasks);
    end_job("a", model::End::DONE, tasks, 0);
    EXPECT_EQ(remove("a", kMuchLater), Verdict::awaited);
    ASSERT_TRUE(release_dependants(*store, "a", now_us()).ok());
    EXPECT_EQ(remove("a", kMuchLater), Verdict::removed);
    end_job("b", model::End::DONE, 1, 0);
    EXPECT_EQ(remove("b", kMuchLater), Verdict::removed);
    EXPECT_EQ(left_of("a") + left_of("b"), "");
  }
}

TEST_F(Remove, AJobStaysWhileAnotherWaitsForItAndForMore) {
  for (const uint64_t tasks : {3, 300}) {
    submit_job("a", tasks);
    submit_job("b", 1);
    model::Spec spec = spec_of(1);
    spec.add_after("a");
    spec.add_after("b");
    submit_job("c", spec);
    run_tasks("a", tasks, 0, tasks);
    end_job("a", model::End::DONE, tasks, 0);
    ASSERT_TRUE(release_dependants(*store, "a", now_us()).ok());
    EXPECT_EQ(remove("a", kMuchLater), Verdict::awaited);
    end_job("b", model::End::DONE, 1, 0);
    ASSERT_TRUE(release_dependants(*store, "b", now_us()).ok());
    EXPECT_EQ(queued("c").size(), 1);
    EXPECT_EQ(remove("a", kMuchLater), Verdict::removed);
    EXPECT_EQ(remove("b", kMuchLater), Verdict::removed);
    end_job("c", model::End::DONE, 1, 0);
    drain(read_job(store->table(), "c").value().record.queue());
    EXPECT_EQ(remove("c", kMuchLater), Verdict::removed);
    EXPECT_EQ(left_of("a") + left_of("b") + left_of("c"), "");
  }
}

TEST_F(Remove, AJobThatHadEndedStaysWhileAnotherWaitsForItAndForMore) {
  ended_job("a", 3, {});
  submit_job("b", 1);
  submit_after("c", {"a", "b"});
  EXPECT_EQ(remove("a", kMuchLater), Verdict::awaited);
  end_job("b", model::End::DONE, 1, 0);
  ASSERT_TRUE(release_dependants(*store, "b", now_us()).ok());
  EXPECT_EQ(queued("c").size(), 1);
  EXPECT_EQ(remove("a", kMuchLater), Verdict::removed);
  EXPECT_TRUE(store->table().scan(kAfter, "", "", 1).value().empty());
}

// The one that is removed has ended before, or since; the other one ends in the end.
TEST_F(Remove, WhatIsSubmittedAfterAJobThatGoesAtAnyMomentWaitsForNobody) {
  for (const bool ended : {true, false}) {
    for (const WallTime now : {kMuchLater, kSoonLater}) {
      bool whole = false;
      for (int at = 1; !whole && at < 100; ++at) {
        store = memory_store(clock);
        submit_job("a", 1);
        submit_job("b", 1);
        if (ended) end_job("a", model::End::DONE, 1, 0);
        const auto goes = [&] {
          end_job("a", model::End::DONE, 1, 0);
          ASSERT_TRUE(release_dependants(*store, "a", now_us()).ok());
          (void)remove("a", now);
        };
        model::Spec spec = spec_of(1);
        spec.add_after("a");
        spec.add_after("b");
        Between slow(*store, Between::Before::request, {{at, goes}});
        const auto submitted = submit(slow, spec, {.id = "c"});
        whole = slow.asked < at;
        if (whole) goes();
        EXPECT_TRUE(submitted.ok() || submitted.error().code == Code::not_found) << at;
        end_job("b", model::End::DONE, 1, 0);
        ASSERT_TRUE(release_dependants(*store, "b", now_us()).ok());
        EXPECT_TRUE(store->table().scan(kWaits, "", "", 1).value().empty()) << at;
        EXPECT_EQ(submitted.ok(), read_job(store->table(), "c").ok()) << at;
        EXPECT_TRUE(!submitted.ok() || queued("c").size() == 1) << at;
        EXPECT_NE(remove("a", kMuchLater), Verdict::awaited) << at;
      }
      EXPECT_TRUE(whole);
    }
  }
}

TEST_F(Remove, ACancelAtAnyMomentOfARemovalLeavesNothing) {
  for (const WallTime now : {kMuchLater, kSoonLater}) {
    bool whole = false;
    for (int at = 1; !whole && at < 100; ++at) {
      submit_job("j", 3);
      const auto goes = [&] {
        run_tasks("j", 3, 0, 3);
        end_job("j", model::End::DONE, 3, 0);
        EXPECT_EQ(remove("j", now), Verdict::removed);
      };
      Between slow(*store, Between::Before::request, {{at, goes}});
      const auto cancelled = cancel_job(slow, "j", now_us());
      whole = slow.asked < at;
      if (whole) (void)remove("j", now);
      EXPECT_TRUE(cancelled.ok() || cancelled.error().code == Code::not_found);
      sweep_stones(now);
      EXPECT_EQ(left_of("j"), "") << at;
    }
    EXPECT_TRUE(whole);
  }
}

TEST_F(Remove, ARetryAtAnyMomentOfARemovalLeavesAllOrNothing) {
  for (const WallTime now : {kMuchLater, kSoonLater}) {
    bool whole = false;
    for (int at = 1; !whole && at < 100; ++at) {
      submit_job("j", 300);
      drain(read_job(store->table(), "j").value().record.queue());
      run_tasks("j", 300, 0, 300, {1, 257});
      end_job("j", model::End::DONE, 298, 2);
      Verdict verdict = Verdict::open;
      Between slow(*store, Between::Before::request, {{at, [&] { verdict = remove("j", now); }}});
      const auto retried = retry_failed(slow, "j", now_us());
      whole = slow.asked < at;
      EXPECT_EQ(retried.ok(), verdict != Verdict::removed) << at;
      // It has no end any more, or is not there.
      EXPECT_TRUE(retried.ok() || retried.error().code == Code::not_found ||
                  retried.error().code == Code::conflict)
          << retried.error().what;
      if (retried.ok()) {
        EXPECT_EQ(retried.value().tasks, 2);
        end_job("j", model::End::DONE, 300, 0);
        drain(read_job(store->table(), "j").value().record.queue());
        EXPECT_EQ(remove("j", kMuchLater), Verdict::removed);
      }
      sweep_stones(now);
      EXPECT_EQ(left_of("j"), "") << at;
    }
    EXPECT_TRUE(whole);
  }
}

TEST_F(Remove, OneOfARetryAndARemovalWins) {
  for (const uint64_t tasks : {3, 300}) {
    submit_job("j", tasks);
    run_tasks("j", tasks, 0, tasks, {1});
    end_job("j", model::End::DONE, tasks - 1, 1);
    Remover remover(*store, removal(kMuchLater));
    std::vector<Candidate> jobs = remover.read({"j"}).value();
    ASSERT_EQ(retry_failed(*store, "j", now_us()).value().tasks, 1);
    EXPECT_EQ(remover.remove(jobs, kMuchLater).value().front(), Verdict::open);
    end_job("j", model::End::DONE, tasks - 1, 1);
    EXPECT_EQ(remove("j", kMuchLater), Verdict::removed);
    EXPECT_EQ(retry_failed(*store, "j", now_us()).error().code, Code::not_found);
    EXPECT_EQ(left_of("j"), "");
  }
}

TEST_F(Remove, NothingComesAfterAJobThatIsGone) {
  ended_job("a", 3, {});
  EXPECT_EQ(remove("a", kSoonLater), Verdict::removed);
  model::Spec spec = spec_of(1);
  spec.add_after("a");
  EXPECT_EQ(submit(*store, spec, {.id = "b"}).error().code, Code::not_found);
}

TEST_F(Remove, ARepeatedSubmissionOfWhatIsGoneStartsNothing) {
  ended_job("j", 3, {});
  EXPECT_EQ(remove("j", kSoonLater), Verdict::removed);
  EXPECT_TRUE(submit(*store, spec_of(3), {.id = "j"}).value().existed);
  EXPECT_EQ(read_job(store->table(), "j").error().code, Code::not_found);
}

// It had ended hours ago, by the clock of the worker that ended it.
TEST_F(Remove, ALateCopyOfTheSubmissionOfWhatIsGoneStartsNothing) {
  Copying copying(*store);
  ASSERT_TRUE(submit(copying, spec_of(3), {.id = "j"}).ok());
  drain(read_job(store->table(), "j").value().record.queue());
  run_tasks("j", 3, 0, 3);
  end_job("j", model::End::DONE, 3, 0);
  Remover remover(*store, {});
  std::vector<Candidate> jobs = remover.read({"j"}).value();
  ASSERT_EQ(remover.remove(jobs, kMuchLater).value().front(), Verdict::removed);
  ASSERT_EQ(copying.commits.size(), 1);
  (void)store->ask(Commit(copying.commits.front()));
  EXPECT_EQ(read_job(store->table(), "j").error().code, Code::not_found);
  EXPECT_EQ(store->info().value().queues.size(), 0);
  sweep_stones(kMuchLater);
  EXPECT_EQ(left_of("j"), "");
}

TEST_F(Remove, AKeyMayBeUsedAgainAfterItsJobIsGone) {
  for (const WallTime now : {kMuchLater, kSoonLater}) {
    ended_job("j", 3, {.key = "nightly"});
    EXPECT_EQ(remove("j", now), Verdict::removed);
    EXPECT_EQ(submit(*store, spec_of(3), {.id = "k", .key = "nightly"}).value().id, "k");
    // The stone of the first one does not take the key from the second.
    sweep_stones(now);
    EXPECT_EQ(left_of("j"), "");
    EXPECT_EQ(get_row(store->table(), kKeys, "nightly").value().value, "k");
    end_job("k", model::End::DONE, 3, 0);
    EXPECT_EQ(remove("k", kMuchLater), Verdict::removed);
    EXPECT_EQ(left_of("k"), "");
  }
}

TEST_F(Remove, ManyJobsAreRemovedWithFewRequests) {
  std::vector<std::string> ids;
  for (int i = 0; i < 200; ++i) {
    ids.push_back(fmt::format("j{:03}", i));
    ended_job(ids.back(), 1, {});
    ended_job("k" + ids.back(), 1, {});
  }
  put(kOutputs, output_key("j007-", 0, 1, "out"), "of another job, in between");
  put(kOutputs, output_key("j050", 0, 1, "out"), "much");
  Counting counting(*store);
  Remover remover(counting, removal(kMuchLater));
  std::vector<Candidate> jobs = remover.read(ids).value();
  const std::vector<Verdict> verdicts = remover.remove(jobs, kMuchLater).value();
  EXPECT_EQ(verdicts, std::vector<Verdict>(ids.size(), Verdict::removed));
  EXPECT_LE(counting.requests, 40);
  for (const std::string& id : ids) EXPECT_EQ(left_of(id), "");
  EXPECT_NE(left_of("kj007"), "");
  EXPECT_EQ(history_of_day().jobs(), 200);
}

TEST_F(Remove, OneInTheWayDoesNotKeepTheOthers) {
  ended_job("a", 1, {});
  ended_job("b", 1, {});
  ended_job("c", 300, {});
  submit_job("d", 1);
  Remover remover(*store, removal(kMuchLater));
  std::vector<Candidate> jobs = remover.read({"a", "b", "c", "d", "e"}).value();
  end_job("b", model::End::CANCELLED, 0, 0);  // The row is another one now.
  const std::vector<Verdict> want = {Verdict::removed, Verdict::removed, Verdict::removed,
                                     Verdict::open, Verdict::absent};
  EXPECT_EQ(remover.remove(jobs, kMuchLater).value(), want);
  EXPECT_EQ(left_of("a") + left_of("b") + left_of("c"), "");
  EXPECT_EQ(history_of_day().jobs(), 3);
  EXPECT_EQ(history_of_day().cancelled(), 1);
}

TEST_F(Remove, TwoWhoRemoveTheSameCountItOnce) {
  ended_job("a", 1, {});
  Remover one(*store, removal(kMuchLater));
  Remover other(*store, removal(kMuchLater));
  std::vector<Candidate> jobs = one.read({"a"}).value();
  std::vector<Candidate> same = other.read({"a"}).value();
  EXPECT_EQ(one.remove(jobs, kMuchLater).value().front(), Verdict::removed);
  EXPECT_EQ(other.remove(same, kMuchLater).value().front(), Verdict::absent);
  EXPECT_EQ(history_of_day().jobs(), 1);
}

TEST_F(Remove, BlobsOfUsersStayWhateverTheirName) {
  put_blob("jobs/0/data");
  put_blob("jobs/0000000000000/data");
  Remover remover(*store, {});
  ASSERT_TRUE(remover.erase_orphans("zzz").ok());
  const std::vector<BlobInfo> left = store->blobs().list("jobs/", "", 10).value();
  ASSERT_EQ(left.size(), 1);
  EXPECT_EQ(left[0].name, "jobs/0/data");
}

TEST_F(Remove, CommitsFitIntoWhatAStoreTakes) {
  std::vector<std::string> ids;
  for (int i = 0; i < 60; ++i) {
    ids.push_back(fmt::format("j{:02}", i));
    ended_job(ids.back(), i % 2 == 0 ? 1 : 300,
              {.key = "key-" + ids.back(), .owner = "o-" + ids.back()});
  }
  Counting counting(*store);
  Remover remover(counting, {.commit_rows = 100, .old_ends = kAnyVersion});
  std::vector<Candidate> jobs = remover.read(ids).value();
  ASSERT_TRUE(remover.remove(jobs, kMuchLater).ok());
  EXPECT_LE(counting.rows_most, 100);
  for (const std::string& id : ids) EXPECT_EQ(left_of(id), "");
}

// Whoever removes a job dies after so many requests; the sweeper goes on.
TEST_F(Remove, ARemovalThatIsCutOffIsFinishedLater) {
  for (const WallTime now : {kMuchLater, kSoonLater}) {
    for (const uint64_t tasks : {1, 300}) {
      bool whole = false;
      for (int requests = 1; !whole && requests < 60; ++requests) {
        ended_job("j", tasks, {.key = "nightly"});
        put(kOutputs, output_key("j", 0, 1, "out"), "much");
        put_blob(blob_name("j", 0, 1, "out"));
        Dying dying(*store, requests);
        Remover remover(dying, removal(now));
        const auto found = remover.read({"j"});
        std::vector<Candidate> jobs = found.ok() ? found.value() : std::vector<Candidate>();
        whole = found.ok() && remover.remove(jobs, now).ok();
        if (!whole) sweep_stones(now);
        const bool there = read_job(store->table(), "j").ok();
        if (there) {
          EXPECT_EQ(remove("j", kMuchLater), Verdict::removed) << requests;
          sweep_stones(kMuchLater);
        }
        if (whole) sweep_stones(now);
        EXPECT_EQ(left_of("j"), "") << requests;
      }
      EXPECT_TRUE(whole);
    }
  }
}

TEST_F(Remove, RepliesThatNobodyTakesGoAndOthersStay) {
  ended_job("dead", 1, {});
  submit_job("alive", 1);
  push_reply("reply.x", "dead");
  push_reply("reply.x", "alive");
  push_reply("reply.x", "never-was");
  Remover remover(*store, {});
  const int64_t ended_us = now_us() + 2'000'000;
  ASSERT_TRUE(remover.drop_replies("reply.x", ended_us).ok());
  EXPECT_EQ(store->queue().depth("reply.x").value().ready, 2);
  ASSERT_TRUE(remover.drop_replies("reply.x", ended_us + 1).ok());
  EXPECT_EQ(store->queue().depth("reply.x").value().ready, 1);
}

TEST_F(Remove, TheQueueOfAClientThatWaitedGoesWithItsJob) {
  for (const WallTime now : {kMuchLater, kSoonLater}) {
    model::Spec spec = spec_of(1);
    spec.set_reply(own_reply_queue("j"));
    submit_job("j", spec);
    run_tasks("j", 1, 0, 1);
    end_job("j", model::End::DONE, 1, 0);
    push_reply(own_reply_queue("j"), "j");
    EXPECT_EQ(remove("j", now), Verdict::removed);
    EXPECT_EQ(store->queue().depth(own_reply_queue("j")).value(), Depth());
    sweep_stones(now);
    EXPECT_EQ(left_of("j"), "");
  }
}

TEST_F(Remove, ADamagedRowIsLeftForPeopleToLookAt) {
  ended_job("j", 1, {});
  put(kJobs, "j", "\xff no job");
  EXPECT_EQ(remove("j", kMuchLater), Verdict::absent);
}

}  // namespace
}  // namespace dunlin::retention
