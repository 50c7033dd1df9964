#include <gtest/gtest.h>

#include "store/memory.h"
#include "tascaas/dispatcher.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"
#include "tascaas/turns.h"
#include "testing/clock.h"

namespace dunlin::tascaas {
namespace {

using std::chrono::seconds;

// One job with two partitions, which report every 20 seconds.
class Reclaim : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_TRUE(add_tenant(*store_, "t", {.max_partitions = 2}, now_).ok());
    tenant_ = read_tenant(store_->table(), "t").value();
    EXPECT_TRUE(put_text(*store_, "t", "input/data", "x", now_).ok());
    const char* text = R"({"iterations":10000,"time":400,"inputFile":"data","initWorkers":2})";
    EXPECT_TRUE(put_text(*store_, "t", "input/a.config", text, now_).ok());
    job_ = take_in(*store_, tenant_, now_).value().at(0).job;
    infra_ = register_infrastructure(*store_, tenant_, 4, 4, now_).value();
    EXPECT_EQ(hand_out(*store_, tenant_, infra_, 2, now_).value().size(), 2U);
    say(Word::start, 0, 0);
    say(Word::start, 1, 0);
  }

  Job::Partition partition(int index) {
    return read_tascaas_job(store_->table(), job_).value().record.partitions(index);
  }

  // Returns what it is told to do. Time is since the partition began.
  uint64_t say(Word word, size_t index, uint64_t done, Millis elapsed = Millis(0)) {
    const auto share = next_iterations(*store_, job_, {word, index, done, elapsed}, now_).value();
    EXPECT_EQ(share.code, balance::Code::ok);
    return share.assigned;
  }

  void upload_results(size_t index) {
    const std::string key = result_key(job_, std::to_string(index), "results.dat");
    EXPECT_TRUE(put_text(*store_, "t", key, "results", now_).ok());
  }

  // The infrastructure lives, and so does the first partition.
  void wait(Millis time) {
    for (const Millis step = seconds(20); time > Millis(0); time -= step) {
      now_ += step;
      EXPECT_TRUE(update(*store_, tenant_, infra_, {}, now_).ok());
      say(Word::report, 0, first_ += 10, now_ - began_);
      ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
    }
  }

  SimClock clock_;
  std::unique_ptr<RequestStore> store_ = memory_store(clock_);
  WallTime now_{seconds(1'700'000'000)};
  const WallTime began_ = now_;
  Tenant tenant_;
  std::string job_;
  std::string infra_;
  uint64_t first_ = 0;
};

TEST_F(Reclaim, ResultsCountAsMuchAsWhoHadThePartitionHasSaid) {
  wait(seconds(20));
  say(Word::report, 1, 4000, seconds(20));
  wait(seconds(20));
  const uint64_t told = say(Word::report, 1, 9000, seconds(40));
  upload_results(1);
  wait(seconds(120));
  EXPECT_TRUE(partition(1).finished());
  EXPECT_GE(partition(1).done(), std::min<uint64_t>(told, 9000));
}

// The first who had it was told to do less than the second one has said to have done.
TEST_F(Reclaim, ResultsCountAsWhatTheLeastWasToldOfAllWhoHadThePartition) {
  for (int t = 20; t <= 60; t += 20) {
    wait(seconds(20));
    say(Word::report, 1, static_cast<uint64_t>(t) / 20, seconds(t));
  }
  const uint64_t told = partition(1).told();
  ASSERT_LT(told, 3000U);
  wait(seconds(120));
  ASSERT_TRUE(partition(1).queued());
  ASSERT_EQ(hand_out(*store_, tenant_, infra_, 1, now_).value().size(), 1U);
  EXPECT_EQ(say(Word::start, 1, 0), 5000U);
  now_ += seconds(20);
  EXPECT_EQ(say(Word::report, 1, 4000, seconds(20)), 5000U);
  upload_results(1);  // By the first one, which was not dead.
  wait(seconds(120));
  EXPECT_TRUE(partition(1).finished());
  EXPECT_EQ(partition(1).done(), told);
}

// Who says it may be the first one, which was told to do more, and the results the second one's.
TEST_F(Reclaim, AFinishCountsAsWhatTheLeastWasToldOfAllWhoHadThePartition) {
  say(Word::finish, 0, 0, seconds(1));
  for (int t = 20; t <= 60; t += 20) {
    now_ += seconds(20);
    say(Word::report, 1, static_cast<uint64_t>(t), seconds(t));
  }
  now_ += seconds(81);
  ASSERT_TRUE(update(*store_, tenant_, infra_, {}, now_).ok());
  ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
  ASSERT_EQ(hand_out(*store_, tenant_, infra_, 1, now_).value().size(), 1U);
  EXPECT_EQ(say(Word::start, 1, 0), 5000U);
  now_ += seconds(100);
  say(Word::finish, 1, 9000, seconds(100));
  EXPECT_EQ(partition(1).done(), 5000U);
  EXPECT_EQ(partition(2).iterations(), 5000U) << "the rest";
}

// It was given up, and nobody else has had it: what it says is what it has done.
TEST_F(Reclaim, WhoComesBackBeforeAnybodyElseHadItCountsWithWhatItSays) {
  say(Word::finish, 0, 0, seconds(1));
  now_ += seconds(81);
  ASSERT_TRUE(update(*store_, tenant_, infra_, {}, now_).ok());
  ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
  ASSERT_TRUE(partition(1).queued());
  EXPECT_EQ(say(Word::start, 1, 0, seconds(81)), 5000U);
  now_ += seconds(100);
  say(Word::finish, 1, 9000, seconds(181));
  EXPECT_EQ(partition(1).done(), 9000U);
  ASSERT_TRUE(reclaim(*store_, tenant_, now_ += Millis(tenant_.start_ms()) + seconds(1)).ok());
  ASSERT_TRUE(partition(1).queued()) << "its results are missing";
  EXPECT_EQ(partition(1).told(), 9000U) << "so much will be in them if they come";
}

// Although its daemon is dead and infrastructures are forgotten soon.
TEST_F(Reclaim, WhoReportsInTimeKeepsItsPartition) {
  tenant_.set_scale_ms(1000);
  ASSERT_TRUE(disconnect(*store_, tenant_, infra_, now_).ok());
  now_ += seconds(30);
  ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
  EXPECT_FALSE(partition(1).queued());
  say(Word::report, 0, 100, seconds(30));
  now_ += seconds(1);
  ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
  EXPECT_FALSE(partition(0).queued());
  EXPECT_TRUE(partition(1).queued()) << "it is late";
}

// Its upload is refused, or too large, whenever it comes.
TEST_F(Reclaim, WhoNeverBringsResultsFailsAtLast) {
  say(Word::finish, 0, 5000, seconds(1));
  upload_results(0);
  int turns = 1;
  for (; turns < 20; ++turns) {
    say(Word::finish, 1, 5000, seconds(1));
    now_ += Millis(tenant_.start_ms()) + seconds(1);
    ASSERT_TRUE(update(*store_, tenant_, infra_, {}, now_).ok());
    ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
    if (hand_out(*store_, tenant_, infra_, 1, now_).value().empty()) break;
    say(Word::start, 1, 0);
  }
  EXPECT_EQ(turns, 10);
  EXPECT_TRUE(has_failed(read_tascaas_job(store_->table(), job_).value().record));
}

TEST_F(Reclaim, WhoNeverStartsFailsAtLast) {
  int turns = 0;
  for (; turns < 20; ++turns) {
    now_ += Millis(tenant_.start_ms()) + seconds(1);
    ASSERT_TRUE(update(*store_, tenant_, infra_, {}, now_).ok());
    ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
    if (hand_out(*store_, tenant_, infra_, 2, now_).value().empty()) break;
  }
  EXPECT_EQ(turns, 9) << "the first time it had started";
  EXPECT_TRUE(is_hopeless(partition(1)));
}

TEST_F(Reclaim, WhoseInfrastructureIsSilentIsNotToBlame) {
  say(Word::finish, 1, 5000, seconds(1));
  now_ += Millis(tenant_.start_ms()) + seconds(1);
  ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
  ASSERT_TRUE(partition(1).queued());
  ASSERT_EQ(hand_out(*store_, tenant_, infra_, 2, now_).value().size(), 2U);
  now_ += Millis(tenant_.start_ms()) + seconds(1);
  ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
  EXPECT_EQ(partition(1).turn(), 3U);
  EXPECT_EQ(partition(1).crashes(), 0U);
}

TEST_F(Reclaim, AJobThatComesBackIsLookedAfter) {
  now_ += Millis(tenant_.timeout_ms()) + seconds(1);
  ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
  EXPECT_FALSE(partition(0).queued() || partition(1).queued()) << "it was given up";
  infra_ = register_infrastructure(*store_, tenant_, 4, 4, now_).value();
  say(Word::report, 0, 10, now_ - began_);
  ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
  EXPECT_FALSE(partition(0).queued());
  EXPECT_TRUE(partition(1).queued());
}

}  // namespace
}  // namespace dunlin::tascaas
