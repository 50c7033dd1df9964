#include "worker/worker.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/log.h"

namespace dunlin {
namespace {

constexpr Millis kBeatEvery = std::chrono::seconds(5);
constexpr Millis kLookEvery = Millis(500);
constexpr Millis kPullsEnd = std::chrono::seconds(1);

}  // namespace

WorkerMind::WorkerMind(WorkerOptions options)
    : options_(std::move(options)),
      room_(options_.slots, options_.mem_bytes, options_.gpus),
      asks_(options_.seed) {}

void WorkerMind::begin(Now now) {
  asks_.set_now(now);
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

void WorkerMind::answered(uint64_t id, Answer&& answer, Now now) {
  asks_.set_now(now);
  if (asks_.answered(id, std::move(answer))) think();
}

void WorkerMind::set_slots(uint32_t slots, Now now) {
  asks_.set_now(now);
  room_.set_slots(slots);
  think();
}

void WorkerMind::tick(Now now) {
  asks_.set_now(now);
  asks_.tick();
  think();
}

WorkerMind::Effects WorkerMind::take() {
  Tasks::Effects tasks = tasks_.take();
  return {.asks = asks_.take(),
          .drop = std::move(tasks.drop),
          .start = std::move(tasks.start),
          .grab = tasks.grab,
          .uploads = std::move(tasks.uploads),
          .published = std::exchange(published_, {})};
}

// Everything that may be done now is begun here, so no event needs to know what follows from it.
void WorkerMind::think() {
  if (!begun_ || asks_.failure() || gone_) return;
  if (stopping() || resting()) give_back_unstarted();
  if (stopping()) forget_stuck();
  start();
  finish_done();
  publish();
  pull();
  jobs_.sweep();
  if (stopping() && held_.empty()) say_goodbye();
  if (leaves_at_ && held_.empty()) gone_ = pulling_.empty() || now_.at >= *leaves_at_;
}

void WorkerMind::beat() {
  if (goodbye_) return;
  model::WorkerInfo info;
  info.set_id(options_.id);
  info.set_host(options_.host);
  info.set_pid(options_.pid);
  info.set_slots(room_.slots());
  info.set_busy(static_cast<uint32_t>(busy()));
  for (const std::string& tag : options_.tags) info.add_tags(tag);
  for (const std::string& name : options_.functions) info.add_functions(name);
  info.set_mem_bytes(options_.mem_bytes);
  info.set_gpus(options_.gpus);
  info.set_started_ms(started_wall_us_ / 1000);
  info.set_seen_ms(now_.wall_us / 1000);
  info.set_done(done_);
  info.set_failed(failed_);
  info.set_load(static_cast<double>(info.busy()) / room_.slots());
  info.set_draining(stopping());
  info.set_trouble(trouble_);
  asks_.commit({Put{std::string(kWorkers), options_.id, info.SerializeAsString(), kAnyVersion}},
               [this](Answer&&) { asks_.later(kBeatEvery, [this] { beat(); }); });
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
  asks_.later(options_.hold / 3, [this] {
    renew();
    keep_renewing();
  });
}

void WorkerMind::renew_leases(const std::string& queue, std::vector<Lease> leases,
                              std::function<void()> then) {
  ++renewing_;
  Renew request{queue, leases, options_.hold};
  asks_.ask(std::move(request), [this, leases = std::move(leases), until = now_.at + options_.hold,
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
  for (const auto& [id, job] : jobs_.all()) {
    if (job->held > 0 && !job->ended && jobs.size() < kBatchMax) jobs.push_back(id);
  }
  asks_.later(std::max(kLookEvery, options_.pace * 4), [this] { look_at_ends(); });
  if (jobs.empty()) return;
  asks_.ask(Get{std::string(kEnds), jobs}, [this](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr) return;
    for (const Row& row : rows->rows) {
      JobView* job = jobs_.find(row.key);
      // Whether something comes after it must be known, too, before its messages are dropped.
      if (row.version != 0 && job != nullptr) read_end(*job, [] {});
    }
  });
}

std::string WorkerMind::describe() const {
  std::string text = fmt::format(
      "{}: running={} unstarted={} routes={} pulling={} asked={} dirty={} publishing={} "
      "claiming={} draining={} settled={} to_finish={} recovering={} doubt={}\n",
      options_.id, tasks_.size(), unstarted_, routes_.size(), pulling_.size(), asks_.open(),
      dirty_.size(), publishing_, room_.claimed(), draining_, settled_.size(), to_finish_.size(),
      recovering_, renewing_);
  text += asks_.describe();
  for (const auto& [id, held] : held_) {
    text += fmt::format(
        "  {}: [{}, {}) next={} settled={} pending={} attempt={} lost={} bits={}{}{}{}{}{}{}{}\n",
        held.lease.id, held.first, held.last, held.next, held.settled, held.pending, held.attempt,
        held.lost, held.bits.size(), held.seen ? " seen" : "", held.isolate ? " isolate" : "",
        held.resting ? " resting" : "", held.adopted ? " adopted" : "",
        held.splitting ? " splitting" : "", held.finishing ? " finishing" : "",
        held.job->ended ? " ended" : "");
  }
  for (const auto& [id, job] : jobs_.all()) {
    text += fmt::format("  job {}: held={} pins={} ready={} ended={} full={} climbing={}\n", id,
                        job->held, job->pins(), job->ready, job->ended, job->full.size(),
                        job->climbing);
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
  count("tasks running", tasks_.size());
  count("tasks unstarted", unstarted_);
  count("claims", room_.claimed());
  count("cpus in use", room_.cpus_used());
  count("bytes in use", room_.mem_used());
  count("gpus in use", room_.gpus_used());
  count("heavy tasks", room_.heavy());
  count("doubtful tasks", room_.doubtful());
  count("uploads", tasks_.uploading());
  count("pages to write", dirty_.size());
  count("ranges to finish", to_finish_.size());
  count("jobs", jobs_.all().size());
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
  asks_.commit({Erase{std::string(kWorkers), options_.id, kAnyVersion}}, [this](Answer&&) {
    end_pulls();
    leaves_at_ = now_.at + kPullsEnd;
    asks_.later(kPullsEnd, [] {});
  });
}

// What a pull brings after we have left is nobody's until its lease ends. So those that wait end
// first, and what they have brought meanwhile is given back. Not every store can end them: it is
// not waited for.
void WorkerMind::end_pulls() {
  for (const std::string& queue : pulling_)
    asks_.ask(Renew{queue, {}, options_.hold}, [](Answer&&) {});
}

}  // namespace dunlin
