#include "model/jobs/results.h"

#include <gtest/gtest.h>

#include "testing/jobs.h"

namespace dunlin {
namespace {

class Results : public TestJobs {
 protected:
  std::vector<uint64_t> read(const std::string& id, uint64_t first, uint64_t last) {
    ResultReader reader(store->table(), id, first, last);
    std::vector<uint64_t> tasks;
    while (true) {
      const auto result = reader.next().value();
      if (!result) return tasks;
      tasks.push_back(result->task);
    }
  }
};

TEST_F(Results, ComeInTheOrderOfTheTasks) {
  submit_job("j", 70'000);
  run_tasks("j", 70'000, 68'000, 69'000);
  run_tasks("j", 70'000, 10, 20);
  const auto tasks = read("j", 0, 70'000);
  ASSERT_EQ(tasks.size(), 1010);
  EXPECT_TRUE(std::ranges::is_sorted(tasks));
  EXPECT_EQ(tasks.front(), 10);
  EXPECT_EQ(tasks.back(), 68'999);
}

TEST_F(Results, OfManyPagesAreReadInParts) {
  submit_job("j", 20'000);
  run_tasks("j", 20'000, 0, 20'000);
  EXPECT_EQ(read("j", 0, 20'000).size(), 20'000);
}

TEST_F(Results, OfASpanAreThoseAlone) {
  submit_job("j", 1000);
  submit_job("jj", 1000);
  run_tasks("j", 1000, 0, 1000);
  run_tasks("jj", 1000, 0, 1000);
  EXPECT_EQ(read("j", 250, 260),
            (std::vector<uint64_t>{250, 251, 252, 253, 254, 255, 256, 257, 258, 259}));
  EXPECT_EQ(read("j", 999, 1000), std::vector<uint64_t>{999});
}

TEST_F(Results, AWorkerThatThePageDoesNotNameIsNone) {
  model::Page page;
  for (const uint32_t worker : {0U, 1U, 2U, uint32_t{INT32_MAX}, 1U << 31U, UINT32_MAX}) {
    model::Outcome& one = *page.add_outcomes();
    one.set_offset(static_cast<uint32_t>(page.outcomes_size()));
    one.set_worker(worker);
  }
  page.add_workers("a");
  page.add_workers("b");
  std::string workers;
  const auto results = results_of(0, page);
  ASSERT_TRUE(results.ok());
  for (const TaskResult& result : results.value()) workers += result.worker + ",";
  EXPECT_EQ(workers, "a,b,,,,,");
}

TEST_F(Results, APageUnderAKeyThatIsNotOursIsNotReadForEver) {
  for (const char* const key : {"j/1", "j/0", "j/+1", "j/x", "j/00000000/1", "j/000000001"}) {
    submit_job("j", 1000);
    run_tasks("j", 1000, 0, 300);
    put(kPages, key, "");
    Dying limited(*store, 1000);
    ResultReader reader(limited.table(), "j", 0, 1000);
    Result<void> read;
    for (int i = 0; i < 301 && read.ok(); ++i) {
      const auto result = reader.next();
      if (!result.ok()) read = result.error();
    }
    ASSERT_FALSE(read.ok()) << key;
    EXPECT_EQ(read.error().code, Code::corrupt) << key;
    EXPECT_TRUE(store->table().erase(kPages, key, kAnyVersion).ok());
  }
  // Those behind the last page belong to nobody.
  for (const uint64_t number : {uint64_t{4}, uint64_t{1} << 40U, UINT64_MAX}) {
    put(kPages, page_key("j", number), "");
  }
  EXPECT_EQ(read("j", 0, 1000).size(), 300);
}

TEST_F(Results, AFollowerTakesEachOutcomeOnce) {
  submit_job("j", 600);
  ResultFollower follower("j", 600);
  std::vector<uint64_t> tasks;
  const auto take = [&](const TaskResult& result) -> Result<void> {
    tasks.push_back(result.task);
    return {};
  };
  run_tasks("j", 600, 300, 310);
  ASSERT_TRUE(follower.look(store->table(), take).ok());
  EXPECT_EQ(tasks.size(), 10);

  model::Page reply;
  *reply.add_outcomes() = outcome(309, model::STATE_OK);
  *reply.add_outcomes() = outcome(310, model::STATE_OK);
  ASSERT_TRUE(follower.add(1, reply, take).ok());
  EXPECT_EQ(tasks.back(), 310);
  EXPECT_EQ(tasks.size(), 11);

  run_tasks("j", 600, 0, 600);
  ASSERT_TRUE(follower.look(store->table(), take).ok());
  ASSERT_TRUE(follower.look(store->table(), take).ok());
  EXPECT_EQ(tasks.size(), 600);
  EXPECT_TRUE(follower.complete());
}

TEST_F(Results, PagesThatAreSkippedAreNotRead) {
  submit_job("j", 10'000);
  run_tasks("j", 10'000, 0, 10'000);
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(read_pages(
                  store->table(), "j", 1, 39, [](uint64_t number) { return number % 3 != 0; },
                  [&](uint64_t number, const model::Page&) -> Result<bool> {
                    numbers.push_back(number);
                    return true;
                  })
                  .ok());
  EXPECT_EQ(numbers, (std::vector<uint64_t>{3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36}));
}

TEST_F(Results, ATaskHasOneOutcome) {
  model::Page page;
  *page.add_outcomes() = outcome(3, model::STATE_OK);
  *page.add_outcomes() = outcome(2, model::STATE_OK);
  EXPECT_EQ(results_of(0, page).value().size(), 2U);
  *page.add_outcomes() = outcome(3, model::STATE_FAILED);
  EXPECT_EQ(results_of(0, page).error().code, Code::corrupt);
}

TEST_F(Results, OutputIsFoundWhereverItIs) {
  model::Outcome here = outcome(7, model::STATE_OK, "small");
  EXPECT_EQ(whole_output(*store, "j", 7, here, "out").value(), "small");
  EXPECT_EQ(whole_output(*store, "j", 7, here, "err").value(), "");

  here.mutable_err()->set_where(model::Output::ROW);
  EXPECT_EQ(whole_output(*store, "j", 7, here, "err").error().code, Code::not_found);
  put(kOutputs, output_key("j", 7, 1, "err"), "from a row");
  EXPECT_EQ(whole_output(*store, "j", 7, here, "err").error().code, Code::corrupt);
  here.mutable_err()->set_size(10);
  EXPECT_EQ(whole_output(*store, "j", 7, here, "err").value(), "from a row");

  const std::string large(3'000'000, 'x');
  here.mutable_out()->set_where(model::Output::BLOB);
  here.mutable_out()->set_size(large.size());
  const NamedBlob blob = blob_of_bytes(blob_name("j", 7, 1, "out"), large);
  ASSERT_TRUE(store->blobs().put(blob.name, blob.size, blob.source).ok());
  EXPECT_EQ(whole_output(*store, "j", 7, here, "out").value(), large);
}

}  // namespace
}  // namespace dunlin
