// Goal: whatever partitions say in whatever order, they are answered by the rules of the original,
// shares sum to what is left, and nobody is told to stop while there is work for it.
//
// Method: random sequences from a seed. The model below is written from the published rules of
// RUPER-LB and TaScaaS, and from decisions 12, 28 and 29 where we differ; it shares no code with
// src/balance. Who is silent for long loses its partition, and may come back. A failure names its
// seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "base/env_posix.h"
#include "store/memory.h"
#include "tascaas/dispatcher.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/job.h"
#include "tascaas/tenants.h"
#include "tascaas/turns.h"

namespace dunlin::tascaas {
namespace {

using std::chrono::seconds;

constexpr int kOk = 0;
constexpr int kAgain = 5;
constexpr int kEnded = 12;
constexpr uint64_t kMost = 6;  // Partitions of a job.
constexpr int kLossesMax = 10;

// A partition, by the rules. Times are seconds since the job began.
struct Worker {
  uint64_t assigned = 0;
  uint64_t done = 0;
  bool started = false;
  bool finished = false;
  bool spare = false;
  int64_t init = 0;
  int64_t resumed = 0;
  int64_t last = 0;
  int measures = 0;
  double speed = 0;
  // Between the queue and those who have it.
  uint64_t iterations = 0;  // What it waits with.
  bool queued = true;
  int hands = 0;                      // How many have had it,
  std::optional<uint64_t> told = {};  // and the least that one of them was told.
  int losses = 0;
  int64_t heard = 0;
};

struct Model {
  uint64_t iterations = 0;
  int64_t time = 0;
  int64_t threshold = 0;
  std::vector<Worker> workers = {};

  uint64_t done() const {
    uint64_t sum = 0;
    for (const Worker& one : workers) sum += one.done;
    return sum;
  }
  uint64_t left() const { return iterations - std::min(iterations, done()); }
  bool counts(const Worker& one, int64_t now) const {
    return one.started && !one.finished && now - one.last <= threshold;
  }

  void add(uint64_t share) { workers.push_back({.assigned = share, .iterations = share}); }

  // Whose silence is as long as four reports has lost its partition, with what it has done.
  void lose(int64_t now) {
    for (Worker& one : workers) {
      if (!one.started || one.finished || now - one.heard <= 2 * threshold) continue;
      const bool last = one.losses + 1 >= kLossesMax;
      one = {.assigned = one.iterations,
             .iterations = one.iterations,
             .queued = !last,
             .hands = one.hands,
             .told = one.told,
             .losses = one.losses + 1};
    }
  }
  void hand_out() {
    for (Worker& one : workers) one.hands += std::exchange(one.queued, false) ? 1 : 0;
  }
  // What somebody was told it may have done, however little others were told since.
  void tell(size_t w, uint64_t share) {
    workers[w].told = std::min(workers[w].told.value_or(share), share);
  }
  // What a finish counts. If several have had a partition, the results of each may be those that
  // stay, and nobody has done less than the least that one of them was told.
  uint64_t last_word(const Worker& one, uint64_t said) const {
    return one.hands > 1 ? std::min(said, one.told.value_or(said)) : said;
  }

  int start(size_t w, int64_t dt, int64_t now) {
    Worker& one = workers[w];
    if (one.finished) return one.spare ? kOk : kEnded;
    one.queued = false;
    const int64_t began = std::max<int64_t>(now - dt, 0);
    one.resumed = one.last = began;
    if (!one.started) {
      one.started = true;
      one.init = began;
      const uint64_t count = workers.size();
      const uint64_t even = iterations / count + (w == 0 ? iterations % count : 0);
      one.assigned = std::min(even, left());
    }
    ++one.measures;
    one.speed = 0;
    return kOk;
  }

  // Without a balance. Reports are a second apart; an end may come at any time, but for one that is
  // repeated, and says nothing about speed if it comes sooner.
  int report(size_t w, uint64_t done, int64_t dt, bool last = false) {
    Worker& one = workers[w];
    if (!one.started) return kAgain;
    const int64_t at = one.resumed + dt;
    if (at - one.last < (last && !one.finished ? 0 : 1)) return kAgain;
    if (one.finished) return kEnded;
    if (at == one.last) return kOk;
    if (one.speed <= 0 && done < one.done) return kOk;  // Nothing is stored.
    if (one.speed <= 0 || done > one.done) {
      one.speed = static_cast<double>(done - one.done) / static_cast<double>(at - one.last);
    } else if (one.done == 0) {
      one.speed = 0;
    } else {
      const double then = static_cast<double>(one.done) /
                          static_cast<double>(std::max<int64_t>(one.last - one.init, 1));
      const double since =
          static_cast<double>(done) / static_cast<double>(std::max<int64_t>(at - one.init, 1));
      one.speed *= since / then;
    }
    one.done = done;
    one.last = at;
    ++one.measures;
    return kOk;
  }

  double speed(int64_t now) const {
    double sum = 0;
    for (const Worker& one : workers) sum += counts(one, now) ? one.speed : 0;
    return sum;
  }
  double eta(int64_t now) const {
    double predicted = static_cast<double>(done());
    for (const Worker& one : workers) {
      if (counts(one, now)) predicted += one.speed * static_cast<double>(now - one.last);
    }
    return std::max(0.0, std::floor((static_cast<double>(iterations) - predicted) / speed(now)));
  }
};

// The service, with a clock of its own, and the model beside it.
class Rules {
 public:
  explicit Rules(uint64_t seed) : random_(seed), store_(memory_store(posix_clock())) {
    model_.iterations = 2000 + random_.below(1'000'000);
    model_.time = static_cast<int64_t>(100 + random_.below(2000));
    model_.threshold = 2 * std::max<int64_t>(model_.time / 20, 20);
    // Nobody uploads anything: it must not be missed.
    const TenantSettings settings{.max_partitions = kMost,
                                  .start_time = std::chrono::hours(24 * 30)};
    EXPECT_TRUE(add_tenant(*store_, "t", settings, now_).ok());
    tenant_ = read_tenant(store_->table(), "t").value();
    EXPECT_TRUE(put_text(*store_, "t", "input/data", "x", now_).ok());
    const size_t count = 1 + random_.below(4);
    const std::string text =
        fmt::format(R"({{"iterations":{},"time":{},"inputFile":"data","initWorkers":{}}})",
                    model_.iterations, model_.time, count);
    EXPECT_TRUE(put_text(*store_, "t", "input/a.config", text, now_).ok());
    job_ = take_in(*store_, tenant_, now_).value().at(0).job;
    for (size_t w = 0; w < count; ++w) {
      model_.add(model_.iterations / count + (w == 0 ? model_.iterations % count : 0));
    }
    infra_ = register_infrastructure(*store_, tenant_, 9, 9, now_).value();
  }

  void step() {
    now_ += seconds(random_.below(static_cast<uint64_t>(model_.threshold)) / 4);
    look_after();
    const size_t w = random_.below(model_.workers.size());
    const Worker& one = model_.workers[w];
    if (one.hands == 0 && !one.spare) return;  // Nobody has it who could say something.
    if (!one.started && random_.percent(10)) return report(w, random_.below(100), since());
    if (!one.started || random_.percent(5)) return start(w);
    // As real clients, it stops at its share, and says so; sometimes it says strange things.
    const int64_t at = since() - one.resumed + (random_.percent(5) ? 3 : 0);
    uint64_t done = one.done + random_.below(1 + model_.iterations / haste_);
    if (random_.percent(5)) done = random_.below(one.done + 1);
    done = std::min(done, std::max(one.assigned, one.done));
    if (done >= one.assigned || random_.percent(2)) return finish(w, done, at);
    report(w, done, at);
  }

 private:
  int64_t since() const {
    return begun_ ? std::chrono::duration_cast<seconds>(now_ - *begun_).count() : 0;
  }
  balance::Share say(Word word, size_t w, uint64_t done, int64_t dt) {
    const balance::Share share =
        next_iterations(*store_, job_, {word, w, done, seconds(dt)}, now_).value();
    if (share.code != balance::Code::ok) return share;
    if (!begun_) begun_ = now_;
    model_.workers[w].heard = since();
    if (word != Word::finish) model_.tell(w, share.assigned);
    return share;
  }
  // What was lost waits again, and is handed out some time later.
  void look_after() {
    ASSERT_TRUE(update(*store_, tenant_, infra_, {}, now_).ok());
    ASSERT_TRUE(reclaim(*store_, tenant_, now_).ok());
    model_.lose(since());
    spare();
    if (random_.percent(70)) {
      ASSERT_TRUE(hand_out(*store_, tenant_, infra_, 9, now_).ok());
      model_.hand_out();
    }
    compare();
  }
  Job job() { return read_tascaas_job(store_->table(), job_).value().record; }

  void start(size_t w) {
    const auto dt = static_cast<int64_t>(random_.below(3));
    // Who begins when nothing is left has no part in the job.
    Worker& fresh = model_.workers[w];
    const bool spared = !fresh.started && !fresh.finished && model_.left() == 0;
    const balance::Share share = say(Word::start, w, 0, dt);
    if (spared) {
      EXPECT_TRUE(share.code == balance::Code::ok && share.assigned == 0);
      fresh.spare = fresh.finished = true;
      fresh.queued = false;
      fresh.assigned = 0;
      return compare();
    }
    ASSERT_EQ(static_cast<int>(share.code), model_.start(w, dt, since()));
    if (share.code != balance::Code::ok) return;
    const Worker& one = model_.workers[w];
    EXPECT_EQ(share.assigned, one.spare ? 0 : one.assigned);
    if (one.spare) return;
    EXPECT_EQ(share.eta, static_cast<uint64_t>(model_.time));
    compare();
  }

  void report(size_t w, uint64_t done, int64_t dt) {
    const Worker before = model_.workers[w];
    const balance::Share share = say(Word::report, w, done, dt);
    if (before.spare) return;
    ASSERT_EQ(static_cast<int>(share.code), model_.report(w, done, dt));
    if (share.code != balance::Code::ok) return;
    const Worker& one = model_.workers[w];
    std::optional<double> eta;
    if (one.measures > 2 || one.done >= one.assigned) eta = balanced();
    if (!eta) {
      EXPECT_EQ(share.eta, static_cast<uint64_t>(model_.time));
    }
    EXPECT_EQ(share.assigned, one.assigned);
    if (eta && *eta >= 0) {
      EXPECT_NEAR(static_cast<double>(share.eta), *eta, 1 + *eta * 1e-9);
    }
    const bool late = eta && 2 * *eta < static_cast<double>(model_.threshold);
    const bool works = before.assigned > done && model_.left() > model_.workers.size();
    if (works && !late) {
      EXPECT_GT(share.assigned, done) << "worker " << w << " is told to stop";
    }
    if (before.measures > 2 && w + 1 == model_.workers.size()) grow(eta.value_or(0), share.eta);
    spare();
    compare();
  }

  void finish(size_t w, uint64_t done, int64_t dt) {
    const bool spared = model_.workers[w].spare;
    const balance::Share share = say(Word::finish, w, done, dt);
    if (spared) return;
    Worker& one = model_.workers[w];
    done = model_.last_word(one, done);
    ASSERT_EQ(static_cast<int>(share.code), model_.report(w, done, dt, true));
    if (share.code != balance::Code::ok) return;
    one.finished = true;
    one.done = one.assigned = done;
    ++one.measures;
    balanced();
    const bool all = std::ranges::all_of(model_.workers, &Worker::finished);
    if (all && model_.left() > 0) model_.add(model_.left());
    spare();
    compare();
  }

  // Takes the new shares over, if they are right. Returns the forecast; below 0 if there is none.
  double balanced() {
    const Job now = job();
    const auto assigned = [&](size_t i) { return now.partitions(static_cast<int>(i)).assigned(); };
    if (model_.left() == 0) {
      for (Worker& one : model_.workers) {
        if (model_.counts(one, since())) one.assigned = one.done;
      }
      return 0;
    }
    const double speed = model_.speed(since());
    if (speed <= 0) return -1;
    const double eta = model_.eta(since());
    if (2 * eta < static_cast<double>(model_.threshold)) return eta;
    check_shares(speed, assigned);
    return eta;
  }

  template <typename Assigned>
  void check_shares(double speed, const Assigned& assigned) {
    uint64_t sum = 0;
    uint64_t told = 0;
    uint64_t with = 0;
    uint64_t without = 0;
    for (size_t i = 0; i < model_.workers.size(); ++i) {
      const Worker& one = model_.workers[i];
      if (!model_.counts(one, since())) continue;
      EXPECT_GE(assigned(i), one.done);
      sum += assigned(i) - one.done;
      if (one.speed <= 0) told += one.assigned - std::min(one.assigned, one.done);
      ++(one.speed > 0 ? with : without);
    }
    const uint64_t left = model_.left();
    EXPECT_EQ(sum, left) << "the shares of who works are not what is left";
    const uint64_t most = left - left / (with + without) * with / 2;
    const bool cut = told > most;
    const auto rest = static_cast<double>(left - std::min(told, most));
    const auto slack = static_cast<double>(model_.workers.size() * model_.workers.size() + 2);
    for (size_t i = 0; i < model_.workers.size(); ++i) {
      Worker& one = model_.workers[i];
      if (!model_.counts(one, since())) continue;
      const auto share = static_cast<double>(assigned(i) - one.done);
      if (one.speed > 0) {
        EXPECT_NEAR(share, rest * one.speed / speed, slack) << "worker " << i;
      } else if (!cut && one.assigned >= one.done) {
        EXPECT_EQ(assigned(i), one.assigned) << "worker " << i << " has no speed yet";
      }
      one.assigned = assigned(i);
    }
  }

  void grow(double eta, uint64_t said) {
    const auto rest = static_cast<double>(std::max<int64_t>(model_.time - since(), 0));
    const size_t have = model_.workers.size();
    const double known = eta < 0 ? static_cast<double>(said) : eta;
    if (known <= rest || have >= kMost) return;
    const double more = rest > 0 ? std::floor((known / rest - 1) * static_cast<double>(have)) + 1
                                 : static_cast<double>(kMost);
    const uint64_t placeholder = model_.workers.back().done;
    const auto all = std::min(static_cast<double>(have) + more, static_cast<double>(kMost));
    while (model_.workers.size() < static_cast<size_t>(all)) {
      model_.add(placeholder);
    }
  }

  // Nobody begins what nothing is left of; what was handed out may still be begun.
  void spare() {
    const Job now = job();
    if (model_.left() > 0) return;
    for (size_t i = 0; i < model_.workers.size(); ++i) {
      Worker& one = model_.workers[i];
      const Job::Partition& found = now.partitions(static_cast<int>(i));
      EXPECT_FALSE(found.queued()) << "worker " << i << " waits for nothing";
      if (one.started || !found.spare()) continue;
      one.spare = one.finished = true;
      one.queued = false;
      one.assigned = 0;
    }
  }

  void compare() {
    const Job now = job();
    ASSERT_EQ(static_cast<size_t>(now.partitions_size()), model_.workers.size());
    for (size_t i = 0; i < model_.workers.size(); ++i) {
      const Worker& one = model_.workers[i];
      const Job::Partition& found = now.partitions(static_cast<int>(i));
      EXPECT_EQ(found.queued(), one.queued) << "worker " << i;
      // Before its start it has only what it was queued with.
      EXPECT_TRUE(!one.started || found.assigned() == one.assigned)
          << "worker " << i << " has " << found.assigned() << ", not " << one.assigned;
      EXPECT_EQ(found.done(), one.done) << "worker " << i;
      EXPECT_EQ(found.finished(), one.finished) << "worker " << i;
      EXPECT_EQ(found.spare(), one.spare) << "worker " << i;
    }
  }

  Random random_;
  const uint64_t haste_ = 2 + random_.below(30);  // How soon all is done.
  WallTime now_{seconds(1'700'000'000)};
  std::unique_ptr<RequestStore> store_;
  Tenant tenant_;
  std::string job_;
  std::string infra_;
  std::optional<WallTime> begun_;
  Model model_;
};

TEST(TascaasRules, HoldForAnySequenceOfWords) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rules rules(seed);
    for (int step = 0; step < 60; ++step) {
      rules.step();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace dunlin::tascaas
