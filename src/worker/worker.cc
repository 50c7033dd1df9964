#include "worker/worker.h"

#include <absl/container/flat_hash_set.h>
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/log.h"

namespace dunlin {
namespace {

constexpr Millis kBeatEvery = std::chrono::seconds(5);
constexpr Millis kLookEvery = Millis(500);
constexpr Millis kPullsEnd = std::chrono::seconds(1);
constexpr Millis kRetryMin = Millis(20);
constexpr Millis kRetryMax = std::chrono::seconds(5);
constexpr Millis kRefusedMin = std::chrono::seconds(1);  // A damaged row is not soon repaired.
constexpr Millis kRefusedMax = std::chrono::seconds(60);

}  // namespace

WorkerMind::WorkerMind(WorkerOptions options)
    : options_(std::move(options)), slots_(options_.slots), random_(options_.seed) {
  for (uint32_t gpu = 0; gpu < options_.gpus; ++gpu) gpus_free_.insert(gpu);
}

void WorkerMind::begin(Now now) {
  now_ = now;
  begun_ = true;
  idle_since_ = now.at;
  started_wall_us_ = now.wall_us;
  if (!is_alone()) {
    beat();
    scan_routes("");
  } else {
    routes_.push_back({options_.queue, {}, {}});
  }
  keep_renewing();
  look_at_ends();
  share_with_hungry();
  think();
}

void WorkerMind::ask(Request request, Then then, bool hears_all) {
  const uint64_t id = ++last_ask_;
  asked_.emplace(id, Asked{std::move(request), std::move(then), hears_all});
  post(id);
}

// All rows: an answer may hold only the first ones.
void WorkerMind::get_rows(Get get, std::function<void(std::vector<Row>&&)> then,
                          std::vector<Row> so_far) {
  if (get.keys.empty()) return then(std::move(so_far));
  Get asked = get;
  ask(std::move(asked), [this, get = std::move(get), then = std::move(then),
                         so_far = std::move(so_far)](Answer&& answer) mutable {
    auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr || rows->rows.empty()) return then({});
    const size_t count = std::min(rows->rows.size(), get.keys.size());
    std::move(rows->rows.begin(), rows->rows.end(), std::back_inserter(so_far));
    get.keys.erase(get.keys.begin(), get.keys.begin() + static_cast<std::ptrdiff_t>(count));
    get_rows(std::move(get), std::move(then), std::move(so_far));
  });
}

void WorkerMind::post(uint64_t id) { effects_.asks.push_back({id, asked_.at(id).request}); }

void WorkerMind::answered(uint64_t id, Answer&& answer, Now now) {
  now_ = now;
  const auto found = asked_.find(id);
  CHECK(found != asked_.end());
  if (const auto* error = std::get_if<Error>(&answer)) {
    const uint32_t doublings = std::min(found->second.tries, 8U);
    if (error->code == Code::unavailable || error->code == Code::full) {
      // It may have happened. The same bytes again, nonce and all, are the same request.
      return ask_again(id, std::min(kRetryMax, kRetryMin * (1U << doublings)));
    }
    if (error->code == Code::denied) {
      failure_ = *error;
      return;
    }
    const bool heard = error->code == Code::conflict || error->code == Code::not_found;
    if (!heard && !found->second.hears_all) {
      // One bad row must not end a worker that has other things to do.
      if (doublings == 0) log::error("the store refuses a request: {}", error->what);
      return ask_again(id, std::min(kRefusedMax, kRefusedMin * (1U << doublings)));
    }
  }
  const Then then = std::move(found->second.then);
  asked_.erase(found);
  then(std::move(answer));
  think();
}

void WorkerMind::ask_again(uint64_t id, Millis least) {
  ++asked_.at(id).tries;
  later(least + Millis(random_.below(static_cast<uint64_t>(least.count()))),
        [this, id] { post(id); });
}

void WorkerMind::later(Millis delay, std::function<void()> what) {
  timers_.emplace(now_.at + delay, std::move(what));
}

void WorkerMind::set_slots(uint32_t slots, Now now) {
  CHECK(slots > 0);
  now_ = now;
  slots_ = slots;
  think();
}

void WorkerMind::commit(std::vector<Write>&& writes, Then then, bool hears_all) {
  ask(Commit{random_.next() | 1U, std::move(writes)}, std::move(then), hears_all);
}

void WorkerMind::tick(Now now) {
  now_ = now;
  while (!timers_.empty() && timers_.begin()->first <= now.at) {
    const auto what = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    what();
  }
  think();
}

Instant WorkerMind::next_wake() const {
  return timers_.empty() ? now_.at + std::chrono::hours(1) : timers_.begin()->first;
}

// A task that was dropped before anybody took it never starts.
WorkerMind::Effects WorkerMind::take() {
  if (!effects_.drop.empty() && !effects_.start.empty()) {
    const absl::flat_hash_set<uint64_t> dropped(effects_.drop.begin(), effects_.drop.end());
    std::erase_if(effects_.start,
                  [&](const Assignment& one) { return dropped.contains(one.ticket); });
  }
  return std::exchange(effects_, Effects());
}

// Everything that may be done now is begun here, so no event needs to know what follows from it.
void WorkerMind::think() {
  if (!begun_ || failure_ || gone_) return;
  if (stopping() || resting()) give_back_unstarted();
  if (stopping()) forget_stuck();
  start();
  finish_done();
  publish();
  pull();
  sweep();
  if (stopping() && held_.empty()) say_goodbye();
  if (leaves_at_ && held_.empty()) gone_ = pulling_.empty() || now_.at >= *leaves_at_;
}

void WorkerMind::beat() {
  if (goodbye_) return;
  model::WorkerInfo info;
  info.set_id(options_.id);
  info.set_host(options_.host);
  info.set_pid(options_.pid);
  info.set_slots(slots_);
  info.set_busy(static_cast<uint32_t>(busy()));
  for (const std::string& tag : options_.tags) info.add_tags(tag);
  for (const std::string& name : options_.functions) info.add_functions(name);
  info.set_mem_bytes(options_.mem_bytes);
  info.set_gpus(options_.gpus);
  info.set_started_ms(started_wall_us_ / 1000);
  info.set_seen_ms(now_.wall_us / 1000);
  info.set_done(done_);
  info.set_failed(failed_);
  info.set_load(static_cast<double>(info.busy()) / slots_);
  info.set_draining(stopping());
  info.set_trouble(trouble_);
  commit({Put{std::string(kWorkers), options_.id, info.SerializeAsString(), kAnyVersion}},
         [this](Answer&&) { later(kBeatEvery, [this] { beat(); }); });
}

// Leases are kept by the agent, however long a task runs. Those that are lost belong to somebody
// else now: their tasks are stopped.
void WorkerMind::renew() {
  std::map<std::string, std::vector<Lease>> by_queue;
  for (const auto& [id, held] : held_) by_queue[held.queue].push_back(held.lease);
  for (auto& [queue, leases] : by_queue) {
    for (size_t from = 0; from < leases.size(); from += kBatchMax) {
      const size_t count = std::min(kBatchMax, leases.size() - from);
      const auto begin = leases.begin() + static_cast<std::ptrdiff_t>(from);
      renew_leases(queue, {begin, begin + static_cast<std::ptrdiff_t>(count)}, [] {});
    }
  }
}

void WorkerMind::keep_renewing() {
  later(options_.hold / 3, [this] {
    renew();
    keep_renewing();
  });
}

void WorkerMind::renew_leases(const std::string& queue, std::vector<Lease> leases,
                              std::function<void()> then) {
  ++renewing_;
  Renew request{queue, leases, options_.hold};
  ask(std::move(request), [this, leases = std::move(leases), until = now_.at + options_.hold,
                           then = std::move(then)](Answer&& answer) {
    --renewing_;
    if (const auto* lost = std::get_if<Lost>(&answer)) {
      for (const Lease& lease : leases) {
        Held* held = find(lease);
        if (held == nullptr) continue;
        held->valid_until = until;
        settled_.insert(held->id);  // What waited for this goes on.
      }
      for (const Lease& lease : lost->leases) lose(lease);
    }
    then();
  });
}

// A worker that was asleep must not act on what it held before it asked whether it still does.
bool WorkerMind::in_doubt(const Held& held) {
  if (now_.at < held.valid_until) return false;
  if (renewing_ == 0) renew();
  return true;
}

void WorkerMind::lose(const Lease& lease) {
  const Held* held = find(lease);
  // One that is being finished may be gone because of that: the answer to the commit will tell.
  if (held != nullptr && !held->finishing) forget(held->id);
}

// A job that was cancelled is noticed here.
void WorkerMind::look_at_ends() {
  std::vector<std::string> jobs;
  for (const auto& [job, plan] : plans_) {
    if (plan->held > 0 && !plan->ended && jobs.size() < kBatchMax) jobs.push_back(job);
  }
  later(std::max(kLookEvery, options_.pace * 4), [this] { look_at_ends(); });
  if (jobs.empty()) return;
  ask(Get{std::string(kEnds), jobs}, [this](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr) return;
    for (const Row& row : rows->rows) {
      const auto plan = plans_.find(row.key);
      // Whether something comes after it must be known, too, before its messages are dropped.
      if (row.version != 0 && plan != plans_.end()) read_end(*plan->second, [] {});
    }
  });
}

std::string WorkerMind::describe() const {
  std::string text = fmt::format(
      "{}: running={} unstarted={} routes={} pulling={} asked={} dirty={} publishing={} "
      "claiming={} draining={} settled={} to_finish={} recovering={} doubt={}\n",
      options_.id, running_.size(), unstarted_, routes_.size(), pulling_.size(), asked_.size(),
      dirty_.size(), publishing_, claiming_, draining_, settled_.size(), to_finish_.size(),
      recovering_, renewing_);
  for (const auto& [id, asked] : asked_) {
    text += fmt::format("  asked {}: kind {}, {} tries\n", id, asked.request.index(), asked.tries);
  }
  for (const auto& [id, held] : held_) {
    text += fmt::format(
        "  {}: [{}, {}) next={} settled={} pending={} attempt={} lost={} bits={}{}{}{}{}{}{}{}\n",
        held.lease.id, held.first, held.last, held.next, held.settled, held.pending, held.attempt,
        held.lost, held.bits.size(), held.seen ? " seen" : "", held.isolate ? " isolate" : "",
        held.resting ? " resting" : "", held.adopted ? " adopted" : "",
        held.splitting ? " splitting" : "", held.finishing ? " finishing" : "",
        held.plan->ended ? " ended" : "");
  }
  for (const auto& [job, plan] : plans_) {
    text += fmt::format("  plan {}: held={} busy={} ready={} ended={} full={} climbing={}\n", job,
                        plan->held, plan->busy, plan->ready, plan->ended, plan->full.size(),
                        plan->climbing);
  }
  return text;
}

std::string WorkerMind::leftovers() const {
  std::string text;
  const auto count = [&](std::string_view what, uint64_t number) {
    if (number > 0) text += fmt::format("{}: {} {}\n", options_.id, number, what);
  };
  count("ranges held", held_.size());
  count("leases known", by_lease_.size());
  count("tasks running", running_.size());
  count("tasks unstarted", unstarted_);
  count("claims", claiming_);
  count("cpus in use", cpus_used_);
  count("bytes in use", mem_used_);
  count("gpus in use", options_.gpus - gpus_free_.size());
  count("heavy tasks", heavy_);
  count("doubtful tasks", doubtful_);
  count("uploads", uploading_.size());
  count("pages to write", dirty_.size());
  count("ranges to finish", to_finish_.size());
  count("plans", plans_.size());
  count("cascades", cascades_.size());
  return text;
}

void WorkerMind::say_goodbye() {
  if (goodbye_) return;
  goodbye_ = true;
  if (is_alone()) {
    gone_ = true;
    return;
  }
  commit({Erase{std::string(kWorkers), options_.id, kAnyVersion}}, [this](Answer&&) {
    end_pulls();
    leaves_at_ = now_.at + kPullsEnd;
    later(kPullsEnd, [] {});
  });
}

// What a pull brings after we have left is nobody's until its lease ends. So those that wait end
// first, and what they have brought meanwhile is given back. Not every store can end them: it is
// not waited for.
void WorkerMind::end_pulls() {
  for (const std::string& queue : pulling_) ask(Renew{queue, {}, options_.hold}, [](Answer&&) {});
}

}  // namespace dunlin
