// Goal: whatever somebody with a `submit` token writes, with any client, the jobs of others run to
// their end, are listed, and are removed in time: by a worker, a reader and a sweeper that go on.
//
// Method: rows that no program of ours would write, as far as the hub's rules let them pass; then a
// worker's mind, the readers of lists and results, and a sweeper over the same store. Each has the
// rights of its own token, and only so many requests. A failure is replayed with
// `SEED=n build/debug/sim_test --gtest_filter=BadRows.*`.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/names.h"
#include "hub/access/rights.h"
#include "model/jobs/progress.h"
#include "model/jobs/results.h"
#include "model/jobs/steer.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/owned.h"
#include "model/rows.h"
#include "model/tasks/expand.h"
#include "model/views/explain.h"
#include "model/views/json.h"
#include "model/views/list_jobs.h"
#include "retention/sweeper.h"
#include "sim/seeds.h"
#include "store/memory.h"
#include "testing/clock.h"
#include "worker/mind/worker.h"

namespace dunlin {
namespace {

constexpr Millis kStep(50);
constexpr Millis kTime = std::chrono::minutes(4);   // For the jobs to end,
constexpr Millis kMore = std::chrono::seconds(15);  // and then for what looks at bad rows again.
constexpr int kAsksPerStep = 20'000;
constexpr uint64_t kHourMs = 3600 * 1000;
const std::string kBob = "bob";

// A store as the holder of a token sees it, for a number of requests.
class Guarded final : public RequestStore {
 public:
  Guarded(RequestStore& store, uint64_t seed, hub::Rights rights, int requests)
      : RequestStore(seed), store_(store), rights_(std::move(rights)), left_(requests) {}

 protected:
  Answer call(Request&& request) override {
    if (left_ == 0) ADD_FAILURE() << "it asks again and again";
    if (--left_ < 0) return Error{Code::corrupt, "too many requests"};
    const Result<void> allowed = hub::allows(rights_, request);
    return allowed.ok() ? store_.ask(std::move(request)) : Answer(allowed.error());
  }

 private:
  RequestStore& store_;
  const hub::Rights rights_;
  int left_;
};

class BadWorld {
 public:
  explicit BadWorld(uint64_t seed)
      : random_(seed),
        bound_(random_.percent(50)),
        attacker_(*store_, 5002, attacker(), 100'000),
        server_(*store_, 5003, hub::Scope::worker, 1'000'000),
        mind_({.id = "w", .slots = 2, .mem_bytes = 1000, .gpus = 1, .seed = seed}) {
    model::Retention rule;
    rule.set_keep_ms(kHourMs);
    rule.set_keep_failed_ms(kHourMs);
    CHECK(retention::write_rule(store_->table(), rule, false).ok());
  }

  void run() {
    for (int i = 0; i < 3; ++i) jobs_.push_back(make_job_id(random_, clock_.wall()));
    for (std::string& job : jobs_) job += bound_ ? ".ann" : "";
    attack(20);
    submit_well();
    attack(20);
    mind_.begin(now());
    act();
    const Instant until = clock_.now() + kTime;
    while (!has_failed() && clock_.now() < until && !all_ended()) step();
    for (const std::string& id : well_) {
      const auto end = read_record<model::End>(store_->table(), kEnds, id).value();
      ASSERT_TRUE(end.version != 0 && end.record.kind() == model::End::DONE &&
                  end.record.failed() == 0)
          << id << " does not end\n"
          << mind_.describe();
    }
    for (Millis more(0); more < kMore && !has_failed(); more += kStep) step();
    read_all();
    steer_all();
    sweep();
  }

 private:
  static bool has_failed() { return ::testing::Test::HasFailure(); }
  hub::Rights attacker() const {
    hub::Rights rights(hub::Scope::submit);
    if (bound_) rights.owner = "ann";
    return rights;
  }
  worker::Now now() const { return {clock_.now(), to_us(clock_.wall())}; }

  // --- What is written ---

  template <typename T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + random_.below(all.size()));
  }
  uint64_t number() {
    return one_of<uint64_t>({0, 1, 2, 3, 255, 256, 257, 1000, 1001, INT32_MAX, UINT32_MAX,
                             uint64_t{1} << 60U, INT64_MAX, uint64_t{1} << 63U, UINT64_MAX});
  }
  int64_t time_us() { return static_cast<int64_t>(number()); }
  uint32_t small() { return static_cast<uint32_t>(number()); }
  std::string job() { return jobs_[random_.below(jobs_.size())]; }
  std::string name() {
    const auto odd =
        one_of<std::string>({"", "a b", "/", "a/b", "x", "tascaas.x", "reply.x", "reply.ann",
                             "work.5.x", "tascaas/x", "jobs/x/input/0", "jobs/ x", "0/", "ann/x y",
                             "ann/k", std::string(64, 'x'), std::string(500, 'x')});
    return random_.percent(30) ? job() : odd;
  }

  void spoil(model::Source& source) {
    if (random_.percent(50)) source.set_count(number());
    if (random_.percent(20)) source.set_linked(true);
    if (random_.percent(20)) source.set_blob(name());
    if (random_.percent(20)) source.set_blob_bytes(number());
    if (random_.percent(20)) source.set_inline_(std::string(3, '\0'));
  }

  void spoil(model::Spec& spec) {
    const std::vector<std::function<void()>> ways = {
        [&] { spec.set_owner(name()); },
        [&] { spec.set_tasks(number()); },
        [&] { spec.set_reply(name()); },
        [&] { spec.set_priority(small()); },
        [&] { spec.set_delivery(model::DELIVERY_AT_MOST_ONCE); },
        [&] { spec.set_backoff_ms(number()); },
        [&] { spec.set_losses(small()); },
        [&] { spec.set_keep_ms(number()); },
        [&] { spec.set_created_us(time_us()); },
        [&] { spec.set_finish_by_ms(time_us()); },
        [&] { spec.add_after(random_.percent(70) ? job() : name()); },
        [&] { spec.set_stdin_blob(name()); },
        [&] { spoil(*spec.mutable_inputs()->add_sources()); },
        [&] { spoil(*spec.mutable_inputs()->add_sources()); },
        [&] {
          spec.mutable_iterations()->set_total(number());
          spec.mutable_iterations()->set_partitions(small());
        },
        [&] { spec.mutable_requires_()->add_tags(name()); },
        [&] { spec.mutable_requires_()->set_cpus(small()); },
        [&] { spec.mutable_requires_()->set_mem_bytes(number()); },
        [&] { spec.mutable_requires_()->set_gpus(small()); },
    };
    for (uint64_t i = random_.below(3); i > 0; --i) ways[random_.below(ways.size())]();
  }

  model::Job some_job() {
    model::Job job;
    job.set_id(this->job());
    model::Spec& spec = *job.mutable_spec();
    spec = good_spec("ann", 1 + random_.below(300));
    spoil(spec);
    job.set_queue(queue_of(route_of(spec)));
    if (random_.percent(10)) job.set_id(name());
    if (random_.percent(10)) job.set_queue(name());
    if (random_.percent(20)) job.set_round(small());
    if (random_.percent(20)) job.set_gone_us(time_us());
    if (random_.percent(20)) job.set_key(name());
    return job;
  }

  std::vector<Message> messages_of(const model::Job& job) {
    model::Range range;
    range.set_job(random_.percent(90) ? job.id() : name());
    range.set_last(job.spec().tasks());
    range.set_attempt(1);
    if (random_.percent(70)) *range.mutable_spec() = job.spec();
    if (random_.percent(70)) range.set_sent_us(to_us(clock_.wall()));
    const std::vector<std::function<void()>> ways = {
        [&] { range.set_first(number()); },
        [&] { range.set_last(number()); },
        [&] { range.set_attempt(small()); },
        [&] { range.set_lost(small()); },
        [&] { range.set_failures(small()); },
        [&] { range.set_seen(true); },
        [&] { range.set_not_before_ms(time_us()); },
        [&] { range.set_round(small()); },
        [&] { range.set_sent_us(time_us()); },
        [&] { range.set_alone(true); },
        [&] { range.set_reserve(true); },
        [&] { range.set_refused(small()); },
    };
    for (uint64_t i = random_.below(4); i > 0; --i) ways[random_.below(ways.size())]();
    const std::string id = is_visible(range_id(range), kIdMax) ? range_id(range) : "x";
    return {{id, range.SerializeAsString()}};
  }

  std::string some_page() {
    if (random_.percent(30)) return "\xff no page";
    model::Page page;
    for (uint64_t i = random_.below(300); i > 0; --i) {
      model::Outcome& outcome = *page.add_outcomes();
      outcome.set_offset(random_.percent(2) ? small() : static_cast<uint32_t>(random_.below(256)));
      outcome.set_state(random_.percent(50) ? model::STATE_OK : model::STATE_FAILED);
      outcome.set_attempt(small());
      outcome.set_worker(small());
      outcome.set_received_us(time_us());
    }
    for (uint64_t i = random_.below(3); i > 0; --i) {
      model::Claim& claim = *page.add_claims();
      claim.set_offset(static_cast<uint32_t>(random_.below(256)));
      claim.set_attempt(small());
      claim.set_earlier(small());
    }
    if (random_.percent(20)) page.set_moved(std::string(1000, '\xff'));
    if (random_.percent(20)) page.set_round(small());
    if (random_.percent(20)) page.set_begun(small());
    return page.SerializeAsString();
  }

  std::string some_node() {
    model::Node node;
    node.set_full(std::string(random_.below(40), '\xff'));
    node.set_ok(number());
    node.set_failed(number());
    node.set_round(small());
    return random_.percent(20) ? "\xff" : node.SerializeAsString();
  }

  std::string some_end() {
    model::End end;
    end.set_kind(one_of({model::End::DONE, model::End::CANCELLED, model::End::SKIPPED}));
    end.set_ok(number());
    end.set_failed(number());
    end.set_ended_us(time_us());
    return random_.percent(20) ? "\xff" : end.SerializeAsString();
  }

  std::string some_page_key() {
    return job() + one_of<std::string>({"/00000000", "/00000001", "/00000000", "/1", "/0",
                                        "/00000000/1", "/", "/x", "/ffffffffffffffff"});
  }

  Put row(std::string_view table, std::string key, std::string value = "") {
    return {std::string(table), std::move(key), std::move(value), kAnyVersion};
  }

  std::vector<Write> some_writes() {
    switch (random_.below(14)) {
      case 0:
        return {row(kEnds, job(), some_end())};
      case 1:
        return {row(kWaits, random_.percent(80) ? job() : name())};
      case 2:
        return {row(kAfter, job() + '/' + (random_.percent(70) ? job() : name()))};
      case 3:
        return {row(kAfter, job() + '/'), row(kAfter, job() + '/' + job()), row(kWaits, job())};
      case 4:
      case 5:
        return {row(kPages, some_page_key(), some_page())};
      case 6:
        return {row(kNodes, job() + one_of<std::string>({"/1/00000000", "/1/1", "/1/x", "/2/"}),
                    some_node())};
      case 7:
        return {row(kExpiry, one_of<std::string>({"0/", "/", "00000000000/", "~/"}) + name())};
      case 8:
        return {row(kRoutes, name(), random_.percent(50) ? "" : some_end())};
      case 9:
        return {row(kHistory, "1970-01-01/" + name(), some_end()), row(kKeys, name(), name())};
      case 10: {
        model::Reply reply;
        reply.set_job(name());
        return {Push{"reply.x", {{"r", reply.SerializeAsString()}}}};
      }
      default: {
        const model::Job job = some_job();
        const std::string key = random_.percent(90) ? job.id() : this->job();
        std::vector<Write> writes = {row(kJobs, key, job.SerializeAsString())};
        if (random_.percent(80)) writes.emplace_back(put_route(job));
        if (random_.percent(80)) writes.emplace_back(Push{job.queue(), messages_of(job)});
        return writes;
      }
    }
  }

  // One write that is refused must not keep the others out.
  void attack(int writes) {
    for (int i = 0; i < writes; ++i) (void)attacker_.commit(some_writes()).ok();
    put_blob("jobs/" + job() + "/input/0");
    if (!bound_) put_blob(one_of<std::string>({"jobs//x", "jobs/a/input/x", "jobs/x"}));
  }
  void put_blob(const std::string& name) {
    (void)attacker_.blobs()
        .put(name, 1, [](uint64_t, size_t) -> Result<std::string> { return std::string("x"); })
        .ok();
  }

  model::Spec good_spec(const std::string& owner, uint64_t tasks) {
    model::Spec spec;
    spec.set_owner(owner);
    spec.mutable_command()->set_builtin("noop");
    spec.set_tasks(tasks);
    spec.set_priority(kPriorityDefault);
    spec.set_created_us(to_us(clock_.wall()));
    return spec;
  }

  // Two jobs, and one that comes after the first.
  void submit_well() {
    for (int i = 0; i < 3; ++i) {
      model::Spec spec = good_spec(kBob, one_of<uint64_t>({1, 300, 700}));
      if (i == 2) spec.add_after(well_.front());
      well_.push_back(owned_job_id(make_job_id(random_, clock_.wall()), kBob));
      CHECK(submit(*store_, spec, {.id = well_.back()}).ok());
    }
  }

  // --- Who meets it ---

  bool all_ended() {
    for (const std::string& id : well_) {
      if (get_row(store_->table(), kEnds, id).value().version == 0) return false;
    }
    return true;
  }

  void step() {
    clock_.advance(kStep);
    if (random_.percent(2)) attack(1);
    auto parked = std::exchange(parked_, {});
    for (auto& [id, pull] : parked) answer_pull(id, std::move(pull));
    mind_.tick(now());
    act();
  }

  struct Parked {
    Pull pull;
    Instant until;
  };
  void answer_pull(uint64_t id, Parked&& parked) {
    Answer answer = server_.ask(Request(parked.pull));
    const auto* found = std::get_if<Deliveries>(&answer);
    if (found != nullptr && found->deliveries.empty() && clock_.now() < parked.until) {
      parked_.emplace(id, std::move(parked));
    } else {
      mind_.answered(id, std::move(answer), now());
    }
  }

  void act() {
    for (int asks = 0; asks < kAsksPerStep; ++asks) {
      mind_.check();
      worker::WorkerMind::Effects effects = mind_.take();
      if (effects.asks.empty() && effects.start.empty()) return;
      for (worker::WorkerMind::Ask& ask : effects.asks) {
        if (auto* pull = std::get_if<Pull>(&ask.request)) {
          const Instant until = clock_.now() + pull->wait;
          answer_pull(ask.id, {std::move(*pull), until});
        } else {
          mind_.answered(ask.id, server_.ask(std::move(ask.request)), now());
        }
        ASSERT_FALSE(mind_.failure()) << mind_.failure()->what;
      }
      std::vector<worker::Ending> endings;
      for (const worker::Assignment& one : effects.start) {
        (void)expand(one.job->spec, one.task, one.values).ok();
        worker::Ending& ending = endings.emplace_back();
        ending.ticket = one.ticket;
        ending.started_us = now().wall_us;
        ending.outcome.set_state(model::STATE_OK);
      }
      if (!endings.empty()) mind_.ended(std::move(endings), now());
    }
    ADD_FAILURE() << "the worker asks again and again\n" << mind_.describe();
  }

  // Others' damage is an error of their jobs alone.
  void read_all() {
    Guarded reader(*store_, 5004, hub::Scope::read, 200'000);
    std::set<std::string> listed;
    const auto all =
        newest_jobs(reader.table(), clock_.wall(), 1000, [](const Listed&) { return true; });
    ASSERT_TRUE(all.ok()) << all.error().what;
    for (const Listed& one : all.value()) {
      const auto counts = read_counts(reader.table(), one.job, one.standing);
      ASSERT_TRUE(counts.ok() || counts.error().code == Code::corrupt) << counts.error().what;
      if (counts.ok()) listed.insert(one.job.id());
    }
    for (const std::string& id : well_) EXPECT_TRUE(listed.contains(id)) << id;
    std::vector<std::string> ids = jobs_;
    ids.insert(ids.end(), well_.begin(), well_.end());
    for (const std::string& id : ids) {
      const auto progress = read_progress(reader, id, clock_.wall());
      const auto explained = explain_job(reader, id, "", clock_.wall());
      const bool is_well = std::ranges::find(well_, id) != well_.end();
      EXPECT_TRUE((progress.ok() && explained.ok()) || !is_well) << id;
      if (!progress.ok()) continue;
      (void)json_text(progress_json(progress.value()));
      ResultReader results(reader.table(), id, 0, progress.value().job.spec().tasks());
      for (int i = 0; i < 2000; ++i) {
        const auto result = results.next();
        if (!result.ok() || !result.value()) break;
        (void)result_json(reader, progress.value().job, *result.value()).ok();
      }
    }
  }

  void steer_all() {
    Guarded steerer(*store_, 5005, hub::Scope::submit, 200'000);
    for (const std::string& id : jobs_) {
      (void)retry_failed(steerer, id, now().wall_us).ok();
      (void)cancel_job(steerer, id, now().wall_us).ok();
    }
  }

  void sweep() {
    Guarded swept(*store_, 5006, hub::Scope::admin, 500'000);
    retention::Sweeper sweeper({.sole = true, .not_before = WallTime()});
    for (Millis passed(0); passed < std::chrono::hours(50); passed += std::chrono::minutes(20)) {
      const auto looked = sweeper.sweep(swept, {clock_.now(), clock_.wall()});
      ASSERT_TRUE(looked.ok()) << looked.error().what;
      clock_.advance(std::chrono::minutes(20));
    }
    // Whoever may submit may also say that a job of his comes after others', which then stay.
    for (const std::string& id : well_) {
      const bool awaited = !store_->table().scan(kAfter, id + "/", "", 1).value().empty();
      const Row job = get_row(store_->table(), kJobs, id).value();
      EXPECT_TRUE(job.version == 0 || awaited) << id << " is not removed";
    }
  }

  Random random_;
  const bool bound_;
  SimClock clock_;
  std::unique_ptr<RequestStore> store_ = memory_store(clock_);
  Guarded attacker_;
  Guarded server_;  // The worker's.
  worker::WorkerMind mind_;
  std::map<uint64_t, Parked> parked_;  // Pulls that wait, by the number of the request.
  std::vector<std::string> jobs_;      // The attacker's.
  std::vector<std::string> well_;
};

TEST(BadRows, StopNobodyButTheirOwnJob) {
  log::set_level(log::Level::off);
  for (const uint64_t seed : seeds(300)) {
    SCOPED_TRACE("SEED=" + std::to_string(seed));
    BadWorld(seed).run();
    if (HasFailure()) break;
  }
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace dunlin
