#include "sim/sim_worker.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <utility>

#include "base/check.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "sim/task_world.h"
#include "testing/clock.h"

namespace dunlin {
namespace {

// As long as nothing of ours would write it, and of characters that must not be cut through.
std::string long_reason(std::string reason) {
  for (int i = 0; i < 300; ++i) reason += "\xc3\xa4";
  return reason;
}

}  // namespace

SimWorker::SimWorker(TaskWorld& world, uint64_t number) : world_(world), number_(number) {}
SimWorker::~SimWorker() = default;

worker::Now SimWorker::now() const {
  const Instant at = world_.events().now();
  return {at, (at.time_since_epoch() + skew_).count() * 1000};
}

void SimWorker::start() {
  ++life_;
  running_.clear();
  frozen_until_ = wake_ = world_.events().now();
  skew_ = world_.skew();
  worker::WorkerOptions options;
  options.id = fmt::format("w{}-{}", number_, life_);
  options.slots = world_.slots();
  options.hold = world_.hold();
  options.seed = world_.random().next();
  options.tags = {"sim"};
  options.mem_bytes = 4;
  options.gpus = 2;
  options.commit_rows = world_.commit_rows();
  options.pace = world_.pace();
  way_ = world_.way();
  mind_ = std::make_unique<worker::WorkerMind>(options);
  mind_->begin(now());
  act();
}

void SimWorker::come_again(Millis pause) {
  mind_.reset();
  ledgers_seen_ = {};
  if (way_ != nullptr) way_->close();
  ++life_;
  world_.events().after(pause, [this, life = life_] {
    if (life == life_) start();
  });
}

void SimWorker::crash() { come_again(Millis(world_.random().below(3000))); }

void SimWorker::freeze(Millis how_long) {
  frozen_until_ = std::max(frozen_until_, world_.events().now() + how_long);
}

void SimWorker::leave(bool at_once) {
  if (at_once) world_.ledger().worker_stopped();
  event([this, at_once](worker::Now now) { at_once ? mind_->stop(now) : mind_->drain(now); });
}

void SimWorker::resize() {
  event([this](worker::Now now) { mind_->set_slots(world_.slots(), now); });
}

void SimWorker::break_down(Millis how_long) { broken_until_ = world_.events().now() + how_long; }

void SimWorker::jump() { skew_ = world_.skew(); }

// A frozen process hears of things when it thaws; a dead one never.
void SimWorker::event(std::function<void(worker::Now)> what) {
  if (mind_ == nullptr) return;
  if (world_.events().now() < frozen_until_) {
    world_.events().at(frozen_until_, [this, life = life_, what = std::move(what)] {
      if (life == life_) event(what);
    });
    return;
  }
  what(now());
  act();
}

void SimWorker::act() {
  mind_->check();
  worker::WorkerMind::Effects effects = mind_->take();
  for (const uint64_t ticket : effects.drop) running_.erase(ticket);
  for (worker::WorkerMind::Ask& ask : effects.asks) {
    const Result<void> valid = validate(ask.request);
    ASSERT_TRUE(valid.ok()) << valid.error().what;
    if (std::holds_alternative<Commit>(ask.request) &&
        world_.random().percent(world_.faults().last_words)) {
      world_.post_late(std::move(ask.request));
      return crash();
    }
    way_->post(std::move(ask.request), [this, life = life_, id = ask.id](Answer&& answer) {
      if (life != life_) return;
      event([this, id, answer = std::move(answer)](worker::Now now) {
        mind_->answered(id, Answer(answer), now);
      });
    });
  }
  for (const worker::WorkerMind::Upload& one : effects.uploads) upload(one);
  for (worker::Assignment& assignment : effects.start) {
    run(std::move(assignment));
    if (mind_ == nullptr) return;  // A task took it down.
  }
  ASSERT_TRUE(!mind_->failure()) << mind_->failure()->what;
  if (mind_->gone()) return come_again(Millis(world_.random().below(2000)));
  const Instant wake = mind_->next_wake();
  if (wake == wake_ && wake > world_.events().now()) return;
  wake_ = wake;
  world_.events().at(wake, [this, life = life_] {
    if (life != life_) return;
    event([this](worker::Now now) { mind_->tick(now); });
  });
}

void SimWorker::run(worker::Assignment&& assignment) {
  const uint64_t ticket = assignment.ticket;
  const std::string job = assignment.job->id;
  const SimJob* known = world_.find(job);
  CHECK(known != nullptr);
  const uint64_t task = assignment.task;
  const Conduct& conduct = known->conduct(task);
  if (!assignment.values.empty()) {
    EXPECT_EQ(assignment.values[0], fmt::format("v{}", task));
  }
  const bool broken = world_.events().now() < broken_until_;
  if (!broken) world_.started(job, task, assignment.attempt);
  if (!broken && world_.ledger().starts(job, task) <= conduct.kills) return crash();
  running_.emplace(ticket, std::move(assignment));
  if (broken) {
    world_.events().after(Millis(1), [this, life = life_, ticket] {
      if (life != life_) return;
      event([this, ticket](worker::Now now) {
        if (running_.erase(ticket) == 0) return;
        worker::Ending ending;
        ending.ticket = ticket;
        ending.outcome.set_state(model::STATE_REFUSED);
        ending.outcome.set_blame(model::BLAME_WORKER);
        ending.outcome.set_why(long_reason("the folder is gone"));
        std::vector<worker::Ending> endings;
        endings.push_back(std::move(ending));
        mind_->ended(std::move(endings), now);
      });
    });
    return;
  }
  const bool fails = world_.ledger().starts(job, task) <= conduct.fails;
  if (known->spec.has_iterations()) return run_partition(ticket);
  world_.events().after(conduct.takes, [this, life = life_, ticket, fails] {
    if (life != life_) return;
    event([this, ticket, fails](worker::Now now) {
      if (running_.contains(ticket)) end(ticket, fails, now);
    });
  });
}

// From turn to turn, until nothing is left for it. Those that fail do so after some. The turns are
// those of the real channel: they block, so others come between the requests of one.
void SimWorker::run_partition(uint64_t ticket) {
  const worker::Assignment& assignment = running_.at(ticket);
  const SimJob& known = *world_.find(assignment.job->id);
  const Conduct conduct = known.conduct(assignment.task);
  const bool fails = world_.ledger().starts(known.id, assignment.task) <= conduct.fails;
  PartitionAttempt who{iterative_job(known.id, known.spec), assignment.task, assignment.attempt, 0};
  const uint64_t seed = world_.random().next();
  const auto body = [this, life = life_, ticket, who, conduct, fails, seed](Fiber& fiber) mutable {
    const auto store = fiber.store(seed);
    const auto wanted = [&] { return life == life_ && running_.contains(ticket); };
    bool failed = false;
    while (wanted() && !fiber.killed()) {
      if (world_.events().now() < frozen_until_) {
        fiber.pause(frozen_until_ - world_.events().now());
        continue;
      }
      const SkewedClock clock(world_.events(), skew_);
      const Looker looker{ledgers_seen_, clock};
      if (fails && who.had > 0) {
        if (!lose_partition(store->table(), who, looker).ok()) continue;
        failed = true;
        break;
      }
      const bool leaving = who.had > 0 && world_.random().percent(3);
      const auto turn = next_iterations(store->table(), who, looker, leaving);
      if (!turn.ok()) {
        fiber.pause(Millis(100));
        continue;
      }
      if (turn.value().wait) {
        fiber.pause(Millis(100));
        continue;
      }
      if (!turn.value().span) break;
      fiber.pause(std::max(conduct.takes, Millis(1)));
      if (!wanted()) return;
      world_.ledger().iterated(who.job.id, who.partition, who.attempt, *turn.value().span);
      who.had += turn.value().span->size();
      // Some say that they are done before they are told so. If others have its iterations, its
      // outcome does not count.
      if (!world_.random().percent(2)) continue;
      const auto left = dunlin::leave(store->table(), who, who.had, looker);
      if (left.ok() && left.value() != Left::alone) break;
    }
    world_.events().after(Millis(0), [this, life, ticket, failed] {
      if (life != life_) return;
      event([this, ticket, failed](worker::Now now) {
        if (running_.contains(ticket)) end(ticket, failed, now);
      });
    });
  };
  world_.run_fiber(body, false);
}

// Reads the assignment as late as real slots do.
void SimWorker::end(uint64_t ticket, bool fails, worker::Now now) {
  const worker::Assignment assignment = std::move(running_.at(ticket));
  running_.erase(ticket);
  const std::string& job = assignment.job->id;
  const Conduct& conduct = world_.find(job)->conduct(assignment.task);
  EXPECT_EQ(assignment.job->spec.owner(), world_.find(job)->spec.owner());
  worker::Ending ending;
  ending.ticket = ticket;
  model::Outcome& outcome = ending.outcome;
  outcome.set_state(fails ? model::STATE_FAILED : model::STATE_OK);
  if (fails) outcome.set_why(long_reason("exit code 1"));
  outcome.set_exit(fails ? 1 : 0);
  outcome.set_blame(fails ? model::BLAME_TASK : model::BLAME_NOBODY);
  outcome.set_ran_us(static_cast<uint64_t>(conduct.takes.count()) * 1000 + 1);
  if (conduct.output == Conduct::Output::row) {
    outcome.mutable_out()->set_bytes(std::string(kRowOutput, 'x'));
  } else if (conduct.output == Conduct::Output::blob) {
    ending.out_spool = blob_output(job, assignment.task, assignment.attempt);
    outcome.mutable_out()->set_size(ending.out_spool.size());
  }
  ending.started_us = now.wall_us;
  std::vector<worker::Ending> endings;
  endings.push_back(std::move(ending));
  mind_->ended(std::move(endings), now);
}

// The spool's path stands for its bytes.
void SimWorker::upload(const worker::WorkerMind::Upload& upload) {
  const uint64_t seed = world_.random().next();
  world_.run_fiber(
      [this, life = life_, upload, seed](Fiber& fiber) {
        const auto store = fiber.store(seed);
        const NamedBlob blob = blob_of_bytes(upload.blob, upload.file);
        Result<void> stored = Error{Code::unavailable, ""};
        while (life == life_ && !fiber.killed() && !stored.ok()) {
          stored = store->blobs().put(blob.name, blob.size, blob.source);
          if (!stored.ok()) fiber.pause(Millis(500));
        }
        world_.events().after(Millis(0), [this, life, upload, stored] {
          if (life != life_) return;
          event([this, upload, stored](worker::Now now) {
            mind_->uploaded(upload.ticket, stored, now);
          });
        });
      },
      false);
}

}  // namespace dunlin
