#include "sim/tascaas_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"
#include "tascaas/ending.h"
#include "tascaas/files.h"
#include "tascaas/keys.h"
#include "tascaas/retire.h"
#include "tascaas/tenants.h"
#include "testing/retention.h"

namespace dunlin {
namespace {

using tascaas::Handed;
using tascaas::Said;
using tascaas::Word;

constexpr Millis kEpoch = std::chrono::hours(24 * 365 * 50);  // So that no clock is before 1970.
constexpr Millis kPatience = Millis(15'000);                  // Of a client.
constexpr Millis kLateMax = Millis(150'000);  // Longer than leases, start times and silences.
constexpr Millis kSlowMax = Millis(45'000);   // Longer than the lease of a partition's message.
constexpr Millis kIdle = Millis::max();       // A lane that waits for its next call.
constexpr Millis kPeaceMax = std::chrono::hours(12);
constexpr Millis kKept = std::chrono::hours(24 * 30);  // More than clocks and timeouts are apart.
constexpr uint64_t kStepsMax = 2'000'000;
constexpr int kFewTries = 2;
constexpr int kManyTries = 200;
constexpr int kUploadTries = 5;
const std::string kTenant = "t";

}  // namespace

struct TascaasWorld::Service {
  SkewedClock clock;
  Millis off;
  std::shared_ptr<rest::ServiceCache> memory = std::make_shared<rest::ServiceCache>();
};

// A connection of a service: one call after the other. Threads are made once.
struct TascaasWorld::Lane {
  std::function<void(Fiber&)> job = {};
  std::function<void(bool died)> done = {};
  Service* service = nullptr;
  SimCall* call = nullptr;
  bool busy = false;
  std::unique_ptr<Fiber> fiber = {};  // The first to go: it ends what it has begun.
};

struct TascaasWorld::Infra {
  std::string id = {};
  uint64_t slots = 1;
  uint64_t max_slots = 1;
  size_t running = 0;
  bool alive = true;
  bool asking = false;
  Instant silent_until = {};
};

// A partition that somebody runs.
struct TascaasWorld::Run {
  Infra& infra;
  std::string infra_id;
  Handed handed;
  bool balanced = true;
  uint64_t speed = 1;  // Iterations a second.
  Instant began = {};
  Instant since = {};   // It works since then,
  uint64_t before = 0;  // and had done so many before.
  bool works = false;
  uint64_t assigned = 0;
  bool alive = true;
};

TascaasWorld::TascaasWorld(uint64_t seed)
    : seed_(seed), random_(seed), link_(events_, random_, seed), books_(link_.store(), files_) {
  choose_faults();
  peace_ = events_.now() + some(80'000, 180'000);
  const Millis skew = faults_.skew_max;
  for (uint64_t left = 1 + random_.below(3); left > 0; --left) {
    const Millis off = skew == Millis(0) ? skew : some(0, static_cast<uint64_t>(skew.count()));
    services_.push_back(std::make_unique<Service>(Service{{events_, kEpoch + off}, off}));
  }
  tascaas::TenantSettings settings;
  settings.scale_time = some(5'000, 25'000);
  settings.start_time = some(20'000, 60'000);
  settings.max_partitions = static_cast<uint32_t>(2 + random_.below(4));
  CHECK(tascaas::add_tenant(link_.store(), kTenant, settings, WallTime(kEpoch)).ok());
  books_.tenant = tascaas::read_tenant(link_.store().table(), kTenant).value();
  make_files();
}

TascaasWorld::~TascaasWorld() { lanes_.clear(); }

Millis TascaasWorld::some(uint64_t from_ms, uint64_t to_ms) {
  return Millis(from_ms + random_.below(to_ms - from_ms + 1));
}

void TascaasWorld::choose_faults() {
  LinkFaults& link = link_.faults;
  link.delay_max = Millis(random_.percent(30) ? 300 : 5);
  link.late_max = kLateMax;
  link.slow_max = kSlowMax;
  if (random_.percent(50)) link.request_lost = random_.below(8);
  if (random_.percent(50)) link.answer_lost = random_.below(8);
  if (random_.percent(30)) link.repeated = random_.below(20);
  if (random_.percent(50)) link.late = random_.below(20);
  if (random_.percent(20)) link.slow = random_.below(4);
  if (random_.percent(40)) link.short_rows = random_.below(60);
  if (random_.percent(30)) link.full = random_.below(12);
  if (random_.percent(20)) link.away = random_.below(8);
  if (random_.percent(50)) faults_.request_lost = random_.below(10);
  if (random_.percent(50)) faults_.answer_lost = random_.below(10);
  if (random_.percent(40)) faults_.repeated = random_.below(20);
  if (random_.percent(40)) faults_.late = random_.below(10);
  if (random_.percent(50)) faults_.service_dies = random_.below(20);
  if (random_.percent(50)) faults_.few_tries = random_.below(100);
  if (random_.percent(40)) faults_.infra_dies = random_.below(6);
  if (random_.percent(40)) faults_.infra_leaves = random_.below(6);
  if (random_.percent(40)) faults_.infra_silent = random_.below(10);
  if (random_.percent(40)) faults_.crash = random_.below(10);
  if (random_.percent(40)) faults_.freeze = random_.below(10);
  if (random_.percent(40)) faults_.mute = random_.below(60);
  if (random_.percent(30)) {
    faults_.skew_max = Millis(1 + random_.below(random_.percent(20) ? 3'600'000 : 200'000));
    faults_.clock_jump = random_.below(10);
    books_.spread = faults_.skew_max;
  }
}

void TascaasWorld::make_files() {
  const uint64_t count = 1 + random_.below(3);
  for (uint64_t i = 0; i < count; ++i) {
    SimJobFile file;
    file.name = fmt::format("j{}.config", i);
    file.balanced = !random_.percent(20);
    file.hasty = random_.percent(10);
    file.text = "nonsense";
    if (!random_.percent(20)) {
      file.iterations = 10 + random_.below(2000);
      file.text = fmt::format(
          R"({{"iterations":{},"time":{},"inputFile":"data{}","initWorkers":{}}})", file.iterations,
          file.balanced ? 50 + random_.below(400) : 0, i, 1 + random_.below(4));
    }
    files_.push_back(file);
  }
}

// --- Calls ---

void TascaasWorld::ask(const Wanted& wanted, Then then) {
  const auto later = [this, wanted](Millis delay) {
    ++calls_left_;
    events_.after(delay, [this, wanted] {
      --calls_left_;
      serve(wanted, [](const Reply* /*reply*/) {});
    });
  };
  if (random_.percent(faults_.repeated)) later(some(0, 3000));
  if (wanted.late && random_.percent(faults_.late)) {
    later(some(0, static_cast<uint64_t>(kLateMax.count())));
  }
  // Whatever comes first: the answer, or the end of its patience.
  const auto heard = std::make_shared<bool>(false);
  const auto once = [heard, then](const Reply* reply) {
    if (!std::exchange(*heard, true)) then(reply);
  };
  events_.after(kPatience, [once] { once(nullptr); });
  if (random_.percent(faults_.request_lost)) return;
  const bool deaf = random_.percent(faults_.answer_lost);
  serve(wanted, [once, deaf](const Reply* reply) {
    if (!deaf) once(reply);
  });
}

void TascaasWorld::serve(const Wanted& wanted, Then then) {
  auto lane = std::ranges::find_if(lanes_, [](const auto& one) { return !one->busy; });
  if (lane == lanes_.end()) lane = lanes_.insert(lane, std::make_unique<Lane>());
  Lane& on = **lane;
  on.busy = true;
  on.service = services_[random_.below(services_.size())].get();
  on.call = &books_.open(wanted.call.kind);
  *on.call = wanted.call;
  if (random_.percent(faults_.clock_jump)) {
    const Millis off = some(0, static_cast<uint64_t>(faults_.skew_max.count()));
    on.service->clock.jump(off - std::exchange(on.service->off, off));
  }
  const int tries = random_.percent(faults_.few_tries) ? kFewTries : kManyTries;
  const auto reply = std::make_shared<Reply>();
  on.job = [this, &on, work = wanted.work, tries, reply](Fiber& fiber) {
    SCOPED_TRACE(fmt::format("SEED={}", seed_));  // A trace belongs to its thread.
    const auto store = fiber.store(random_.next(), tries);
    *reply = work(*on.service, *store, *on.call);
  };
  on.done = [reply, then](bool died) { then(died || !reply->status.ok() ? nullptr : &*reply); };
  if (on.fiber == nullptr) {
    on.fiber = std::make_unique<Fiber>([&on](Fiber& fiber) {
      while (!fiber.killed()) {
        on.job(fiber);
        fiber.pause(kIdle);
      }
    });
  }
  go_on(on, Done{});
}

void TascaasWorld::go_on(Lane& lane, Answer answer) {
  if (const auto* error = std::get_if<Error>(&answer)) {
    const bool known = error->code != Code::unavailable && error->code != Code::full;
    if (!known) ++lane.call->doubts;
  }
  const bool dies = random_.below(1000) < faults_.service_dies;
  if (dies) {
    lane.fiber->kill();
    ++lane.call->doubts;
    if (random_.percent(50)) lane.service->memory = std::make_shared<rest::ServiceCache>();
  }
  const std::optional<Fiber::Wish> wish = lane.fiber->go_on(std::move(answer));
  const auto* pause = wish ? std::get_if<Fiber::Pause>(&*wish) : nullptr;
  const bool over = lane.fiber->over();
  if (over || (pause != nullptr && pause->time == kIdle)) {
    if (over) lane.fiber.reset();
    lane.busy = false;
    return std::exchange(lane.done, {})(over);
  }
  CHECK(wish);
  if (pause != nullptr) {
    return events_.after(pause->time, [this, &lane] { go_on(lane, Done{}); });
  }
  // What it commits counts from when its code was told the time.
  SimCall& call = *lane.call;
  link_.post(
      std::get<Request>(*wish),
      [this, &call, told = call.now](const Request& request, const Answer& said) {
        const auto* commit = std::get_if<Commit>(&request);
        if (commit == nullptr || !std::holds_alternative<Committed>(said)) return;
        books_.committed(call, told, events_.now(), *commit);
      },
      [this, &lane](Answer&& said) { go_on(lane, std::move(said)); });
}

WallTime TascaasWorld::begin(Service& service, SimCall& call) {
  call.now = {service.clock.wall(), events_.now(), books_.commits()};
  return call.now.wall;
}

// From the seed, so that rows stand in the same order in each run.
tascaas::JobIds TascaasWorld::ids() {
  return [this](std::string_view name) {
    return fmt::format("{:016x}-{:019x}_{}", random_.next(), random_.next(), name);
  };
}

// As the REST service does before it answers an infrastructure; what fails is done by somebody
// later.
void TascaasWorld::look(Service& service, Store& store, SimCall& call) {
  if (service.memory->due("look", events_.now(), Millis(6000))) {
    const auto taken = take_in(store, books_.tenant, begin(service, call), ids());
    if (taken.ok()) books_.taken_in(taken.value());
    if (!taken.ok()) return;
  }
  if (service.memory->due("reclaim", events_.now(), Millis(5000))) {
    (void)reclaim(store, books_.tenant, begin(service, call)).ok();
  }
}

// --- Users ---

// Again and again, until a service says that it has it.
void TascaasWorld::drop(const SimJobFile& file, bool data) {
  const std::string key =
      std::string(tascaas::kInput) +
      (data ? fmt::format("data{}", file.name.substr(1, file.name.find('.') - 1)) : file.name);
  Wanted wanted;
  wanted.call.kind = SimCall::Kind::drop;
  wanted.late = false;
  wanted.work = [this, key, text = data ? "x" : file.text](Service& service, Store& store,
                                                           SimCall& call) -> Reply {
    Result<void> put = tascaas::put_text(store, kTenant, key, text, begin(service, call));
    if (!put.ok()) return {put.error()};
    const auto taken = take_in(store, books_.tenant, begin(service, call), ids());
    if (!taken.ok()) return {taken.error()};
    books_.taken_in(taken.value());
    return {};
  };
  ask(wanted, [this, &file, data](const Reply* reply) {
    if (reply == nullptr) return drop(file, data);
    --drops_left_;
    if (data && !file.hasty) return drop(file, false);
    if (is_peace() || !random_.percent(40)) return;
    ++drops_left_;  // The same once more, for whatever reason.
    events_.after(some(0, 40'000), [this, &file, data] { drop(file, data); });
  });
}

// --- Infrastructures ---

void TascaasWorld::add_infra() {
  Infra& infra = *infras_.emplace_back(std::make_unique<Infra>());
  infra.max_slots = 1 + random_.below(4);
  infra.slots = 1 + random_.below(infra.max_slots);
  events_.after(some(0, 5000), [this, &infra] { round(infra); });
}

void TascaasWorld::round(Infra& infra) {
  if (!infra.alive) return;
  events_.after(some(6'000, is_peace() ? 40'000 : 14'000), [this, &infra] { round(infra); });
  if (!is_peace() && suffers(infra)) return;
  if (infra.asking || events_.now() < infra.silent_until) return;
  if (infra.id.empty()) return enroll(infra);
  if (random_.percent(40)) return update(infra);
  fetch(infra);
}

bool TascaasWorld::suffers(Infra& infra) {
  if (random_.percent(faults_.infra_dies)) {
    die(infra);
    return true;
  }
  if (random_.percent(faults_.infra_leaves) && !infra.id.empty()) {
    leave(infra);
    return true;
  }
  if (random_.percent(faults_.infra_silent)) {
    infra.silent_until = events_.now() + random_.below(8) * Millis(books_.tenant.scale_ms());
  }
  return false;
}

// Another one comes for it. What it ran is gone with it.
void TascaasWorld::die(Infra& infra) {
  infra.alive = false;
  for (const auto& run : runs_) {
    if (&run->infra == &infra) run->alive = false;
  }
  add_infra();
}

void TascaasWorld::enroll(Infra& infra) {
  infra.asking = true;
  Wanted wanted;
  wanted.call.kind = SimCall::Kind::enroll;
  wanted.work = [this, &infra](Service& service, Store& store, SimCall& call) -> Reply {
    const auto id = register_infrastructure(store, books_.tenant, infra.slots, infra.max_slots,
                                            begin(service, call));
    if (!id.ok()) return {id.error()};
    look(service, store, call);
    Reply reply;
    reply.id = id.value();
    return reply;
  };
  ask(wanted, [this, &infra](const Reply* reply) {
    infra.asking = false;
    if (reply == nullptr || !infra.alive) return;
    infra.id = reply->id;
    if (random_.percent(50)) fetch(infra);
  });
}

void TascaasWorld::update(Infra& infra) {
  infra.asking = true;
  Wanted wanted;
  wanted.call.kind = SimCall::Kind::update;
  wanted.call.infra = infra.id;
  tascaas::Slots slots;
  if (random_.percent(50)) slots.slots = random_.below(infra.max_slots + 1);
  wanted.work = [this, slots](Service& service, Store& store, SimCall& call) -> Reply {
    const auto advice =
        tascaas::update(store, books_.tenant, call.infra, slots, begin(service, call));
    Reply reply;
    reply.unknown = !advice.ok() && advice.error().code == Code::not_found;
    if (!advice.ok() && !reply.unknown) return {advice.error()};
    look(service, store, call);
    return reply;
  };
  ask(wanted, [&infra](const Reply* reply) {
    infra.asking = false;
    if (reply != nullptr && reply->unknown) infra.id.clear();
  });
}

void TascaasWorld::fetch(Infra& infra) {
  const size_t free = infra.max_slots - std::min<uint64_t>(infra.running, infra.max_slots);
  if (free == 0) return update(infra);
  infra.asking = true;
  Wanted wanted;
  wanted.call.kind = SimCall::Kind::jobs;
  wanted.call.infra = infra.id;
  wanted.work = [this, free](Service& service, Store& store, SimCall& call) -> Reply {
    const auto advice = look_up(store, books_.tenant, call.infra, begin(service, call));
    Reply reply;
    reply.unknown = !advice.ok() && advice.error().code == Code::not_found;
    if (reply.unknown) return reply;
    if (!advice.ok()) return {advice.error()};
    look(service, store, call);
    const auto handed = hand_out(store, books_.tenant, call.infra, free, begin(service, call));
    if (!handed.ok()) return {handed.error()};
    reply.handed = handed.value();
    books_.handed_out(call, reply.handed);
    return reply;
  };
  ask(wanted, [this, &infra](const Reply* reply) {
    infra.asking = false;
    if (reply == nullptr || !infra.alive) return;
    if (reply->unknown) infra.id.clear();
    for (const Handed& one : reply->handed) begin_run(infra, one);
  });
}

// What it runs may go on all the same.
void TascaasWorld::leave(Infra& infra) {
  Wanted wanted;
  wanted.call.kind = SimCall::Kind::leave;
  wanted.call.infra = std::exchange(infra.id, "");
  wanted.work = [this](Service& service, Store& store, SimCall& call) -> Reply {
    const auto gone = disconnect(store, books_.tenant, call.infra, begin(service, call));
    if (!gone.ok()) return {gone.error()};
    (void)reclaim(store, books_.tenant, begin(service, call)).ok();
    return {};
  };
  ask(wanted, [](const Reply* /*reply*/) {});
  infra.silent_until = events_.now() + some(0, 30'000);
  if (random_.percent(50)) die(infra);
}

// --- Partitions ---

void TascaasWorld::begin_run(Infra& infra, const Handed& handed) {
  Run& run = *runs_.emplace_back(std::make_unique<Run>(Run{infra, infra.id, handed}));
  const auto file = std::ranges::find_if(
      files_, [&](const SimJobFile& one) { return books_.job_of(one) == handed.job; });
  run.balanced = file != files_.end() && file->balanced;
  run.speed = 1 + random_.below(40);
  run.began = run.since = events_.now();
  ++infra.running;
  // As the simplest of programs, which fetch, work and upload; who is balanced has to speak.
  if (!run.balanced && !is_peace() && random_.percent(faults_.mute)) {
    run.assigned = handed.iterations;
    run.works = true;
    events_.after(Millis(run.assigned * 1000 / run.speed + 1),
                  [this, &run] { upload(run, kUploadTries); });
    return;
  }
  // Sometimes so late that it is not waited for.
  const bool slow = !is_peace() && random_.percent(faults_.freeze);
  events_.after(slow ? some(0, 90'000) : some(0, 3000), [this, &run] { start(run); });
}

uint64_t TascaasWorld::done_of(const Run& run) const {
  if (!run.works) return run.before;
  return run.before + run.speed * static_cast<uint64_t>((events_.now() - run.since).count()) / 1000;
}

void TascaasWorld::end(Run& run) {
  run.works = run.alive = false;
  --run.infra.running;
}

bool TascaasWorld::suffers(Run& run) {
  if (random_.percent(faults_.crash)) {
    // A partition without a report time is never missed: its infrastructure has to go with it.
    if (!run.balanced) {
      if (run.infra.alive) die(run.infra);
      return true;
    }
    end(run);
    return true;
  }
  if (random_.percent(faults_.freeze)) {
    run.before = done_of(run);
    run.works = false;
    const auto most =
        static_cast<uint64_t>(std::min(run.handed.report_time, Millis(20'000)).count());
    events_.after(some(0, 10 * most), [this, &run] { start(run); });
    return true;
  }
  return false;
}

void TascaasWorld::say(Run& run, Word word, Then then) {
  Wanted wanted;
  wanted.call.kind = SimCall::Kind::turn;
  wanted.call.job = run.handed.job;
  wanted.call.said = Said{word, run.handed.partition, word == Word::start ? 0 : done_of(run),
                          events_.now() - run.began};
  // See suffers().
  wanted.late = run.balanced;
  wanted.work = [this](Service& service, Store& store, SimCall& call) -> Reply {
    const auto memory = service.memory;  // Another of its calls may take it down meanwhile.
    const auto share =
        next_iterations(store, call.job, call.said, begin(service, call), memory.get());
    EXPECT_TRUE(share.ok() || share.error().code == Code::unavailable ||
                share.error().code == Code::full)
        << share.error().what;
    if (!share.ok()) return {share.error()};
    books_.took_turn(call, share.value());
    Reply reply;
    reply.share = share.value();
    return reply;
  };
  ask(wanted, std::move(then));
}

void TascaasWorld::start(Run& run) {
  if (!run.alive) return;
  say(run, Word::start, [this, &run](const Reply* reply) { heard(run, Word::start, reply); });
}

void TascaasWorld::heard(Run& run, Word word, const Reply* reply) {
  if (!run.alive) return;
  if (reply == nullptr) {
    events_.after(some(500, 5000), [this, &run, word] {
      if (word == Word::start) return start(run);
      speak(run);
    });
    return;
  }
  switch (reply->share.code) {
    case balance::Code::ok:
      if (word == Word::finish) {
        books_.finish_heard(run.handed.job, run.handed.partition);
        return upload(run, kUploadTries);
      }
      run.assigned = reply->share.assigned;
      return work(run);
    case balance::Code::not_started:
      events_.after(Millis(1000), [this, &run] { start(run); });
      return;
    case balance::Code::ended:
      if (done_of(run) == 0) return end(run);  // By another one, before it began.
      // As the published clients, it goes on until it has done its share: then its results have
      // what the service counts on, whoever had spoken for it.
      if (done_of(run) < run.assigned) return work(run);
      return upload(run, kUploadTries);
    case balance::Code::out_of_range:
    case balance::Code::task_ended:
      ADD_FAILURE() << "code " << static_cast<int>(reply->share.code);
  }
}

void TascaasWorld::work(Run& run) {
  if (!run.works) {
    run.works = true;
    run.since = events_.now();
  }
  const uint64_t done = done_of(run);
  const uint64_t left = run.assigned - std::min(run.assigned, done);
  const Millis needed = Millis(left * 1000 / run.speed + 1);
  const Millis report = std::min(run.handed.report_time, Millis(std::chrono::hours(1)));
  // Reports are a second apart; who has nothing left to do may end at once.
  const Millis gap = Millis(left > 0 ? 1000 : 0);
  events_.after(std::min(std::max(needed, gap), report), [this, &run] {
    if (!run.alive || (!is_peace() && suffers(run))) return;
    speak(run);
  });
}

// Says what it has done. Whoever has done its share takes no more.
void TascaasWorld::speak(Run& run) {
  if (!run.alive) return;
  const bool ends = done_of(run) >= run.assigned;
  if (ends) {
    run.before = done_of(run);
    run.works = false;
    if (!is_peace() && random_.percent(faults_.mute)) return upload(run, kUploadTries);
  }
  const Word word = ends ? Word::finish : Word::report;
  say(run, word, [this, &run, word](const Reply* reply) { heard(run, word, reply); });
}

void TascaasWorld::upload(Run& run, int tries) {
  if (!run.alive) return;
  Wanted wanted;
  wanted.call.kind = SimCall::Kind::upload;
  wanted.call.results = run.before = done_of(run);
  run.works = false;
  const std::string key =
      tascaas::result_key(run.handed.job, std::to_string(run.handed.partition), "results.dat");
  wanted.late = false;
  wanted.work = [this, key, infra = run.infra_id, job = run.handed.job,
                 partition = run.handed.partition](Service& service, Store& store,
                                                   SimCall& call) -> Reply {
    const std::string worker = std::to_string(partition);
    const auto tenant = tascaas::uploader(store.table(), infra, job, worker, begin(service, call));
    Reply reply;
    reply.unknown = !tenant.ok() && tenant.error().code == Code::not_found;
    if (reply.unknown) return reply;
    if (!tenant.ok()) return {tenant.error()};
    const std::string text = std::to_string(call.results);
    const auto put = tascaas::put_text(store, kTenant, key, text, begin(service, call));
    // What fails of it is done by the service that looks after the job.
    if (put.ok()) {
      (void)tascaas::results_came(store, kTenant, job, partition, begin(service, call)).ok();
    }
    return {put};
  };
  ask(wanted, [this, &run, tries](const Reply* reply) {
    if (!run.alive) return;
    if (reply != nullptr || tries == 0) return end(run);
    upload(run, tries - 1);
  });
}

// --- The run ---

void TascaasWorld::peace() {
  const LinkFaults none;
  link_.faults = none;
  faults_ = {};
  for (const auto& service : services_) {
    service->clock.jump(-std::exchange(service->off, Millis(0)));
  }
  for (const auto& infra : infras_) infra->silent_until = {};
}

// A partition of a job without a deadline that fell silent after it had lost its infrastructure:
// four of its report times never pass.
bool TascaasWorld::is_excused(const std::string& id) {
  const tascaas::Job& job = books_.jobs().at(id);
  if (job.time_ms() != 0 || job.ended_ms() != 0) return false;
  for (int i = 0; i < job.partitions_size(); ++i) {
    const tascaas::Job::Partition& one = job.partitions(i);
    if (!one.started() || one.finished()) continue;
    const bool runs = std::ranges::any_of(runs_, [&](const auto& run) {
      return run->alive && run->handed.job == id && run->handed.partition == static_cast<size_t>(i);
    });
    const bool holder_lives = std::ranges::any_of(
        infras_, [&](const auto& infra) { return infra->alive && infra->id == one.holder(); });
    if (!runs && (one.holder().empty() || holder_lives)) return true;
  }
  return false;
}

std::set<std::string> TascaasWorld::excused() {
  std::set<std::string> all;
  for (const auto& [id, job] : books_.jobs()) {
    if (is_excused(id)) all.insert(id);
  }
  return all;
}

bool TascaasWorld::is_over() {
  if (!is_peace() || drops_left_ > 0 || calls_left_ > 0) return false;
  if (std::ranges::any_of(lanes_, &Lane::busy)) return false;
  if (std::ranges::any_of(runs_, &Run::alive)) return false;
  for (const auto& [id, job] : books_.jobs()) {
    if (job.ended_ms() == 0 && !books_.has_failed(id) && !is_excused(id)) return false;
  }
  RequestStore& store = link_.store();
  const Depth depth = store.queue().depth(tascaas::queue_of(kTenant)).value();
  if (depth.ready + depth.leased > 0) return false;
  // New files are seen and ended jobs are put away by whoever looks next.
  for (const SimJobFile& file : files_) {
    const std::string key = std::string(tascaas::kInput) + file.name;
    const auto found = tascaas::find_file(store.table(), kTenant, key);
    if (found.ok() && !found.value().file.taken()) return false;
  }
  const std::string prefix = tascaas::active_row(kTenant, "");
  const auto active = store.table().scan(tascaas::kTable, prefix, "", 100).value();
  for (const Row& row : active) {
    const auto job = books_.jobs().find(row.key.substr(prefix.size()));
    if (job != books_.jobs().end() && job->second.ended_ms() != 0) return false;
  }
  return true;
}

std::string TascaasWorld::describe() {
  std::string text = fmt::format("{} drops and {} calls are left\n", drops_left_, calls_left_);
  for (const auto& [id, job] : books_.jobs()) text += id + ": " + job.ShortDebugString() + "\n";
  for (const auto& run : runs_) {
    if (!run->alive) continue;
    text += fmt::format("partition {} of {} runs: {} of {}\n", run->handed.partition,
                        run->handed.job, done_of(*run), run->assigned);
  }
  const Depth depth = link_.store().queue().depth(tascaas::queue_of(kTenant)).value();
  return text + fmt::format("{} ready, {} leased\n", depth.ready, depth.leased);
}

// Long after the end: who does it dies after some requests, but for the last one.
void TascaasWorld::retire_all() {
  model::Retention rule;
  rule.set_keep_ms(static_cast<uint64_t>(kKept.count()));
  rule.set_keep_failed_ms(rule.keep_ms());
  const WallTime now = services_[0]->clock.wall() + 2 * kKept;
  for (uint64_t left = random_.below(4); left > 0; --left) {
    Dying dying(link_.store(), static_cast<int>(random_.below(16)));
    (void)tascaas::retire(dying, rule, now).ok();
  }
  EXPECT_TRUE(tascaas::retire(link_.store(), rule, now).ok());
  books_.check_retired();
}

uint64_t TascaasWorld::run() {
  for (const SimJobFile& file : files_) {
    drops_left_ += 2;
    events_.after(some(0, 60'000), [this, &file] {
      drop(file, true);
      if (file.hasty) drop(file, false);
    });
  }
  for (uint64_t left = 1 + random_.below(3); left > 0; --left) add_infra();
  events_.at(peace_, [this] { peace(); });
  const Instant end = peace_ + kPeaceMax;
  uint64_t steps = 0;
  while (events_.step(end)) {
    if (testing::Test::HasFailure()) return 0;
    if (++steps > kStepsMax) break;
    if (steps % 32 == 0 && is_over()) break;
  }
  EXPECT_TRUE(is_over()) << "something is stuck after " << steps << " steps\n" << describe();
  if (!testing::Test::HasFailure()) books_.check(excused());
  if (!testing::Test::HasFailure()) retire_all();
  return link_.hash() ^ random_.next();
}

}  // namespace dunlin
