#include "worker/mind/worker.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace dunlin::worker {
namespace {

constexpr Millis kBeatEvery = std::chrono::seconds(5);
constexpr Millis kPullsEnd = std::chrono::seconds(1);

}  // namespace

WorkerMind::WorkerMind(WorkerOptions options)
    : options_(std::move(options)),
      room_(options_.slots, options_.mem_bytes, options_.gpus),
      asks_(options_.seed),
      health_(asks_),
      times_(options_.pace),
      routes_({.only = options_.queue,
               .hold = options_.hold,
               .pace = options_.pace,
               .idle_exit = options_.idle_exit},
              asks_, *this),
      ranges_(options_.hold, asks_, jobs_, tasks_, routes_),
      reader_(asks_, room_, ranges_),
      inputs_(asks_),
      completion_(options_.pace, asks_, jobs_, ranges_, reader_),
      sharing_({.options = options_,
                .course = course_,
                .asks = asks_,
                .room = room_,
                .times = times_,
                .health = health_,
                .tasks = tasks_,
                .ranges = ranges_,
                .routes = routes_}),
      arrivals_({.options = options_,
                 .asks = asks_,
                 .jobs = jobs_,
                 .ranges = ranges_,
                 .completion = completion_,
                 .sharing = sharing_}),
      pages_({.options = options_,
              .course = course_,
              .asks = asks_,
              .room = room_,
              .tasks = tasks_,
              .routes = routes_,
              .ranges = ranges_,
              .reader = reader_,
              .completion = completion_},
             [this](PendingClaim&& claim) { starter_.claimed(std::move(claim)); }),
      starter_({.options = options_,
                .course = course_,
                .asks = asks_,
                .room = room_,
                .times = times_,
                .health = health_,
                .tasks = tasks_,
                .ranges = ranges_,
                .reader = reader_,
                .inputs = inputs_,
                .pages = pages_}),
      endings_({.asks = asks_,
                .times = times_,
                .health = health_,
                .tasks = tasks_,
                .ranges = ranges_,
                .pages = pages_}) {}

void WorkerMind::begin(Now now) {
  asks_.set_now(now);
  begun_ = true;
  started_wall_us_ = now.wall_us;
  if (!options_.is_alone()) beat();
  routes_.begin();
  ranges_.keep_renewing();
  completion_.keep_looking();
  sharing_.keep_asking();
  think();
}

void WorkerMind::answered(uint64_t id, Answer&& answer, Now now) {
  asks_.set_now(now);
  if (asks_.answered(id, std::move(answer))) think();
}

void WorkerMind::ended(std::vector<Ending>&& endings, Now now) {
  asks_.set_now(now);
  endings_.ended(std::move(endings));
  think();
}

void WorkerMind::uploaded(uint64_t ticket, const Result<void>& result, Now now) {
  asks_.set_now(now);
  if (endings_.uploaded(ticket, result)) think();
}

void WorkerMind::tick(Now now) {
  asks_.set_now(now);
  asks_.tick();
  think();
}

void WorkerMind::drain(Now now) {
  asks_.set_now(now);
  course_.draining = true;
  think();
}

void WorkerMind::stop(Now now) {
  asks_.set_now(now);
  course_.stopping = true;
  endings_.give_back_all();
  drain(now);
}

void WorkerMind::set_slots(uint32_t slots, Now now) {
  asks_.set_now(now);
  room_.set_slots(slots);
  think();
}

WorkerMind::Effects WorkerMind::take() {
  Tasks::Effects tasks = tasks_.take();
  return {.asks = asks_.take(),
          .drop = std::move(tasks.drop),
          .start = std::move(tasks.start),
          .grab = tasks.grab,
          .uploads = std::move(tasks.uploads),
          .published = pages_.take_published()};
}

// Everything that may be done now is begun here, so no event needs to know what follows from it.
void WorkerMind::think() {
  if (!begun_ || asks_.failure() || gone_) return;
  const bool pauses = course_.is_leaving() || health_.resting();
  if (pauses) sharing_.give_back_unstarted();
  if (course_.is_leaving()) ranges_.forget_stuck();
  starter_.start();
  pages_.finish_done();
  pages_.publish();
  if (!course_.is_leaving() && !health_.resting() && !course_.no_more && sharing_.wants_more()) {
    routes_.pull();
  }
  jobs_.sweep();
  if (course_.is_leaving() && ranges_.empty()) say_goodbye();
  if (leaves_at_ && ranges_.empty()) {
    gone_ = !routes_.is_pulling() || asks_.now().at >= *leaves_at_;
  }
}

Offer WorkerMind::offer() const {
  return {.slots = room_.slots(),
          .mem_bytes = options_.mem_bytes,
          .gpus = options_.gpus,
          .has_tag = [this](const std::string& tag) { return options_.tags.contains(tag); }};
}

bool WorkerMind::is_busy() const { return tasks_.size() + ranges_.unstarted() >= room_.slots(); }

bool WorkerMind::pulled(const std::string& queue, std::vector<Delivery>&& deliveries,
                        Instant valid_until) {
  return arrivals_.pulled(queue, std::move(deliveries), valid_until);
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
  info.set_seen_ms(asks_.now().wall_us / 1000);
  info.set_done(done());
  info.set_failed(failed());
  info.set_load(static_cast<double>(info.busy()) / room_.slots());
  info.set_draining(course_.is_leaving());
  info.set_trouble(trouble());
  asks_.commit({Put{std::string(kWorkers), options_.id, info.SerializeAsString(), kAnyVersion}},
               [this](Answer&&) { asks_.later(kBeatEvery, [this] { beat(); }); });
}

void WorkerMind::say_goodbye() {
  if (goodbye_) return;
  goodbye_ = true;
  if (options_.is_alone()) {
    gone_ = true;
    return;
  }
  asks_.commit({Erase{std::string(kWorkers), options_.id, kAnyVersion}}, [this](Answer&&) {
    routes_.end_pulls();
    leaves_at_ = asks_.now().at + kPullsEnd;
    asks_.later(kPullsEnd, [] {});
  });
}

std::string WorkerMind::describe() const {
  std::string text = fmt::format(
      "{}: running={} unstarted={} routes={} pulling={} asked={} dirty={} publishing={} "
      "claimed={} draining={} to_finish={} recovering={} renewing={}\n",
      options_.id, tasks_.size(), ranges_.unstarted(), routes_.size(), routes_.is_pulling(),
      asks_.open(), pages_.to_write(), pages_.publishing(), room_.claimed(), course_.draining,
      pages_.to_finish(), pages_.recovering(), ranges_.renewing());
  text += asks_.describe() + ranges_.describe();
  for (const auto& [id, job] : jobs_.all()) {
    text += fmt::format("  job {}: held={} pins={} ready={} ended={} full={} propagating={}\n", id,
                        job->held, job->pins(), job->ready, job->ended, job->full.size(),
                        job->propagating);
  }
  return text;
}

std::string WorkerMind::leftovers() const {
  std::string text;
  const auto count = [&](std::string_view what, uint64_t number) {
    if (number > 0) text += fmt::format("{}: {} {}\n", options_.id, number, what);
  };
  count("ranges held", ranges_.size());
  count("leases known", ranges_.leases());
  count("tasks running", tasks_.size());
  count("tasks unstarted", ranges_.unstarted());
  count("claims", room_.claimed());
  count("cpus in use", room_.cpus_used());
  count("bytes in use", room_.mem_used());
  count("gpus in use", room_.gpus_used());
  count("heavy tasks", room_.heavy());
  count("doubtful tasks", room_.doubtful());
  count("uploads", tasks_.uploading());
  count("pages to write", pages_.to_write());
  count("ranges to finish", pages_.to_finish());
  count("jobs", jobs_.all().size());
  count("cascades", completion_.releasing());
  return text;
}

void WorkerMind::check() const {
  tasks_.check();
  routes_.check();
  ranges_.check();
  pages_.check(jobs_);
  check_room();
}

void WorkerMind::check_room() const {
  uint64_t cpus = 0;
  uint64_t mem = 0;
  uint64_t gpus = 0;
  uint64_t heavy = 0;
  for (const auto& [ticket, running] : tasks_.all()) {
    const auto held = ranges_.all().find(running.held);
    CHECK(held != ranges_.all().end());
    CHECK(held->second.first() <= running.task && running.task < held->second.next());
    const model::Requirements& needs = held->second.job->spec().requires_();
    cpus += std::max(needs.cpus(), 1U);
    mem += needs.mem_bytes();
    gpus += needs.gpus();
    heavy += needs.cpus() > 1 || needs.mem_bytes() > 0 || needs.gpus() > 0 ? 1 : 0;
    CHECK(running.room.gpus().size() == needs.gpus());
  }
  CHECK(cpus == room_.cpus_used() && mem == room_.mem_used());
  CHECK(heavy == room_.heavy() && gpus == room_.gpus_used());
}

}  // namespace dunlin::worker
