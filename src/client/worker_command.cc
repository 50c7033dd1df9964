#include "client/worker_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <sys/epoll.h>
#include <unistd.h>

#include "backends/open.h"
#include "base/env_posix.h"
#include "base/exit.h"
#include "base/folders.h"
#include "base/log.h"
#include "base/names.h"
#include "base/signals.h"
#include "base/text.h"
#include "client/slot_advisor.h"
#include "client/target_options.h"
#include "tascaas/tenants.h"
#include "worker/agent.h"
#include "worker/defaults.h"

namespace dunlin {
namespace {

constexpr Millis kScaleTimeLeast = std::chrono::seconds(1);

Result<WorkerOptions> read_options(const WorkerVerb& verb) {
  WorkerOptions options;
  options.id = verb.name;
  options.slots = verb.slots;
  options.tags.insert(verb.tags.begin(), verb.tags.end());
  if (!verb.mem.empty()) options.mem_bytes = TRY(parse_size(verb.mem));
  options.gpus = verb.gpus;
  options.hold = TRY(parse_duration(verb.hold));
  if (!verb.idle_exit.empty()) options.idle_exit = TRY(parse_duration(verb.idle_exit));
  return with_defaults(std::move(options));
}

// Nothing, if the worker belongs to no infrastructure. Changes the slots that it begins with.
Result<std::optional<tascaas::Follower>> read_follower(const WorkerVerb& verb,
                                                       WorkerOptions& worker) {
  if (verb.infrastructure.empty()) {
    if (verb.max_slots == 0) return std::optional<tascaas::Follower>();
    return Error{Code::invalid,
                 "--max-slots is for workers that follow advice: name their --infrastructure, or "
                 "give --slots"};
  }
  if (!is_name(verb.infrastructure)) {
    return Error{Code::invalid, fmt::format("the infrastructure {} is not 1 to 64 characters of "
                                            "A-Z a-z 0-9 . _ -",
                                            quote(verb.infrastructure))};
  }
  tascaas::Follower who;
  who.id = fmt::format("{}/{}", verb.infrastructure, worker.id);
  who.max_slots = verb.max_slots == 0 ? worker.slots : verb.max_slots;
  if (verb.slots == 0) {
    worker.slots = std::min(worker.slots, static_cast<uint32_t>(who.max_slots));
  }
  who.slots = worker.slots;
  if (who.max_slots < who.slots || who.max_slots > kSlotsMax) {
    return Error{Code::invalid, fmt::format("--max-slots {} is not from --slots, which is {}, to "
                                            "{}",
                                            who.max_slots, who.slots, kSlotsMax)};
  }
  who.scale_time = TRY(parse_duration(verb.scale_time));
  if (who.scale_time < kScaleTimeLeast || who.scale_time > tascaas::kScaleTimeMax) {
    return Error{Code::invalid, fmt::format("a --scale-time of {} is not possible: it is from 1s "
                                            "to 24h",
                                            verb.scale_time)};
  }
  return std::optional(who);
}

// Both descriptors as one.
class Either {
 public:
  Either(int one, int other) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    CHECK(epoll_ >= 0);
    for (const int descriptor : {one, other}) {
      epoll_event event{};
      event.events = EPOLLIN;
      CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0);
    }
  }
  ~Either() { close(epoll_); }
  Either(const Either&) = delete;
  Either& operator=(const Either&) = delete;

  int descriptor() const { return epoll_; }

 private:
  int epoll_;
};

// The first signal asks it to leave, the second one at once.
class Leaving {
 public:
  explicit Leaving(int signals) : signals_(signals) {}

  void heed(Agent& agent) {
    while (take_signal(signals_)) {
      if (++asked_ == 1) {
        log::info(
            "leaving: running tasks are finished first, a second signal gives them back "
            "at once");
        agent.drain();
      } else {
        log::info("leaving now: running tasks are stopped and given back");
        agent.stop();
      }
    }
  }

 private:
  const int signals_;
  int asked_ = 0;
};

bool is_at_work(Agent& agent) { return !agent.mind().gone() && !agent.mind().failure(); }

void serve(Agent& agent, int signals) {
  Leaving leaving(signals);
  while (is_at_work(agent)) {
    agent.turn(posix_clock().now() + std::chrono::hours(1), signals);
    leaving.heed(agent);
  }
}

void serve_advised(Agent& agent, int signals, const Connect& connect,
                   const tascaas::Follower& who) {
  SlotAdvisor advisor(connect, who);
  const Either either(signals, advisor.descriptor());
  Leaving leaving(signals);
  uint64_t slots = who.slots;
  while (is_at_work(agent)) {
    const WorkerMind& mind = agent.mind();
    if (posix_clock().now() >= advisor.due()) {
      advisor.ask(mind.done() + mind.failed() + mind.busy());
    }
    agent.turn(std::min(posix_clock().now() + std::chrono::hours(1), advisor.due()),
               either.descriptor());
    leaving.heed(agent);
    const std::optional<uint32_t> advised = advisor.take(posix_clock().now());
    if (!advised || *advised == slots) continue;
    log::info("{} instead of {}, as advised", count_of(*advised, "slot"), slots);
    slots = *advised;
    agent.set_slots(*advised);
  }
  advisor.leave();
}

}  // namespace

Result<int> run(const WorkerVerb& verb) {
  TRY(check_user(verb.allow_root));
  AgentOptions options;
  options.worker = TRY(read_options(verb));
  const std::optional<tascaas::Follower> follower = TRY(read_follower(verb, options.worker));
  options.slots.slots =
      follower ? static_cast<uint32_t>(follower->max_slots) : options.worker.slots;
  options.slots.worker_id = options.worker.id;
  options.slots.folder =
      verb.folder.empty() ? TRY(state_folder("workers/" + options.worker.id)) : verb.folder;
  const std::string at = verb.target.at;
  if (at.empty()) {
    return Error{Code::invalid,
                 "--at (DUNLIN_AT) must name a hub: dunlin://HOST:PORT, as `dunlin hub` prints it"};
  }
  const int signals = watch_signals({SIGTERM, SIGINT});
  OpenOptions open = open_options(verb.target);
  open.make = false;
  Doors doors = TRY(open_doors(at, open));
  options.connect = doors.connect;
  options.worker.commit_rows = doors.commit_rows;
  options.worker.pace = doors.pace;
  const std::string id = options.worker.id;
  const std::string folder = options.slots.folder;
  const uint32_t slots = options.worker.slots;
  const bool own_folder = verb.folder.empty();
  std::unique_ptr<Agent> agent = TRY(Agent::start(std::move(options), std::move(doors.desk)));
  const std::string most = follower ? fmt::format(" of {}", follower->max_slots) : "";
  TRY(print(fmt::format("worker {} with {}{} at {}\n", id, count_of(slots, "slot"), most, at)));
  if (follower) {
    serve_advised(*agent, signals, doors.connect, *follower);
  } else {
    serve(*agent, signals);
  }
  const std::optional<Error> failure = agent->mind().failure();
  agent.reset();
  if (own_folder) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  if (failure) return *failure;
  return kExitDone;
}

void add_worker_command(CLI::App& app, WorkerVerb& verb, int& exit_code) {
  CLI::App& command = *app.add_subcommand("worker", "Pull tasks from a store and run them");
  command.footer(
      "Example:\n"
      "  dunlin worker --at dunlin://127.0.0.1:7070 --token-file ~/hub/token\n"
      "  dunlin worker --slots 16 --tag python3.11 --tag org=star --idle-exit 10m\n"
      "  dunlin worker --infrastructure lab --slots 2 --max-slots 16\n"
      "SIGTERM finishes what runs and leaves; a second one gives it back at once.\n");
  add_store_options(command, verb.target);
  command.add_option("--slots,-j", verb.slots, "Tasks at once (default: the cores)")
      ->envname("DUNLIN_SLOTS");
  command
      .add_option("--infrastructure", verb.infrastructure,
                  "Name of the machines it belongs to: it has as many slots as the work needs")
      ->envname("DUNLIN_INFRASTRUCTURE");
  command
      .add_option("--max-slots", verb.max_slots,
                  "How many these may become (default: --slots, or the cores)")
      ->envname("DUNLIN_MAX_SLOTS");
  command
      .add_option("--scale-time", verb.scale_time,
                  "How long is measured before the slots change; the same for all workers")
      ->capture_default_str()
      ->envname("DUNLIN_SCALE_TIME");
  command.add_option("--tag", verb.tags, "What this worker has, for --requires; repeatable")
      ->envname("DUNLIN_TAG");
  command.add_option("--mem", verb.mem, "Memory for tasks, as 16G (default: the machine's)")
      ->envname("DUNLIN_MEM");
  command.add_option("--gpus", verb.gpus, "GPUs for tasks")->envname("DUNLIN_GPUS");
  command.add_option("--name", verb.name, "Its id (default: host-pid-xxxx)")
      ->envname("DUNLIN_NAME");
  command
      .add_option("--hold", verb.hold,
                  "After this long without a sign of life its tasks go to others")
      ->capture_default_str()
      ->envname("DUNLIN_HOLD");
  command.add_option("--idle-exit", verb.idle_exit, "Leave after so long without work, as 10m")
      ->envname("DUNLIN_IDLE_EXIT");
  command.add_option("--folder", verb.folder, "Where tasks run (default: the user's state folder)")
      ->envname("DUNLIN_FOLDER");
  command.add_flag("--allow-root", verb.allow_root, "Run although the user is root")
      ->envname("DUNLIN_ALLOW_ROOT");
  command.callback([&verb, &exit_code] {
    const Result<int> ran = run(verb);
    exit_code = ran.ok() ? ran.value() : report(ran.error());
  });
}

}  // namespace dunlin
