// Whole lives of jobs from a seed: infrastructures of unequal speed that come, die and lose
// answers, until all iterations are done.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <set>

#include "base/env_posix.h"
#include "store/memory.h"
#include "tascaas/dispatcher.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"
#include "tascaas/turns.h"

namespace dunlin::tascaas {
namespace {

constexpr Millis kStep = std::chrono::seconds(5);
constexpr int kStepsMax = 20'000;

class World {
 public:
  explicit World(uint64_t seed) : random_(seed), store_(memory_store(posix_clock())) {
    TenantSettings settings;
    settings.scale_time = std::chrono::seconds(20);
    settings.max_partitions = 8;
    EXPECT_TRUE(add_tenant(*store_, "t", settings, now_).ok());
    tenant_ = read_tenant(store_->table(), "t").value();
    iterations_ = 1000 + random_.below(200'000);
    EXPECT_TRUE(put_text(*store_, "t", "input/data", "x", now_).ok());
    const std::string file = fmt::format(
        R"({{"iterations":{},"time":{},"inputFile":"data","initWorkers":{}}})", iterations_,
        random_.percent(20) ? 0 : 100 + random_.below(2000), 1 + random_.below(4));
    EXPECT_TRUE(put_text(*store_, "t", "input/a.config", file, now_).ok());
    job_ = take_in(*store_, tenant_, now_).value().at(0).job;
    for (int i = 0; i < 3; ++i) enroll();
  }

  Job job() { return read_tascaas_job(store_->table(), job_).value().record; }

  // Until the job has ended.
  void run() {
    for (int step = 0; step < kStepsMax; ++step) {
      if (job().ended_ms() != 0) return;
      now_ += kStep;
      const bool peace = step > 2000;  // Then nothing dies any more.
      for (size_t i = 0; i < infras_.size(); ++i) {
        if (!peace && random_.below(1000) < 5) {
          infras_[i] = {};
          infras_.erase(infras_.begin() + static_cast<ptrdiff_t>(i--));
          enroll();
          continue;
        }
        turn(infras_[i], peace);
      }
      ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
    }
    FAIL() << "not done in time: " << job().DebugString();
  }

  uint64_t iterations() const { return iterations_; }

 private:
  struct Running {
    size_t partition = 0;
    WallTime began = {};
    WallTime reported = {};
    Millis report_time = Millis(0);
    double speed = 1;
    uint64_t done = 0;
    uint64_t assigned = 0;
  };
  struct Infra {
    std::string id = {};
    std::vector<Running> running = {};
  };

  void enroll() {
    infras_.push_back({register_infrastructure(*store_, tenant_, 2, 4, now_).value(), {}});
  }

  balance::Share say(Word word, const Running& one) {
    const Said said{word, one.partition, one.done, now_ - one.began};
    return next_iterations(*store_, job_, said, now_).value();
  }

  void turn(Infra& infra, bool peace) {
    if (!update(*store_, tenant_, infra.id, {}, now_).ok()) return;
    while (infra.running.size() < 2) {
      const auto handed = hand_out(*store_, tenant_, infra.id, 1, now_).value();
      if (handed.empty()) break;
      // A partition waits once for each time it is queued.
      const uint32_t turn_number = job().partitions(static_cast<int>(handed[0].partition)).turn();
      EXPECT_TRUE(handed_.insert({handed[0].partition, turn_number}).second);
      if (!peace && random_.percent(10)) break;  // The answer was lost.
      Running one;
      one.partition = handed[0].partition;
      one.began = one.reported = now_;
      one.report_time = handed[0].report_time;
      one.speed = 1 + static_cast<double>(random_.below(100));
      const balance::Share share = say(Word::start, one);
      if (share.code != balance::Code::ok) continue;
      one.assigned = share.assigned;
      infra.running.push_back(one);
    }
    std::erase_if(infra.running, [&](Running& one) { return work(one); });
  }

  // Whether it has ended.
  bool work(Running& one) {
    one.done += static_cast<uint64_t>(one.speed * 5);
    if (one.done >= one.assigned) {
      if (now_ - one.began < Millis(1000)) return false;
      const bool ended = say(Word::finish, one).code == balance::Code::ok;
      if (!ended) return true;  // Somebody else has it.
      const std::string key = result_key(job_, std::to_string(one.partition), "results.dat");
      EXPECT_TRUE(put_text(*store_, "t", key, std::to_string(one.done), now_).ok());
      return true;
    }
    if (now_ - one.reported < one.report_time) return false;
    one.reported = now_;
    const balance::Share share = say(Word::report, one);
    if (share.code != balance::Code::ok) return true;
    one.assigned = share.assigned;
    return false;
  }

  Random random_;
  WallTime now_{std::chrono::seconds(1'700'000'000)};
  std::unique_ptr<RequestStore> store_;
  Tenant tenant_;
  uint64_t iterations_ = 0;
  std::string job_;
  std::vector<Infra> infras_;
  std::set<std::pair<size_t, uint32_t>> handed_;  // Partitions, with their turns.
};

TEST(TascaasLife, EveryJobEndsWithAllItsIterationsDone) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    world.run();
    const Job job = world.job();
    ASSERT_NE(job.ended_ms(), 0);
    EXPECT_GE(done_of(job), world.iterations());
    for (const Job::Partition& one : job.partitions()) {
      EXPECT_TRUE(one.finished());
      EXPECT_FALSE(one.queued());
    }
  }
}

}  // namespace
}  // namespace dunlin::tascaas
