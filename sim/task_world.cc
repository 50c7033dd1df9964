#include "sim/task_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "base/check.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/steer.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "sim/client.h"
#include "store/memory.h"

namespace dunlin {
namespace {

constexpr Millis kLostAfter = Millis(1000);
constexpr Millis kPeaceMax = std::chrono::hours(6);
constexpr Millis kExpireEvery = Millis(100);
constexpr Millis kLateMax = Millis(9'000);  // Longer than any lease.
constexpr uint32_t kSlotsMost = 4;
constexpr uint64_t kStepsMax = 20'000'000;
const char* const kPoison = "\xff these bytes are no page";

WallTime wall_of(const Events& events) { return WallTime(events.now().time_since_epoch()); }

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

// A connection of a worker or a client to the hub.
class SimLink final : public Client {
 public:
  using Client::Client;
  void begin() override {}
};

// Reads what a hub's core knows without a commit, which is the hub's own business.
class LookOn final : public RequestStore {
 public:
  LookOn(Core& core, const Clock& clock) : RequestStore(1), core_(core), clock_(clock) {}

 protected:
  Answer call(Request&& request) override {
    CHECK(!std::holds_alternative<Commit>(request) && !std::holds_alternative<Pull>(request));
    return core_.handle(std::move(request), clock_.now());
  }

 private:
  Core& core_;
  const Clock& clock_;
};

}  // namespace

struct TaskWorld::RunningFiber {
  std::unique_ptr<Fiber> fiber;
  std::unique_ptr<Way> way;
  bool mortal = false;
};

class TaskWorld::MemoryWay final : public Way {
 public:
  explicit MemoryWay(TaskWorld& world) : world_(world) {}
  void post(Request request, Then then) override { world_.post(this, std::move(request), then); }
  void close() override {}

 private:
  TaskWorld& world_;
};

class TaskWorld::HubWay final : public Way {
 public:
  HubWay(TaskWorld& world, Client& link) : world_(world), link_(link) {}
  void post(Request request, Then then) override {
    if (const auto* commit = std::get_if<Commit>(&request)) world_.trace(*commit);
    link_.ask(request, [then](const Answer& answer) { then(Answer(answer)); });
  }
  // Not at once: it may be a task that it has just heard of that kills its owner.
  void close() override {
    world_.events_.after(Millis(0), [this_link = &link_] { this_link->crash(); });
  }

 private:
  TaskWorld& world_;
  Client& link_;
};

TaskWorld::TaskWorld(uint64_t seed)
    : random_(seed),
      jobs_(make_jobs(random_, seed, seed % 16 == 3)),
      ledger_(jobs_),
      network_(events_, random_) {
  choose_faults(seed);
  choose_removals(seed);
  if (seed % 3 == 0) {  // As on DynamoDB.
    commit_rows_ = 100;
    pace_ = Millis(250);
  }
  if (is_behind_network(seed)) {
    HubNodeOptions options;
    options.durable = true;
    options.disk_is_slow = random_.percent(20);
    if (random_.percent(50)) {
      options.disk_faults = {.write_fails = 5, .sync_fails = 5, .create_fails = 10};
    } else if (random_.percent(30)) {
      options.disk_faults.capacity = 0;
    }
    hub_ = std::make_unique<HubNode>(events_, network_, random_, options);
    hub_->start();
    network_.faults = {.request_breaks = random_.below(3),
                       .answer_breaks = random_.below(3),
                       .late = 50,
                       .half_open = random_.below(30)};
    while (!hub_->up()) CHECK(events_.step(Instant(kTroubleMax)));
    CHECK(can_look());
  } else {
    core_ = memory_core();
    store_ = core_store(*core_, events_, seed);
    ledger_.watch_losses();
    if (only_answers_lost_) ledger_.expect_peace();
    keep_expiring();
    for (const SimJob& job : jobs_) {
      if (job.past) put_past(job);
    }
  }
  const uint64_t many = hub_ == nullptr ? 100 : 20;
  const uint64_t count = 1 + random_.below(random_.percent(4) ? many : 6);
  for (uint64_t i = 0; i < count; ++i) workers_.push_back(std::make_unique<SimWorker>(*this, i));
}

TaskWorld::~TaskWorld() = default;

void TaskWorld::choose_faults(uint64_t seed) {
  faults_.delay_max = Millis(random_.percent(30) ? 200 : 3);
  if (seed % 16 == 3) {
    only_answers_lost_ = true;
    faults_.answer_lost = 2 + random_.below(10);
    faults_.repeated = random_.below(20);
    faults_.delay_max = Millis(3);
    if (random_.percent(50)) faults_.leave = random_.below(30);
    return;
  }
  if (random_.percent(50)) faults_.request_lost = random_.below(10);
  if (random_.percent(50)) faults_.answer_lost = random_.below(10);
  if (random_.percent(30)) faults_.repeated = random_.below(20);
  if (random_.percent(50)) faults_.late = random_.below(20);
  if (random_.percent(15) && !is_behind_network(seed)) faults_.last_words = 1 + random_.below(2);
  if (random_.percent(20)) faults_.renew_lost = 30 + random_.below(70);
  if (random_.percent(40)) faults_.short_rows = random_.below(60);
  if (random_.percent(20)) faults_.full = random_.below(10);
  if (random_.percent(20)) faults_.away = random_.below(10);
  if (random_.percent(50)) faults_.crash = random_.below(30);
  if (random_.percent(40)) faults_.freeze = random_.below(20);
  if (random_.percent(40)) faults_.leave = random_.below(20);
  if (random_.percent(40)) faults_.resize = random_.below(60);
  if (is_restless(seed)) {
    faults_.crash = 20 + random_.below(20);
    faults_.leave = 20 + random_.below(40);
  }
  if (random_.percent(20)) faults_.broken = random_.below(20);
  if (random_.percent(20)) faults_.poison = random_.below(60);
  if (random_.percent(50)) faults_.client_dies = random_.below(15);
  if (random_.percent(30)) {
    faults_.skew_max = Millis(1 + random_.below(3'600'000));
    faults_.clock_jump = random_.below(30);
  }
}

// In one world of four some jobs are removed. Clocks that are wrong by an hour would keep them for
// as long.
void TaskWorld::choose_removals(uint64_t seed) {
  if (seed % 4 != 1) return;
  Random choice(seed);
  for (SimJob& job : jobs_) {
    const bool awaited = std::ranges::any_of(jobs_, [&](const SimJob& other) {
      return std::ranges::find(other.spec.after(), job.id) != other.spec.after().end();
    });
    job.removed = choice.percent(40);
    if (!job.removed && !awaited && faults_.skew_max == Millis(0) && choice.percent(40)) {
      job.spec.set_keep_ms(5000 + choice.below(5000));
    }
  }
}

const SimJob* TaskWorld::find(const std::string& job) const {
  const auto found = std::ranges::find(jobs_, job, &SimJob::id);
  return found == jobs_.end() ? nullptr : &*found;
}

void TaskWorld::started(const std::string& job, uint64_t task, uint32_t attempt) {
  ledger_.started(job, task, attempt);
  if (attempt > 1 && can_look()) ledger_.check_begun(*store_, job, task, attempt);
}

// --- The store ---

std::unique_ptr<Way> TaskWorld::way() {
  if (hub_ == nullptr) return std::make_unique<MemoryWay>(*this);
  links_.push_back(std::make_unique<SimLink>(ClientWorld{events_, network_, random_, hub_ledger_},
                                             links_.size() + 1));
  links_.back()->start();
  return std::make_unique<HubWay>(*this, *links_.back());
}

Answer TaskWorld::apply(const Request& request) {
  expire();
  const bool full = random_.percent(faults_.full);
  const bool away = random_.percent(faults_.away);
  if (full || (away && random_.percent(50))) {
    return Error{full ? Code::full : Code::unavailable, "the store has a bad time"};
  }
  Answer answer = core_->handle(Request(request), events_.now());
  CHECK(core_->commit(events_.now()).ok());
  const auto* commit = std::get_if<Commit>(&request);
  if (commit != nullptr && std::holds_alternative<Committed>(answer)) look_at(*commit);
  if (const auto* pulled = std::get_if<Deliveries>(&answer)) {
    for (const Delivery& one : pulled->deliveries) {
      if (one.attempt == 1 || std::get<Pull>(request).queue.starts_with("reply")) continue;
      if (std::getenv("TRACE") != nullptr) {
        fmt::print(stderr, "{} again {} for the {}th time\n",
                   events_.now().time_since_epoch().count(), one.lease.id, one.attempt);
      }
      EXPECT_FALSE(only_answers_lost_) << "the lease of " << one.lease.id << " was given up";
      ledger_.redelivered(one);
    }
  }
  shorten(answer);
  hash_ = hash_ * 31 + answer.index() + request.index() * 7;
  if (away) return Error{Code::unavailable, "the store has a bad time"};
  return answer;
}

// TRACE=1 shows what is written, when and by which commit; behind a network, what is asked for.
void TaskWorld::trace(const Commit& commit) {
  static const bool wanted = std::getenv("TRACE") != nullptr;
  if (!wanted) return;
  const auto say = [&](const std::string& text) {
    fmt::print(stderr, "{} {:04x} {}\n", events_.now().time_since_epoch().count(),
               commit.nonce & 0xffff, text);
  };
  for (const Write& write : commit.writes) {
    if (const auto* put = std::get_if<Put>(&write)) {
      say(fmt::format("put {}/{} @{} {}", put->table, put->key, put->version, put->value.size()));
    } else if (const auto* erase = std::get_if<Erase>(&write)) {
      say(fmt::format("erase {}/{} @{}", erase->table, erase->key, erase->version));
    } else if (const auto* push = std::get_if<Push>(&write)) {
      for (const Message& message : push->messages) say("push " + message.id);
    } else if (const auto* finish = std::get_if<Finish>(&write)) {
      for (const Lease& lease : finish->leases) say("finish " + lease.id);
    } else if (const auto* keep = std::get_if<Keep>(&write)) {
      say(fmt::format("keep {} step {}", keep->lease.id, keep->step));
    }
  }
}

// A copy of the commit that has ended a job comes when the job has just been opened again.
void TaskWorld::repeat_end(const Commit& commit) {
  for (const Write& write : commit.writes) {
    const auto* put = std::get_if<Put>(&write);
    if (put != nullptr && put->table == kEnds) ends_[put->key] = commit;
    const auto* erase = std::get_if<Erase>(&write);
    if (erase == nullptr || erase->table != kEnds || !ends_.contains(erase->key)) continue;
    if (faults_.late == 0 || !random_.percent(50)) continue;
    events_.after(Millis(random_.below(50)), [this, copy = ends_[erase->key]] { apply(copy); });
  }
}

void TaskWorld::look_at(const Commit& commit) {
  trace(commit);
  repeat_end(commit);
  EXPECT_LE(rows_of(commit), commit_rows_);
  for (const Write& write : commit.writes) {
    if (const auto* push = std::get_if<Push>(&write)) wake(push->queue);
    const auto* put = std::get_if<Put>(&write);
    if (put == nullptr) continue;
    // What is repeated may have been overwritten since.
    const std::vector<std::string> keys{put->key};
    if (store_->table().get(put->table, keys).value()[0].value != put->value) continue;
    if (put->table == kPages && put->value != kPoison) {
      ledger_.page_written(*store_, put->key, put->value);
    }
    if (put->table == kEnds) ledger_.job_ended(*store_, put->key, put->value);
  }
}

void TaskWorld::shorten(Answer& answer) {
  auto* rows = std::get_if<Rows>(&answer);
  if (rows == nullptr || rows->rows.size() < 2 || !random_.percent(faults_.short_rows)) return;
  rows->rows.resize(1 + random_.below(rows->rows.size() - 1));
}

void TaskWorld::post_late(Request request) {
  events_.after(Millis(random_.below(static_cast<uint64_t>(kLateMax.count()))),
                [this, request = std::move(request)] { apply(request); });
}

void TaskWorld::post(const Way* way, Request request, Way::Then then) {
  const auto some = [this] {
    return Millis(random_.below(static_cast<uint64_t>(faults_.delay_max.count()) + 1));
  };
  const bool is_pull = std::holds_alternative<Pull>(request);
  const bool renews = std::holds_alternative<Renew>(request);
  const bool lost =
      random_.percent(faults_.request_lost) || (renews && random_.percent(faults_.renew_lost));
  const bool deaf = random_.percent(faults_.answer_lost) && !(is_pull && only_answers_lost_);
  const bool twice = random_.percent(faults_.repeated) && !is_pull;
  if (random_.percent(faults_.late) && !is_pull) {
    post_late(request);
  }
  if (lost) {
    events_.after(kLostAfter, [then] { then(Error{Code::unavailable, "lost"}); });
    return;
  }
  events_.after(
      some(), [this, way, request = std::move(request), then = std::move(then), deaf, twice, some] {
        const auto answer_later = [this, then, deaf, some](Answer&& answer) {
          if (deaf) answer = Error{Code::unavailable, "lost"};
          events_.after(deaf ? kLostAfter : some(),
                        [then, answer = std::move(answer)] { then(Answer(answer)); });
        };
        const auto* wait = std::get_if<Pull>(&request);
        if (wait != nullptr && wait->wait > Millis(0)) {
          return pull(way, *wait, events_.now() + wait->wait, answer_later);
        }
        const auto* renew = std::get_if<Renew>(&request);
        if (renew != nullptr && renew->leases.empty()) end_waits(way, renew->queue);
        if (twice) apply(request);
        answer_later(apply(request));
      });
}

// Waits until there is something, or its time is over.
void TaskWorld::pull(const Way* way, const Pull& request, Instant until, Way::Then then) {
  Answer answer = apply(request);
  const auto* found = std::get_if<Deliveries>(&answer);
  if (found == nullptr || !found->deliveries.empty()) return then(std::move(answer));
  const uint64_t number = ++last_waiting_;
  waiting_[request.queue].emplace(number, Waiting{way, request, std::move(then)});
  events_.at(until, [this, queue = request.queue, number] {
    auto one = waiting_[queue].extract(number);
    if (!one.empty()) one.mapped().then(apply(one.mapped().request));
  });
}

// As a hub does for one of its connections.
void TaskWorld::end_waits(const Way* way, const std::string& queue) {
  auto& all = waiting_[queue];
  for (auto one = all.begin(); one != all.end();) {
    const auto next = std::next(one);
    if (one->second.way == way) all.extract(one).mapped().then(Deliveries{});
    one = next;
  }
}

// Something was pushed there, or has come back.
void TaskWorld::wake(const std::string& queue) {
  const auto found = waiting_.find(queue);
  if (found == waiting_.end() || found->second.empty() || !woken_.insert(queue).second) return;
  events_.after(Millis(0), [this, queue] {
    woken_.erase(queue);
    auto& all = waiting_[queue];
    while (!all.empty()) {
      Answer answer = apply(all.begin()->second.request);
      const auto* got = std::get_if<Deliveries>(&answer);
      if (got != nullptr && got->deliveries.empty()) return;
      all.extract(all.begin()).mapped().then(std::move(answer));
    }
  });
}

void TaskWorld::expire() {
  for (const std::string& queue : core_->expire(events_.now())) wake(queue);
}

void TaskWorld::keep_expiring() {
  expire();
  events_.after(kExpireEvery, [this] { keep_expiring(); });
}

// --- Clients ---

void TaskWorld::run_fiber(Fiber::Body body, bool mortal) {
  std::erase_if(fibers_, [](const auto& one) { return one->fiber->over(); });
  fibers_.push_back(std::make_unique<RunningFiber>(
      RunningFiber{std::make_unique<Fiber>(std::move(body)), way(), mortal}));
  go_on(*fibers_.back(), Done{});
}

void TaskWorld::go_on(RunningFiber& running, Answer answer) {
  if (running.mortal && random_.percent(faults_.client_dies)) running.fiber->kill();
  const std::optional<Fiber::Wish> wish = running.fiber->go_on(std::move(answer));
  if (running.fiber->over()) return running.way->close();
  CHECK(wish);
  if (const auto* pause = std::get_if<Fiber::Pause>(&*wish)) {
    return events_.after(pause->time, [this, &running] { go_on(running, Done{}); });
  }
  running.way->post(std::get<Request>(*wish),
                    [this, &running](Answer&& said) { go_on(running, std::move(said)); });
}

// By clients that may die on the way; then another one comes.
void TaskWorld::submit_all() {
  unsubmitted_ = jobs_.size();
  for (const SimJob& job : jobs_) {
    ++clients_left_;
    const auto again = [this, &job](const auto& self) -> void {
      run_fiber(
          [this, &job, self](Fiber& fiber) {
            const auto store = fiber.store(random_.next());
            SubmitOptions options{.id = job.id};
            if (!job.inputs.empty()) {
              options.blobs.push_back(blob_of_bytes(input_blob_name(job.id, "0"), job.inputs));
            }
            const auto submitted = submit(*store, job.spec, options);
            // It may come after one that is not there yet.
            const bool early = !submitted.ok() && submitted.error().code == Code::not_found;
            EXPECT_TRUE(submitted.ok() || early || fiber.killed()) << submitted.error().what;
            if (submitted.ok()) --unsubmitted_;
            events_.after(
                submitted.ok() ? Millis(0) : Millis(200),
                [this, ok = submitted.ok(), self] { ok ? void(--clients_left_) : self(self); });
          },
          true);
    };
    events_.after(job.submitted, [again] { again(again); });
    if (job.cancelled) {
      ++clients_left_;
      events_.after(Millis(random_.below(8000)), [this, id = job.id] { cancel(id); });
    }
    if (job.retried > 0) {
      ++clients_left_;
      events_.after(Millis(random_.below(3000)), [this, &job] { retry(job.id, job.retried); });
    }
  }
  for (const SimJob& job : jobs_) {
    if (!job.removed) continue;
    ++clients_left_;
    events_.after(Millis(random_.below(8000)), [this, id = job.id] { remove(id); });
  }
  if (std::ranges::any_of(jobs_, &SimJob::goes)) sweep(nullptr);
  for (const char* queue : {"reply.0", "reply.1"}) read_replies(queue);
}

void TaskWorld::cancel(const std::string& job) {
  run_fiber(
      [this, job](Fiber& fiber) {
        const auto store = fiber.store(random_.next());
        const auto said = cancel_job(*store, job, to_us(wall_of(events_)));
        // It may be early, or look at a damaged page.
        const bool fine =
            said.ok() || said.error().code == Code::not_found || said.error().code == Code::corrupt;
        EXPECT_TRUE(fine || fiber.killed()) << said.error().what;
        events_.after(Millis(300), [this, job] { cancelled(job); });
      },
      true);
}

// A client that cancels and dies does not come again: others must end what it began.
void TaskWorld::cancelled(const std::string& job) {
  const std::vector<std::string> keys{job};
  if (!can_look()) return events_.after(Millis(300), [this, job] { cancelled(job); });
  const auto rows = store_->table().get(kEnds, keys);
  if (!rows.ok()) return events_.after(Millis(300), [this, job] { cancelled(job); });
  const bool gone = unsubmitted_ == 0 && TaskChecker::is_gone(*store_, *find(job));
  rows.value()[0].version != 0 || gone ? void(--clients_left_) : cancel(job);
}

// As soon as it has ended; again, if whoever does it dies on the way. Now and then two do it at
// once.
void TaskWorld::retry(const std::string& job, uint32_t times) {
  const auto later = [this, job, times](Millis delay) {
    events_.after(delay, [this, job, times] { retry(job, times); });
  };
  if (!can_look()) return later(Millis(300));
  if (unsubmitted_ == 0 && TaskChecker::is_gone(*store_, *find(job))) return void(--clients_left_);
  const std::vector<std::string> keys{job};
  const auto rows = store_->table().get(kEnds, keys);
  if (!rows.ok()) return later(Millis(300));
  const Row row = rows.value()[0];
  model::End end;
  ASSERT_TRUE(end.ParseFromString(row.value));
  if (row.version == 0) return later(Millis(random_.below(300)));
  if (times == 0 || end.kind() != model::End::DONE || end.failed() == 0) {
    --clients_left_;
    return;
  }
  if (random_.percent(20)) {
    ++clients_left_;
    retry_now(job, [this](bool /*done*/) { --clients_left_; });
  }
  retry_now(job, [this, job, times](bool done) { retry(job, done ? times - 1 : times); });
}

void TaskWorld::retry_now(const std::string& job, std::function<void(bool done)> then) {
  ledger_.retries(job);
  run_fiber(
      [this, job, then = std::move(then)](Fiber& fiber) {
        const auto store = fiber.store(random_.next());
        const auto retried = retry_failed(*store, job, to_us(wall_of(events_)));
        // Somebody else may have retried it before, and then it was cancelled, or removed.
        const Code code = retried.ok() ? Code::conflict : retried.error().code;
        const bool fine = retried.ok() || code == Code::conflict || code == Code::corrupt ||
                          (code == Code::invalid && find(job)->cancelled) ||
                          (code == Code::not_found && find(job)->goes());
        EXPECT_TRUE(fine || fiber.killed()) << retried.error().what;
        const bool done = retried.ok() && !fiber.killed();
        events_.after(Millis(300), [then, done] { then(done); });
      },
      true);
}

void TaskWorld::read_replies(const std::string& queue) {
  run_fiber(
      [this, queue](Fiber& fiber) {
        const auto store = fiber.store(random_.next());
        while (!fiber.killed() && !(is_over() && all_ended())) {
          const auto pulled = store->queue().pull(queue, 10, hold_, Millis(0));
          std::vector<Lease> leases;
          for (size_t i = 0; pulled.ok() && i < pulled.value().size(); ++i) {
            ledger_.replied(can_look() ? store_.get() : nullptr, pulled.value()[i].lease.id,
                            pulled.value()[i].body);
            leases.push_back(pulled.value()[i].lease);
          }
          if (!leases.empty()) (void)store->queue().finish(queue, leases).ok();
          fiber.pause(Millis(500));
        }
      },
      true);
}

// --- Trouble ---

// A page is damaged, and repaired some seconds later.
void TaskWorld::poison() {
  const SimJob& job = jobs_[random_.below(jobs_.size())];
  const uint64_t number = random_.below(2);
  if (job.goes()) return;
  const std::vector<std::string> keys{page_key(job.id, number)};
  const Row row = store_->table().get(kPages, keys).value()[0];
  model::Page page;
  if (row.version == 0 || !page.ParseFromString(row.value)) return;
  if (is_full(page, number, job.spec.tasks())) return;  // Nobody needs it any more.
  CHECK(store_->table().put(kPages, {row.key, kPoison, row.version}).ok());
  events_.after(Millis(random_.below(15'000)), [this, row] {
    const std::vector<std::string> again{row.key};
    const Row now = store_->table().get(kPages, again).value()[0];
    EXPECT_EQ(now.value, kPoison) << "somebody wrote over a damaged page";
    CHECK(store_->table().put(kPages, {row.key, row.value, now.version}).ok());
  });
}

void TaskWorld::trouble() {
  for (const auto& worker : workers_) {
    if (random_.percent(faults_.crash)) worker->crash();
    if (random_.percent(faults_.freeze)) worker->freeze(some_sleep());
    if (random_.percent(faults_.leave)) worker->leave(random_.percent(50) && !only_answers_lost_);
    if (random_.percent(faults_.broken)) worker->break_down(Millis(random_.below(9000)));
    if (random_.percent(faults_.clock_jump)) worker->jump();
    if (random_.percent(faults_.resize) || is_over()) worker->resize();
  }
  if (hub_ == nullptr && random_.percent(faults_.poison)) poison();
  if (hub_ != nullptr && hub_->up() && !is_over()) {
    if (random_.percent(10))
      hub_->crash(Millis(random_.below(2000)));
    else if (random_.percent(10))
      hub_->crash_in_turn(Millis(random_.below(2000)));
    random_.percent(50) ? hub_->start_disk_faults() : hub_->end_disk_faults();
  }
  if (is_over()) {
    faults_ = {};
    network_.faults = {};
    network_.heal();
    if (hub_ != nullptr) hub_->end_all_faults();
  } else {
    events_.after(Millis(1000), [this] { trouble(); });
  }
}

// Often about as long as a lease: then its successor has just begun.
Millis TaskWorld::some_sleep() {
  const auto hold = static_cast<uint64_t>(hold_.count());
  return Millis(random_.percent(50) ? random_.below(4 * hold) : hold * 2 / 3 + random_.below(hold));
}

bool TaskWorld::is_over() const { return events_.now() >= Instant(kTroubleMax); }

// In the end every worker can run every task.
uint32_t TaskWorld::slots() {
  return is_over() ? kSlotsMost : 1 + static_cast<uint32_t>(random_.below(kSlotsMost));
}

Millis TaskWorld::skew() {
  const auto most = static_cast<uint64_t>(faults_.skew_max.count());
  return most == 0 ? Millis(0) : Millis(random_.below(2 * most)) - faults_.skew_max;
}

bool TaskWorld::can_look() {
  if (hub_ == nullptr) return true;
  if (!hub_->up()) return false;
  store_ = std::make_unique<LookOn>(hub_->core(), events_);  // It may have another one by now.
  return true;
}

bool TaskWorld::all_ended() {
  if (clients_left_ > 0 || !can_look()) return false;
  for (const SimJob& job : jobs_) {
    const std::vector<std::string> keys{job.id};
    const Row row = store_->table().get(kEnds, keys).value()[0];
    if (row.version == 0 && !TaskChecker::is_gone(*store_, job)) return false;
    const Depth depth = store_->queue().depth(queue_of(route_of(job.spec))).value();
    if (depth.ready + depth.leased > 0) return false;
  }
  return all_removed();
}

bool TaskWorld::all_idle() {
  return std::ranges::all_of(workers_, [](const auto& one) { return one->leftovers().empty(); });
}

// Of a job that has not ended.
std::string TaskWorld::describe_rows(const SimJob& job) {
  std::string text;
  const std::vector<Row> pages = store_->table().scan(kPages, job.id + "/", "", 100).value();
  for (const Row& row : pages) {
    model::Page page;
    if (!page.ParseFromString(row.value)) {
      text += fmt::format("  page {}: damaged\n", row.key);
      continue;
    }
    text += fmt::format(
        "  page {}: {} outcomes, {} moved, {} claims, round {}; without outcome:", row.key,
        page.outcomes_size(), count_bits(page.moved()), page.claims_size(), page.round());
    std::set<uint32_t> have;
    for (const model::Outcome& outcome : page.outcomes()) have.insert(outcome.offset());
    const uint64_t number = std::stoull(row.key.substr(job.id.size() + 1), nullptr, 16);
    for (uint32_t i = 0; i < page_size(number, job.spec.tasks()); ++i) {
      if (have.contains(i)) continue;
      text += fmt::format(" {}{}", i, has_bit(page.moved(), i) ? "m" : "");
    }
    text += '\n';
  }
  const std::vector<Row> ledgers = store_->table().scan(kLedgers, job.id, "", 100).value();
  for (const Row& row : ledgers) {
    model::Ledger ledger;
    if (row.key == job.id && ledger.ParseFromString(row.value)) {
      text += fmt::format("  ledger {} of {}: {}\n", row.key, job.spec.iterations().total(),
                          ledger.ShortDebugString());
    }
  }
  const std::vector<Row> nodes = store_->table().scan(kNodes, job.id + "/", "", 100).value();
  for (const Row& row : nodes) {
    model::Node node;
    if (!node.ParseFromString(row.value)) continue;
    text += fmt::format("  node {}: {} full, ok {}, failed {}, round {}\n", row.key,
                        count_bits(node.full()), node.ok(), node.failed(), node.round());
  }
  return text;
}

std::string TaskWorld::describe() {
  std::string text = fmt::format("{} clients are not done\n", clients_left_);
  for (const auto& worker : workers_) text += worker->describe() + worker->leftovers();
  if (!can_look()) return text + "the hub is down\n";
  for (const SimJob& job : jobs_) {
    const std::vector<std::string> keys{job.id};
    const Depth depth = store_->queue().depth(queue_of(route_of(job.spec))).value();
    if (store_->table().get(kEnds, keys).value()[0].version == 0) text += describe_rows(job);
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
    if (testing::Test::HasFailure()) return 0;
    if (++steps % 256 == 0 && is_over() && all_ended() && all_idle()) break;
    if (steps > kStepsMax) break;
  }
  EXPECT_TRUE(all_ended() && all_idle()) << "something is stuck after " << steps << " steps\n"
                                         << describe();
  if (!testing::Test::HasFailure()) ledger_.check(*store_);
  return hash_ ^ random_.next() ^ network_.hash();
}

}  // namespace dunlin
