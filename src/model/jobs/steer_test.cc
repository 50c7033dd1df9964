#include "model/jobs/steer.h"

#include <gtest/gtest.h>

#include <set>

#include "testing/jobs.h"

namespace dunlin {
namespace {

class Steer : public TestJobs {
 protected:
  Standing standing_of(const std::string& id) {
    return read_standings(store->table(), {id}).value().front();
  }
  model::Node node_of(const std::string& id, uint32_t level, uint64_t number) {
    return read_record<model::Node>(store->table(), kNodes, node_key(id, level, number))
        .value()
        .record;
  }
  void finish_queued(const std::string& id) {
    const std::string queue = read_job(store->table(), id).value().record.queue();
    std::vector<Lease> leases;
    const auto pulled = store->queue().pull(queue, 100, Millis(1000), Millis(0));
    for (const dunlin::Delivery& one : pulled.value()) {
      leases.push_back(one.lease);
    }
    ASSERT_TRUE(store->queue().finish(queue, leases).ok());
  }
  model::Page page_of_job(const std::string& id, uint64_t number) {
    return read_record<model::Page>(store->table(), kPages, page_key(id, number)).value().record;
  }
  // A job of three pages that has ended; two of its tasks failed.
  void failed_job(const std::string& id) {
    submit_job(id, 600);
    finish_queued(id);
    run_tasks(id, 600, 0, 600, {7, 307});
    end_job(id, model::End::DONE, 598, 2);
  }
  // Offsets of the page without an outcome.
  static std::set<uint32_t> missing(const model::Page& page, uint64_t number) {
    std::set<uint32_t> offsets;
    for (uint32_t offset = 0; offset < page_size(number, 600); ++offset) offsets.insert(offset);
    for (const model::Outcome& one : page.outcomes()) offsets.erase(one.offset());
    return offsets;
  }
  // Workers run what has no outcome. `propagates`: and tell the tree.
  void run_again(const std::string& id, uint64_t number, model::State state, bool propagates) {
    model::Page page = page_of_job(id, number);
    for (const uint32_t offset : missing(page, number)) {
      *page.add_outcomes() = outcome(offset, state);
      page.mutable_outcomes()->rbegin()->set_attempt(2);
    }
    put_page(id, number, page);
    if (propagates) propagate(id, 600, number, counts_of(page));
  }
  // Tasks without an outcome that no message of the job's round holds: they would never end.
  std::set<uint64_t> forgotten(const std::string& id) {
    std::set<uint64_t> tasks;
    for (uint64_t number = 0; number < 3; ++number) {
      for (const uint32_t offset : missing(page_of_job(id, number), number)) {
        tasks.insert(number * kPageTasks + offset);
      }
    }
    const uint32_t round = read_job(store->table(), id).value().record.round();
    for (const model::Range& range : queued(id)) {
      for (uint64_t task = range.first(); task < range.last(); ++task) {
        if (range.round() == round) tasks.erase(task);
      }
    }
    return tasks;
  }
};

// Takes few rows at once, as DynamoDB does. A message is a row, and may have another one.
class Narrow final : public RequestStore {
 public:
  Narrow(RequestStore& store, size_t rows_max)
      : RequestStore(1), store_(store), rows_max_(rows_max) {}

 protected:
  Answer call(Request&& request) override {
    if (const auto* commit = std::get_if<Commit>(&request)) {
      size_t rows = 0;
      for (const Write& write : commit->writes) {
        const auto* push = std::get_if<Push>(&write);
        rows += push == nullptr ? 1 : 2 * push->messages.size();
      }
      if (rows > rows_max_) return Error{Code::unsupported, "too many rows at once"};
    }
    return store_.ask(std::move(request));
  }

 private:
  RequestStore& store_;
  const size_t rows_max_;
};

TEST_F(Steer, CancelEndsAJobOnce) {
  submit_job("j", 500);
  run_tasks("j", 500, 0, 10, {1});
  EXPECT_FALSE(cancel_job(*store, "j", 9).value().has_value());
  EXPECT_EQ(standing_of("j").state, JobState::cancelled);
  EXPECT_EQ(standing_of("j").end.ok(), 9);
  EXPECT_EQ(cancel_job(*store, "j", 10).value()->state, JobState::cancelled);
  EXPECT_EQ(standing_of("j").end.ended_us(), 9);
  EXPECT_EQ(cancel_job(*store, "k", 10).error().code, Code::not_found);
}

TEST_F(Steer, CancelEndsAJobWithADamagedPage) {
  submit_job("j", 500);
  run_tasks("j", 500, 256, 266);
  put(kPages, page_key("j", 0), "\xff these bytes are no page");
  const auto cancelled = cancel_job(*store, "j", 9);
  ASSERT_TRUE(cancelled.ok()) << cancelled.error().what;
  EXPECT_EQ(standing_of("j").state, JobState::cancelled);
}

TEST_F(Steer, CancelSkipsWhatComesAfter) {
  submit_job("a", 1);
  model::Spec spec = spec_of(1);
  spec.add_after("a");
  submit_job("b", spec);
  spec.set_after(0, "b");
  submit_job("c", spec);
  EXPECT_FALSE(cancel_job(*store, "b", 9).value().has_value());
  EXPECT_EQ(standing_of("b").state, JobState::cancelled);
  EXPECT_EQ(standing_of("c").state, JobState::skipped);
  EXPECT_EQ(standing_of("a").state, JobState::open);
  EXPECT_TRUE(store->table().scan(kWaits, "", "", 10).value().empty());
}

TEST_F(Steer, RetryQueuesRunsOfFailedTasksOnly) {
  submit_job("j", 70'000);
  finish_queued("j");
  run_tasks("j", 70'000, 0, 70'000, {5, 6, 7, 100, 69'999});
  end_job("j", model::End::DONE, 69'995, 5);
  const Retried retried = retry_failed(*store, "j", 9).value();
  EXPECT_EQ(retried.tasks, 5);
  EXPECT_EQ(retried.round, 1);
  EXPECT_EQ(standing_of("j").state, JobState::open);
  EXPECT_EQ(read_job(store->table(), "j").value().record.round(), 1);
  const auto ranges = queued("j");
  ASSERT_EQ(ranges.size(), 2);
  EXPECT_EQ(ranges[0].first(), 5);
  EXPECT_EQ(ranges[0].last(), 101) << "workers leave out those between that went well";
  EXPECT_EQ(ranges[0].attempt(), 2);
  EXPECT_TRUE(ranges[0].seen());
  EXPECT_EQ(ranges[0].round(), 1);
  EXPECT_EQ(ranges[1].first(), 69'999);
}

TEST_F(Steer, RetryOfScatteredFailuresFitsIntoASmallCommit) {
  submit_job("j", 600);
  finish_queued("j");
  std::vector<uint64_t> failed;
  for (uint64_t task = 0; task < 600; task += 2) failed.push_back(task);
  run_tasks("j", 600, 0, 600, failed);
  end_job("j", model::End::DONE, 300, 300);
  Narrow narrow(*store, 100);
  const auto retried = retry_failed(narrow, "j", 9);
  ASSERT_TRUE(retried.ok()) << retried.error().what;
  EXPECT_EQ(retried.value().tasks, 300);
  EXPECT_EQ(queued("j").size(), 3U) << "one for each page";
}

TEST_F(Steer, RetryQueuesNothingThatIsQueuedAlready) {
  submit_job("j", 6);
  model::Page page;
  for (const uint64_t task : {0, 1, 3, 4, 5}) {  // Task 2 is on its way.
    *page.add_outcomes() = outcome(task, task == 4 ? model::STATE_OK : model::STATE_FAILED);
  }
  put_page("j", 0, page);
  end_job("j", model::End::DONE, 1, 4);
  finish_queued("j");
  EXPECT_EQ(retry_failed(*store, "j", 9).value().tasks, 4);
  const auto ranges = queued("j");
  ASSERT_EQ(ranges.size(), 2);
  EXPECT_EQ(ranges[0].first(), 0);
  EXPECT_EQ(ranges[0].last(), 2);
  EXPECT_EQ(ranges[1].first(), 3);
  EXPECT_EQ(ranges[1].last(), 6);
}

TEST_F(Steer, RetryCutsTheTreeBackUpToTheRoot) {
  submit_job("j", 70'000);
  run_tasks("j", 70'000, 0, 70'000, {5, 69'999});
  end_job("j", model::End::DONE, 69'998, 2);
  ASSERT_TRUE(retry_failed(*store, "j", 9).ok());
  const Counts lower = counts_of(node_of("j", 1, 0));
  EXPECT_EQ(lower, (Counts{65'536 - 256, 0}));
  EXPECT_FALSE(has_bit(node_of("j", 1, 0).full(), 0));
  EXPECT_EQ(count_bits(node_of("j", 2, 0).full()), 0);
  EXPECT_EQ(counts_of(node_of("j", 2, 0)), Counts{});
  const Progress progress = read_progress(*store, "j", clock.wall()).value();
  EXPECT_EQ(progress.counts, (Counts{69'998, 0}));

  // The two run again, and the tree is whole as it was.
  run_tasks("j", 70'000, 0, 256);
  run_tasks("j", 70'000, 69'888, 70'000);
  EXPECT_EQ(counts_of(node_of("j", 2, 0)), (Counts{70'000, 0}));
  EXPECT_TRUE(is_full(node_of("j", 2, 0), 2, 0, 70'000));
}

TEST_F(Steer, RetryForgetsClaimsAndMovesOfWhatFailed) {
  submit_job("j", 3);
  model::Page page;
  for (uint64_t task = 0; task < 3; ++task) {
    *page.add_outcomes() = outcome(task, task == 1 ? model::STATE_LOST : model::STATE_OK);
    page.add_claims()->set_offset(static_cast<uint32_t>(task));
    set_bit(*page.mutable_moved(), static_cast<uint32_t>(task));
  }
  put_page("j", 0, page);
  end_job("j", model::End::DONE, 2, 1);
  ASSERT_TRUE(retry_failed(*store, "j", 9).ok());
  page = read_record<model::Page>(store->table(), kPages, page_key("j", 0)).value().record;
  EXPECT_EQ(page.outcomes_size(), 2);
  EXPECT_EQ(page.claims_size(), 2);
  EXPECT_EQ(count_bits(page.moved()), 2);
  EXPECT_FALSE(has_bit(page.moved(), 1));
}

// Workers that know that a round has ended drop what they get of it.
TEST_F(Steer, RetryOpensAnotherRoundIfTheJobHasEndedInBetween) {
  submit_job("j", 600);
  finish_queued("j");
  run_tasks("j", 600, 0, 600, {7, 307});
  end_job("j", model::End::DONE, 598, 2);
  const auto ends = [this] {
    run_tasks("j", 600, 0, 256);
    end_job("j", model::End::DONE, 599, 1);
  };
  Between slow(*store, Between::Before::commit, {{2, ends}});
  const Retried retried = retry_failed(slow, "j", 9).value();
  EXPECT_EQ(retried.tasks, 2);
  EXPECT_EQ(retried.round, 2);
  EXPECT_EQ(standing_of("j").state, JobState::open);
  EXPECT_EQ(read_job(store->table(), "j").value().record.round(), 2);
  const auto ranges = queued("j");
  ASSERT_EQ(ranges.size(), 2);
  EXPECT_EQ(ranges[0].round(), 1);
  EXPECT_EQ(ranges[1].first(), 307);
  EXPECT_EQ(ranges[1].round(), 2);
}

TEST_F(Steer, OfTwoWhoRetryOneIsTold) {
  submit_job("j", 600);
  finish_queued("j");
  run_tasks("j", 600, 0, 600, {7, 307});
  end_job("j", model::End::DONE, 598, 2);
  const auto retries = [this] {
    run_tasks("j", 600, 0, 256);
    end_job("j", model::End::DONE, 599, 1);
    EXPECT_EQ(retry_failed(*store, "j", 9).value().tasks, 1);
    run_tasks("j", 600, 256, 512, {307});
    end_job("j", model::End::DONE, 599, 1);
  };
  Between slow(*store, Between::Before::commit, {{2, retries}});
  EXPECT_EQ(retry_failed(slow, "j", 9).error().code, Code::conflict);
  EXPECT_EQ(standing_of("j").state, JobState::failed);
}

TEST_F(Steer, ACancelBetweenTwoPagesOfARetryHolds) {
  failed_job("j");
  const auto cancels = [this] { EXPECT_FALSE(cancel_job(*store, "j", 9).value().has_value()); };
  Between slow(*store, Between::Before::commit, {{2, cancels}});
  EXPECT_EQ(retry_failed(slow, "j", 9).error().code, Code::invalid);
  EXPECT_EQ(standing_of("j").state, JobState::cancelled);
  EXPECT_EQ(queued("j").size(), 1);
}

TEST_F(Steer, ARetryStopsWhenSomebodyElseHasOpenedAnotherRound) {
  const auto round = [this](const std::string& id) {
    return read_job(store->table(), id).value().record.round();
  };
  for (int at = 9; at <= 12; ++at) {  // Its first page takes eight requests, its second one four.
    const std::string id = "j" + std::to_string(at);
    failed_job(id);
    const auto others = [&] {
      EXPECT_EQ(round(id), 1);
      run_again(id, 0, model::STATE_FAILED, true);
      end_job(id, model::End::DONE, 598, 2);
      finish_queued(id);
      for (int requests = 1; round(id) < 2; ++requests) {  // It dies after its first page.
        Dying dying(*store, requests);
        (void)retry_failed(dying, id, 9).ok();
      }
    };
    Between slow(*store, Between::Before::request, {{at, others}});
    const auto retried = retry_failed(slow, id, 9);
    EXPECT_TRUE(!retried.ok() && retried.error().code == Code::conflict) << at;
    EXPECT_EQ(round(id), 2) << at;
    EXPECT_EQ(forgotten(id), std::set<uint64_t>()) << at;
    EXPECT_EQ(counts_of(page_of_job(id, 1)).failed, 1) << at;
  }
}

// The page, and the job's row, were changed by others before the commit was repeated.
TEST_F(Steer, WhatFailsAgainInTheSameRoundIsLeftToAnotherRetry) {
  for (const bool propagates : {true, false}) {
    const std::string id = propagates ? "j" : "k";
    failed_job(id);
    model::Spec spec = spec_of(1);
    spec.add_after(id);
    Repeating deaf(*store, 2, [&] {
      run_again(id, 1, model::STATE_FAILED, propagates);
      submit_job("after-" + id, spec);
    });
    const auto retried = retry_failed(deaf, id, 9);
    ASSERT_TRUE(retried.ok()) << retried.error().what;
    EXPECT_EQ(retried.value().tasks, 2);
    EXPECT_EQ(queued(id).size(), 2) << "one for each page";
    EXPECT_TRUE(is_full(page_of_job(id, 1), 1, 600)) << "the tree may have been told of it";
    EXPECT_EQ(has_bit(node_of(id, 1, 0).full(), 1), propagates);
  }
}

TEST_F(Steer, TwoWhoRetryAtAnyMomentForgetNoTask) {
  bool whole = false;
  for (int at = 1; !whole && at < 100; ++at) {
    const std::string id = "j" + std::to_string(at);
    failed_job(id);
    const auto others = [&] {
      (void)retry_failed(*store, id, 9).ok();
      finish_queued(id);
      run_again(id, 0, model::STATE_OK, true);
      run_again(id, 1, model::STATE_OK, true);
      if (is_full(node_of(id, 1, 0), 1, 0, 600)) end_job(id, model::End::DONE, 600, 0);
    };
    Between slow(*store, Between::Before::request, {{at, others}});
    const auto retried = retry_failed(slow, id, 9);
    EXPECT_TRUE(retried.ok() || retried.error().code == Code::conflict) << retried.error().what;
    whole = slow.asked < at;
    EXPECT_EQ(forgotten(id), std::set<uint64_t>()) << at;
    const Counts counts = read_progress(*store, id, clock.wall()).value().counts;
    EXPECT_EQ(counts.failed, 0) << at;
    const bool ended = has_ended(standing_of(id).state);
    EXPECT_EQ(ended, counts.ok == 600) << at;
  }
  EXPECT_TRUE(whole);
}

TEST_F(Steer, ARetryGoesOnBesideThoseWhoSubmitAfterTheJob) {
  failed_job("j");
  model::Spec spec = spec_of(1);
  spec.add_after("j");
  Between slow(*store, Between::Before::commit, {{2, [&] { submit_job("k", spec); }}});
  EXPECT_EQ(retry_failed(slow, "j", 9).value().tasks, 2);
  EXPECT_EQ(queued("j").size(), 2);
}

TEST_F(Steer, ARetryCountsOnFromTheLastStartOnRecord) {
  submit_job("j", 1);
  finish_queued("j");
  model::Page page;
  *page.add_outcomes() = outcome(0, model::STATE_FAILED);
  page.add_claims()->set_attempt(3);
  put_page("j", 0, page);
  end_job("j", model::End::DONE, 0, 1);
  EXPECT_EQ(retry_failed(*store, "j", 9).value().tasks, 1);
  EXPECT_EQ(queued("j").at(0).attempt(), 4);
}

// The outcome is that of a worker which had lost its lease: a later attempt has begun meanwhile.
TEST_F(Steer, ARetryCountsOnFromTheLastAttemptThatMayHaveBegun) {
  submit_job("j", 2);
  finish_queued("j");
  model::Page page;
  *page.add_outcomes() = outcome(0, model::STATE_FAILED);
  *page.add_outcomes() = outcome(1, model::STATE_OK);
  page.set_begun(5);
  put_page("j", 0, page);
  end_job("j", model::End::DONE, 1, 1);
  EXPECT_EQ(retry_failed(*store, "j", 9).value().tasks, 1);
  EXPECT_EQ(queued("j").at(0).attempt(), 6);
  EXPECT_EQ(
      read_record<model::Page>(store->table(), kPages, page_key("j", 0)).value().record.begun(), 6);
}

TEST_F(Steer, AJobWithoutTasksIsDamaged) {
  submit_job("j", 1);
  model::Job job = read_job(store->table(), "j").value().record;
  job.mutable_spec()->set_tasks(0);
  put(kJobs, "j", job.SerializeAsString());
  EXPECT_EQ(cancel_job(*store, "j", 9).error().code, Code::corrupt);
  end_job("j", model::End::DONE, 0, 1);
  EXPECT_EQ(retry_failed(*store, "j", 9).error().code, Code::corrupt);
}

TEST_F(Steer, RetryNeedsAJobThatIsDone) {
  submit_job("j", 3);
  EXPECT_EQ(retry_failed(*store, "j", 9).error().code, Code::conflict);
  end_job("j", model::End::CANCELLED, 0, 0);
  EXPECT_EQ(retry_failed(*store, "j", 9).error().code, Code::invalid);
  run_tasks("j", 3, 0, 3);
  end_job("j", model::End::DONE, 3, 0);
  EXPECT_EQ(retry_failed(*store, "j", 9).value().tasks, 0);
  EXPECT_EQ(standing_of("j").state, JobState::done);
}

}  // namespace
}  // namespace dunlin
