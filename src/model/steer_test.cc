#include "model/steer.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "sim/test_jobs.h"

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
};

// Takes few rows at once, as DynamoDB does. A message is a row, and may have another one.
class Narrow final : public CallStore {
 public:
  Narrow(CallStore& store, size_t rows_max) : CallStore(1), store_(store), rows_max_(rows_max) {}

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
  CallStore& store_;
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

// After the first commit, something happens.
class Interrupted final : public CallStore {
 public:
  Interrupted(CallStore& store, std::function<void()> what)
      : CallStore(1), store_(store), what_(std::move(what)) {}

 protected:
  Answer call(Request&& request) override {
    const bool commit = std::holds_alternative<Commit>(request);
    Answer answer = store_.ask(std::move(request));
    if (commit && what_) std::exchange(what_, {})();
    return answer;
  }

 private:
  CallStore& store_;
  std::function<void()> what_;
};

// Workers that know that a round has ended drop what they get of it.
TEST_F(Steer, RetryOpensAnotherRoundIfTheJobHasEndedInBetween) {
  submit_job("j", 600);
  finish_queued("j");
  run_tasks("j", 600, 0, 600, {7, 307});
  end_job("j", model::End::DONE, 598, 2);
  Interrupted interrupted(*store, [this] {
    run_tasks("j", 600, 0, 256);
    end_job("j", model::End::DONE, 599, 1);
  });
  const Retried retried = retry_failed(interrupted, "j", 9).value();
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
  Interrupted interrupted(*store, [this] {
    run_tasks("j", 600, 0, 256);
    end_job("j", model::End::DONE, 599, 1);
    EXPECT_EQ(retry_failed(*store, "j", 9).value().tasks, 1);
    run_tasks("j", 600, 256, 512, {307});
    end_job("j", model::End::DONE, 599, 1);
  });
  EXPECT_EQ(retry_failed(interrupted, "j", 9).error().code, Code::conflict);
  EXPECT_EQ(standing_of("j").state, JobState::failed);
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
