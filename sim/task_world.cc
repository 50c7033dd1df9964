#include "sim/task_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"
#include "model/inputs.h"
#include "model/keys.h"
#include "model/release.h"
#include "model/steer.h"
#include "model/submit.h"
#include "sim/clock.h"
#include "store/memory.h"

namespace dunlin {
namespace {

constexpr Millis kLostAfter = Millis(1000);
constexpr Millis kTroubleMax = Millis(12'000);
constexpr Millis kPeaceMax = std::chrono::hours(6);
constexpr uint32_t kSlotsMost = 4;

Now now_of(const Events& events) {
  return {events.now(), events.now().time_since_epoch().count() * 1000};
}

}  // namespace

SimWorker::SimWorker(TaskWorld& world, uint64_t number) : world_(world), number_(number) {}

void SimWorker::start() {
  ++life_;
  running_.clear();
  frozen_until_ = wake_ = world_.events().now();
  WorkerOptions options;
  options.id = fmt::format("w{}-{}", number_, life_);
  options.slots = world_.slots();
  options.hold = world_.hold();
  options.seed = world_.random().next();
  options.tags = {"sim"};
  options.commit_rows = world_.commit_rows();
  options.pace = world_.pace();
  mind_ = std::make_unique<WorkerMind>(options);
  mind_->begin(now_of(world_.events()));
  act();
}

void SimWorker::crash() {
  world_.ledger().worker_lost();
  mind_.reset();
  ledgers_seen_ = {};
  ++life_;
  world_.events().after(Millis(world_.random().below(3000)), [this, life = life_] {
    if (life == life_) start();
  });
}

void SimWorker::freeze(Millis how_long) {
  world_.ledger().worker_lost();
  frozen_until_ = std::max(frozen_until_, world_.events().now() + how_long);
}

void SimWorker::leave(bool at_once) {
  event([this, at_once](Now now) { at_once ? mind_->stop(now) : mind_->drain(now); });
}

void SimWorker::resize() {
  event([this](Now now) { mind_->set_slots(world_.slots(), now); });
}

// A frozen process hears of things when it thaws; a dead one never.
void SimWorker::event(std::function<void(Now)> what) {
  if (mind_ == nullptr) return;
  if (world_.events().now() < frozen_until_) {
    world_.events().at(frozen_until_, [this, life = life_, what = std::move(what)] {
      if (life == life_) event(what);
    });
    return;
  }
  what(now_of(world_.events()));
  act();
}

void SimWorker::act() {
  WorkerMind::Effects effects = mind_->take();
  for (const uint64_t ticket : effects.drop) running_.erase(ticket);
  for (WorkerMind::Ask& ask : effects.asks) {
    world_.post(std::move(ask.request), [this, life = life_, id = ask.id](Answer&& answer) {
      if (life != life_) return;
      event([this, id, answer = std::move(answer)](Now now) {
        mind_->answered(id, Answer(answer), now);
      });
    });
  }
  for (const Assignment& assignment : effects.start) {
    run(assignment);
    if (mind_ == nullptr) return;  // A task took it down.
  }
  ASSERT_TRUE(!mind_->failure()) << mind_->failure()->what;
  if (mind_->gone()) {
    mind_.reset();
    ++life_;
    world_.events().after(Millis(world_.random().below(2000)), [this, life = life_] {
      if (life == life_) start();
    });
    return;
  }
  const Instant wake = mind_->next_wake();
  if (wake == wake_ && wake > world_.events().now()) return;
  wake_ = wake;
  world_.events().at(wake, [this, life = life_] {
    if (life != life_) return;
    event([this](Now now) { mind_->tick(now); });
  });
}

void SimWorker::run(const Assignment& assignment) {
  const std::string job(assignment.job);
  const SimJob* known = world_.find(job);
  CHECK(known != nullptr);
  world_.ledger().started(job, assignment.task, assignment.attempt);
  const Conduct& conduct = known->tasks.at(assignment.task);
  if (!assignment.values.empty()) {
    EXPECT_EQ(assignment.values[0], fmt::format("v{}", assignment.task));
  }
  if (conduct.kills_worker) return crash();
  running_.insert(assignment.ticket);
  const bool fails = world_.ledger().starts(job, assignment.task) <= conduct.fails;
  if (known->spec.has_iterations()) {
    return run_partition(assignment.ticket,
                         {iterative_job(job, known->spec), assignment.task, assignment.attempt, 0},
                         conduct, fails);
  }
  world_.events().after(conduct.takes,
                        [this, life = life_, ticket = assignment.ticket, conduct, fails] {
                          if (life != life_) return;
                          event([this, ticket, conduct, fails](Now now) {
                            if (running_.contains(ticket)) end(ticket, conduct, fails, now);
                          });
                        });
}

// From turn to turn, until nothing is left for it. Those that fail do so after some.
void SimWorker::run_partition(uint64_t ticket, const Taker& who, const Conduct& conduct,
                              bool fails) {
  const StoppedClock clock(world_.events().now());
  const Looker looker{ledgers_seen_, clock};
  const bool leaving = who.had > 0 && world_.random().percent(3);
  const balance::Turn turn = take_turn(world_.table(), who, looker, leaving).value();
  if (turn.wait) {
    world_.events().after(Millis(100), [this, life = life_, ticket, who, conduct, fails] {
      if (life != life_) return;
      event([=, this](Now) {
        if (running_.contains(ticket)) run_partition(ticket, who, conduct, fails);
      });
    });
    return;
  }
  const bool fail = fails && who.had > 0;
  if (fail) CHECK(lose_partition(world_.table(), who, looker).ok());
  const std::optional<balance::Span> span = fail ? std::nullopt : turn.span;
  world_.events().after(span ? conduct.takes : Millis(0),
                        [this, life = life_, ticket, who, conduct, fails, fail, span] {
                          if (life != life_) return;
                          event([=, this](Now now) {
                            if (!running_.contains(ticket)) return;
                            if (!span) return end(ticket, conduct, fail, now);
                            world_.ledger().iterated(who.job.id, who.partition, who.attempt, *span);
                            Taker next = who;
                            next.had += span->size();
                            run_partition(ticket, next, conduct, fails);
                          });
                        });
}

void SimWorker::end(uint64_t ticket, const Conduct& conduct, bool fails, Now now) {
  running_.erase(ticket);
  Ending ending;
  ending.ticket = ticket;
  ending.outcome.set_state(fails ? model::STATE_FAILED : model::STATE_OK);
  ending.outcome.set_exit(fails ? 1 : 0);
  ending.outcome.set_blame(fails ? model::BLAME_TASK : model::BLAME_NOBODY);
  ending.outcome.set_ran_us(static_cast<uint64_t>(conduct.takes.count()) * 1000 + 1);
  if (conduct.large_output) ending.outcome.mutable_out()->set_bytes(std::string(2000, 'x'));
  ending.started_us = now.wall_us;
  std::vector<Ending> endings;
  endings.push_back(std::move(ending));
  mind_->ended(std::move(endings), now);
}

TaskWorld::TaskWorld(uint64_t seed)
    : random_(seed),
      core_(memory_core()),
      store_(core_store(*core_, events_, seed)),
      ledger_(jobs_) {
  make_jobs();
  faults_.delay_max = Millis(random_.percent(30) ? 200 : 3);
  if (random_.percent(50)) faults_.request_lost = random_.below(10);
  if (random_.percent(50)) faults_.answer_lost = random_.below(10);
  if (random_.percent(30)) faults_.repeated = random_.below(20);
  if (random_.percent(50)) faults_.crash = random_.below(30);
  if (random_.percent(40)) faults_.freeze = random_.below(20);
  if (random_.percent(40)) faults_.leave = random_.below(20);
  if (random_.percent(40)) faults_.resize = random_.below(60);
  if (seed % 3 == 0) {  // As on DynamoDB.
    commit_rows_ = 100;
    pace_ = Millis(250);
  }
  const uint64_t count = 1 + random_.below(random_.percent(10) ? 100 : 6);
  for (uint64_t i = 0; i < count; ++i) workers_.push_back(std::make_unique<SimWorker>(*this, i));
}

void TaskWorld::make_jobs() {
  const uint64_t count = 1 + random_.below(4);
  const bool partitions = random_.percent(20);  // All jobs are iterative.
  for (uint64_t i = 0; i < count; ++i) {
    SimJob job;
    job.id = fmt::format("job{}", i);
    model::Spec& spec = job.spec;
    spec.set_owner(random_.percent(50) ? "ann" : "bob");
    spec.set_priority(static_cast<uint32_t>(random_.below(10)));
    spec.mutable_command()->set_builtin("noop");
    const uint64_t sizes[] = {1, 3, 256, 257, 700, 3000};
    const uint64_t n = 1 + random_.below(partitions ? 20 : sizes[random_.below(6)]);
    spec.set_tasks(n);
    if (random_.percent(30)) spec.add_retry_on(1);
    if (random_.percent(50)) spec.set_retries(static_cast<uint32_t>(random_.below(4)));
    if (random_.percent(30)) spec.set_backoff_ms(random_.below(500));
    if (random_.percent(20)) spec.mutable_requires_()->add_tags("sim");
    if (random_.percent(20)) {
      spec.mutable_requires_()->set_cpus(static_cast<uint32_t>(1 + random_.below(kSlotsMost)));
    }
    const uint64_t mode = random_.below(10);
    if (mode == 0) spec.set_delivery(model::DELIVERY_RELAXED);
    if (mode <= 2 && mode > 0) spec.set_delivery(model::DELIVERY_AT_MOST_ONCE);
    if (!partitions && random_.percent(40)) {
      SourceWriter writer;
      for (uint64_t task = 0; task < n; ++task) CHECK(writer.add(fmt::format("v{}", task)).ok());
      auto finished = std::move(writer).finish("inputs/" + job.id, false);
      if (!finished.blob.empty()) {
        const NamedBlob blob = blob_of_bytes("inputs/" + job.id, finished.blob);
        CHECK(store_->blobs().put(blob.name, blob.size, blob.source).ok());
      }
      *spec.mutable_inputs()->add_sources() = finished.source;
    }
    if (partitions) {
      spec.mutable_command()->clear_builtin();
      spec.mutable_command()->add_argv("program");
      spec.set_delivery(model::DELIVERY_ONCE);
      spec.mutable_inputs()->set_single(true);
      spec.mutable_iterations()->set_total(1 + random_.below(2000));
      spec.mutable_iterations()->set_partitions(static_cast<uint32_t>(1 + random_.below(n)));
      spec.mutable_iterations()->set_span_ms(1 + random_.below(200));
      spec.set_finish_by_ms(static_cast<int64_t>(1 + random_.below(20'000)));
    }
    if (i > 0 && random_.percent(30)) spec.add_after(fmt::format("job{}", random_.below(i)));
    const uint64_t takes_max = partitions                       ? 500
                               : n < 100 && random_.percent(20) ? 3000
                               : random_.percent(50)            ? 20
                                                                : 1;
    const bool killers = random_.percent(10);
    for (uint64_t task = 0; task < n; ++task) {
      Conduct conduct;
      conduct.takes = Millis(random_.below(takes_max + 1));
      if (random_.percent(5)) conduct.fails = static_cast<uint32_t>(1 + random_.below(5));
      conduct.kills_worker = killers && random_.below(n) == 0 && !spec.has_iterations();
      conduct.large_output = random_.percent(3);
      job.tasks.push_back(conduct);
    }
    job.cancelled = random_.percent(10);
    job.retried = random_.percent(30);
    jobs_.push_back(std::move(job));
  }
}

const SimJob* TaskWorld::find(const std::string& job) const {
  const auto found = std::ranges::find(jobs_, job, &SimJob::id);
  return found == jobs_.end() ? nullptr : &*found;
}

// Where messages are rows, too: a large one has two.
size_t rows_of(const Commit& commit) {
  size_t rows = 0;
  for (const Write& write : commit.writes) {
    const auto* push = std::get_if<Push>(&write);
    const auto* finish = std::get_if<Finish>(&write);
    rows += push != nullptr     ? 2 * push->messages.size()
            : finish != nullptr ? 2 * finish->leases.size()
                                : 1;
  }
  return rows;
}

Answer TaskWorld::apply(const Request& request) {
  core_->expire(events_.now());
  Answer answer = core_->handle(Request(request), events_.now());
  CHECK(core_->commit(events_.now()).ok());
  const auto* commit = std::get_if<Commit>(&request);
  if (commit != nullptr) {
    EXPECT_LE(rows_of(*commit), commit_rows_);
  }
  if (commit != nullptr && std::holds_alternative<Committed>(answer)) {
    for (const Write& write : commit->writes) {
      const auto* put = std::get_if<Put>(&write);
      if (put == nullptr) continue;
      // What is repeated may have been overwritten since.
      const std::vector<std::string> keys{put->key};
      if (store_->table().get(put->table, keys).value()[0].value != put->value) continue;
      if (put->table == kPages) ledger_.page_written(put->key, put->value);
      if (put->table == kEnds) ledger_.job_ended(*store_, put->key, put->value);
    }
  }
  if (const auto* pulled = std::get_if<Deliveries>(&answer)) {
    for (const Delivery& one : pulled->deliveries) {
      if (one.attempt > 1) ledger_.redelivered(one.lease.id);
    }
  }
  hash_ = hash_ * 31 + answer.index() + request.index() * 7;
  return answer;
}

void TaskWorld::post(Request request, std::function<void(Answer&&)> then) {
  const Result<void> valid = validate(request);
  ASSERT_TRUE(valid.ok()) << valid.error().what;
  const auto some = [this] {
    return Millis(random_.below(static_cast<uint64_t>(faults_.delay_max.count()) + 1));
  };
  const bool lost = random_.percent(faults_.request_lost);
  const bool deaf = random_.percent(faults_.answer_lost);
  const bool twice = random_.percent(faults_.repeated);
  if (lost || deaf) ledger_.worker_lost();  // It looks like that.
  if (lost) {
    events_.after(kLostAfter, [then] { then(Error{Code::unavailable, "lost"}); });
    return;
  }
  events_.after(some(),
                [this, request = std::move(request), then = std::move(then), deaf, twice, some] {
                  const auto answer_later = [this, then, deaf, some](Answer&& answer) {
                    if (deaf) answer = Error{Code::unavailable, "lost"};
                    events_.after(deaf ? kLostAfter : some(),
                                  [then, answer = std::move(answer)] { then(Answer(answer)); });
                  };
                  const auto* wait = std::get_if<Pull>(&request);
                  if (wait != nullptr && wait->wait > Millis(0)) {
                    return pull(*wait, events_.now() + wait->wait, answer_later);
                  }
                  if (twice) apply(request);
                  answer_later(apply(request));
                });
}

void TaskWorld::pull(const Pull& request, Instant until, std::function<void(Answer&&)> then) {
  Answer answer = apply(request);
  const auto* found = std::get_if<Deliveries>(&answer);
  if (found == nullptr || !found->deliveries.empty() || events_.now() >= until) {
    return then(std::move(answer));
  }
  events_.after(Millis(100),
                [this, request, until, then = std::move(then)] { pull(request, until, then); });
}

void TaskWorld::submit_all() {
  for (const SimJob& job : jobs_) {
    const auto submitted = submit(*store_, job.spec, {.id = job.id});
    ASSERT_TRUE(submitted.ok()) << submitted.error().what;
    if (job.cancelled) {
      events_.after(Millis(random_.below(8000)), [this, id = job.id] { cancel(id); });
    }
    if (job.retried) {
      ++retries_left_;
      events_.after(Millis(random_.below(3000)), [this, id = job.id] { retry(id); });
    }
  }
}

void TaskWorld::cancel(const std::string& job) {
  const std::vector<std::string> keys{job};
  const Row row = store_->table().get(kEnds, keys).value()[0];
  if (row.version != 0) return;
  model::End end;
  end.set_kind(model::End::CANCELLED);
  CHECK(store_->table().put(kEnds, {job, end.SerializeAsString(), 0}).ok());
  CHECK(release_dependants(*store_, job, 0).ok());
  CHECK(release_if_ready(*store_, job, 0).ok());
}

// As soon as it has ended.
void TaskWorld::retry(const std::string& job) {
  const std::vector<std::string> keys{job};
  const Row row = store_->table().get(kEnds, keys).value()[0];
  if (row.version == 0) {
    events_.after(Millis(random_.below(300)), [this, job] { retry(job); });
    return;
  }
  --retries_left_;
  model::End end;
  ASSERT_TRUE(end.ParseFromString(row.value));
  if (end.kind() != model::End::DONE) return;
  ledger_.retried(job);
  const auto retried = retry_failed(*store_, job, now_of(events_).wall_us);
  ASSERT_TRUE(retried.ok()) << retried.error().what;
  EXPECT_EQ(retried.value().tasks, end.failed());
}

void TaskWorld::trouble() {
  for (const auto& worker : workers_) {
    if (random_.percent(faults_.crash)) worker->crash();
    if (random_.percent(faults_.freeze)) worker->freeze(Millis(random_.below(8000)));
    if (random_.percent(faults_.leave)) worker->leave(random_.percent(50));
    if (random_.percent(faults_.resize) || is_over()) worker->resize();
  }
  if (is_over()) {
    faults_ = {};
  } else {
    events_.after(Millis(1000), [this] { trouble(); });
  }
}

bool TaskWorld::is_over() const { return events_.now() >= Instant(kTroubleMax); }

// In the end every worker can run every task.
uint32_t TaskWorld::slots() {
  return is_over() ? kSlotsMost : 1 + static_cast<uint32_t>(random_.below(kSlotsMost));
}

bool TaskWorld::all_ended() {
  if (retries_left_ > 0) return false;
  for (const SimJob& job : jobs_) {
    const std::vector<std::string> keys{job.id};
    const Row row = store_->table().get(kEnds, keys).value()[0];
    if (row.version == 0) return false;
    const Depth depth = store_->queue().depth(queue_of(route_of(job.spec))).value();
    if (depth.ready + depth.leased > 0) return false;
  }
  return true;
}

std::string TaskWorld::describe() {
  std::string text;
  for (const auto& worker : workers_) text += worker->describe();
  for (const SimJob& job : jobs_) {
    const std::vector<std::string> keys{job.id};
    const Depth depth = store_->queue().depth(queue_of(route_of(job.spec))).value();
    text += fmt::format(
        "{}: {} tasks, delivery {}, ended {}, queue {}: {} ready, {} leased, after {}\n", job.id,
        job.spec.tasks(), static_cast<int>(job.spec.delivery()),
        store_->table().get(kEnds, keys).value()[0].version != 0, queue_of(route_of(job.spec)),
        depth.ready, depth.leased, job.spec.after_size() > 0 ? job.spec.after(0) : "-");
  }
  return text;
}

uint64_t TaskWorld::run() {
  submit_all();
  for (const auto& worker : workers_) worker->start();
  trouble();
  const Instant end = events_.now() + kPeaceMax;
  uint64_t steps = 0;
  while (events_.step(end)) {
    if (testing::Test::HasFatalFailure()) return 0;
    if (++steps % 256 == 0 && is_over() && all_ended()) break;
    if (steps > 20'000'000) break;
  }
  EXPECT_TRUE(all_ended()) << "something is stuck after " << steps << " steps\n" << describe();
  ledger_.check(*store_);
  return hash_ ^ random_.next();
}

}  // namespace dunlin
