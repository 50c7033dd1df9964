#include <gtest/gtest.h>

#include <dunlin/client.h>
#include <dunlin/worker.h>
#include <thread>

#include "hub/access/token.h"
#include "testing/hub.h"
#include "testing/temp_folder.h"

namespace dunlin::sdk {
namespace {

using std::chrono::seconds;

constexpr seconds kPatience(120);

// A hub, and workers in threads of this process.
class SdkClient : public ::testing::Test {
 public:
  ~SdkClient() override {
    for (Worker& worker : workers) worker.stop();
    for (std::thread& thread : threads) thread.join();
  }

 protected:
  static std::string url(const TestHub& of) {
    return "dunlin://127.0.0.1:" + std::to_string(of.address().port());
  }
  static ConnectOptions token() { return {.token = std::string(TestHub::kToken)}; }

  Client connect() { return Client::connect(url(hub), token()).value(); }

  Worker make_worker(uint32_t slots = 2) {
    const std::string own = folder.path() + "/" + std::to_string(workers.size());
    return Worker::connect(url(hub), token(), {.slots = slots, .folder = own, .allow_root = true})
        .value();
  }
  void start(Worker worker) {
    workers.push_back(std::move(worker));
    threads.emplace_back([this, at = workers.size() - 1] {
      const auto ran = workers[at].run();
      EXPECT_TRUE(ran.ok()) << ran.error().what;
    });
  }
  void start_squares() {
    Worker worker = make_worker();
    worker.add("square", [](std::string_view text) {
      const int number = std::stoi(std::string(text));
      if (number == 13) throw std::runtime_error("unlucky");
      return std::to_string(number * number);
    });
    worker.add("repeat", [](std::string_view text) {
      return std::string(static_cast<size_t>(std::stoi(std::string(text))), 'x');
    });
    start(std::move(worker));
  }

  TestFolder folder;
  TestHub hub;
  std::vector<Worker> workers = reserved();
  std::vector<std::thread> threads;

 private:
  static std::vector<Worker> reserved() {
    std::vector<Worker> made;
    made.reserve(8);  // So that they stay where their threads look for them.
    return made;
  }
};

TEST_F(SdkClient, FunctionsReturnTheirResults) {
  start_squares();
  Client client = connect();
  JobHandle job = client.submit({.function = "square", .array = 600, .first = 100}).value();
  const auto results = job.wait(kPatience).value();
  ASSERT_EQ(results.size(), 600);
  for (uint64_t task = 0; task < 600; ++task) {
    EXPECT_EQ(results[task].task, task);
    EXPECT_EQ(results[task].output, std::to_string((task + 100) * (task + 100)));
    EXPECT_EQ(results[task].worker, workers[0].id());
  }
  EXPECT_GT(results[0].committed_us, 0);
  EXPECT_FALSE(job.next(kPatience).value().has_value());
}

TEST_F(SdkClient, ATokenOfAnOwnerSubmitsForThatOwnerAndFindsNothingElse) {
  start_squares();
  const auto connect_as = [&](const std::string& owner) {
    const std::string token =
        hub::make_token(TestHub::kToken, hub::Scope::submit, 0, owner).value();
    return Client::connect(url(hub), {.token = token}).value();
  };
  Client ann = connect_as("ann");
  Client bob = connect_as("bob");
  JobHandle hers = ann.submit({.function = "square", .array = 3, .key = "k"}).value();
  JobHandle his = bob.submit({.function = "square", .array = 4, .key = "k"}).value();
  EXPECT_EQ(hers.wait(kPatience).value().size(), 3U);
  EXPECT_EQ(his.wait(kPatience).value().size(), 4U);
  EXPECT_TRUE(hers.id().ends_with(".ann")) << hers.id();
  EXPECT_TRUE(ann.find(hers.id()).ok());
  EXPECT_EQ(ann.find(his.id()).error().code, Code::not_found);
  const auto other = ann.submit({.function = "square", .array = 1, .owner = "bob"});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::denied);
}

TEST_F(SdkClient, ResultsStreamAsTheyCome) {
  start_squares();
  Client client = connect();
  JobHandle job = client.submit({.function = "square", .values = {"2", "3", "4"}}).value();
  int sum = 0;
  while (true) {
    const auto next = job.next(kPatience);
    ASSERT_TRUE(next.ok()) << next.error().what;
    if (!*next) break;
    sum += std::stoi((*next)->output);
  }
  EXPECT_EQ(sum, 4 + 9 + 16);
}

TEST_F(SdkClient, WhatAFunctionThrowsIsAFailureWithItsWords) {
  start_squares();
  Client client = connect();
  JobHandle job = client.submit({.function = "square", .values = {"13"}}).value();
  const TaskResult result = job.wait(kPatience).value().at(0);
  EXPECT_EQ(result.state, State::failed);
  EXPECT_EQ(result.why, "unlucky");
  EXPECT_EQ(result.blame, Blame::task);
}

TEST_F(SdkClient, EveryOutcomeHasOneTaker) {
  start_squares();
  Client client = connect();
  JobHandle job = client.submit({.function = "square", .array = 4}).value();
  auto future = job.result(2);
  EXPECT_EQ(future.get().value().output, "4");
  const auto rest = job.wait(kPatience).value();
  ASSERT_EQ(rest.size(), 3);
  EXPECT_EQ(rest[2].task, 3);
  EXPECT_EQ(job.result(3).get().value().output, "9");  // From the store.
  EXPECT_EQ(job.result(4).get().error().code, Code::not_found);
}

TEST_F(SdkClient, FuturesOutliveTheirHandle) {
  start_squares();
  Client client = connect();
  auto future = client.submit({.function = "square", .values = {"7"}}).value().result(0);
  EXPECT_EQ(future.get().value().output, "49");
}

TEST_F(SdkClient, FuturesOfAClosedClientAreAnswered) {
  std::future<Expected<TaskResult>> future;
  {
    Client client = connect();
    future = client.submit({.function = "nobody"}).value().result(0);
  }
  EXPECT_EQ(future.get().error().code, Code::unavailable);
}

TEST_F(SdkClient, CommandsRunTooAndLargerOutputsComeWhole) {
  start_squares();
  Client client = connect();
  JobHandle job = client
                      .submit({.line = "echo $GREETING {}; echo no >&2; exit {}",
                               .values = {"0", "3"},
                               .env = {{"GREETING", "hello"}}})
                      .value();
  const auto results = job.wait(kPatience).value();
  ASSERT_EQ(results.size(), 2);
  EXPECT_EQ(results[0].output, "hello 0\n");
  EXPECT_EQ(results[0].error_output, "no\n");
  EXPECT_EQ(results[1].state, State::failed);
  EXPECT_EQ(results[1].exit, 3);
  JobHandle larger = client.submit({.function = "repeat", .values = {"300", "65536"}}).value();
  const auto repeated = larger.wait(kPatience).value();
  EXPECT_EQ(repeated[0].output.size(), 300);
  EXPECT_EQ(repeated[1].output.size(), 65536);
  EXPECT_EQ(larger.result(1).get().value().output.size(), 65536);
}

TEST_F(SdkClient, OutputThatIsABlobIsReadInParts) {
  start_squares();
  Client client = connect();
  JobHandle job = client.submit({.line = "head -c 3000000 /dev/zero"}).value();
  const TaskResult result = job.wait(kPatience).value().at(0);
  EXPECT_EQ(result.output_size, 3'000'000);
  EXPECT_TRUE(result.output.empty());
  size_t size = 0;
  const auto read = job.output(result, Stream::output, [&](std::string_view part) {
    size += part.size();
    return true;
  });
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(size, 3'000'000);
}

TEST_F(SdkClient, AReturnValueThatIsTooLargeIsAFailure) {
  start_squares();
  Client client = connect();
  JobHandle job = client.submit({.function = "repeat", .values = {"65537"}}).value();
  const TaskResult result = job.wait(kPatience).value().at(0);
  EXPECT_EQ(result.state, State::failed);
  EXPECT_NE(result.why.find("65537 bytes"), std::string::npos) << result.why;
}

TEST_F(SdkClient, ACancelledJobIsOver) {
  Client client = connect();
  JobHandle job = client.submit({.function = "nobody", .array = 5}).value();
  auto future = job.result(1);
  EXPECT_EQ(job.next(std::chrono::milliseconds(1)).error().code, Code::timeout);
  EXPECT_EQ(job.status()->state, JobState::open);
  ASSERT_TRUE(job.cancel().ok());
  EXPECT_EQ(job.status()->state, JobState::cancelled);
  EXPECT_TRUE(job.wait(kPatience).value().empty());
  EXPECT_EQ(future.get().error().code, Code::not_found);
}

TEST_F(SdkClient, AKeyFindsTheJobAndItsResultsAgain) {
  start_squares();
  Client client = connect();
  const JobOptions options{.function = "square", .values = {"5"}, .key = "five"};
  const std::string id = client.submit(options)->id();
  Client other = connect();
  JobHandle again = other.submit(options).value();
  EXPECT_TRUE(again.existed());
  EXPECT_EQ(again.id(), id);
  EXPECT_EQ(again.wait(kPatience).value().at(0).output, "25");
  JobHandle found = other.find(id).value();
  EXPECT_EQ(found.wait(kPatience).value().at(0).output, "25");
  EXPECT_EQ(found.status()->state, JobState::done);
  EXPECT_EQ(other.find("nothing").error().code, Code::not_found);
}

TEST_F(SdkClient, JobsOfManyThreadsDoNotMix) {
  start_squares();
  Client client = connect();
  std::vector<std::thread> callers;
  for (int thread = 1; thread <= 4; ++thread) {
    callers.emplace_back([&client, thread] {
      for (int i = 0; i < 10; ++i) {
        const int number = thread * 1000 + i;
        JobHandle job =
            client.submit({.function = "square", .values = {std::to_string(number)}}).value();
        EXPECT_EQ(job.wait(kPatience).value().at(0).output, std::to_string(number * number));
      }
    });
  }
  for (std::thread& thread : callers) thread.join();
}

TEST_F(SdkClient, ADrainedWorkerLeaves) {
  Worker worker = make_worker();
  worker.drain();
  EXPECT_TRUE(worker.run().ok());
  EXPECT_EQ(worker.run().error().code, Code::invalid);
}

TEST_F(SdkClient, MistakesAreNamed) {
  EXPECT_EQ(Client::connect("file:here").error().code, Code::unsupported);
  EXPECT_EQ(Client::connect(url(hub), {.token = "wrong"}).error().code, Code::denied);
  EXPECT_EQ(Worker::connect("dunlin://nowhere", {}, {.allow_root = true}).error().code,
            Code::invalid);
  Worker worker = make_worker();
  worker.add("a b", [](std::string_view) { return std::string(); });
  EXPECT_EQ(worker.run().error().code, Code::invalid);
}

}  // namespace
}  // namespace dunlin::sdk
