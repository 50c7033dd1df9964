#include "client/worker_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <sys/signalfd.h>
#include <thread>
#include <unistd.h>

#include "backends/open.h"
#include "base/env_posix.h"
#include "base/exit.h"
#include "base/folders.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "client/target_options.h"
#include "model/submit.h"
#include "worker/agent.h"

namespace dunlin {
namespace {

constexpr uint32_t kSlotsMax = 1024;

std::string host_name() {
  char name[kNameMax] = {};
  gethostname(name, sizeof(name) - 1);
  std::string host = name;
  std::erase_if(host, [](char c) { return !is_name(std::string_view(&c, 1)); });
  return host.empty() ? "host" : host.substr(0, 40);
}

Result<WorkerOptions> read_options(const WorkerVerb& verb) {
  WorkerOptions options;
  options.host = host_name();
  options.pid = static_cast<uint32_t>(getpid());
  options.seed = random_seed();
  options.id = verb.name.empty()
                   ? fmt::format("{}-{}-{:04x}", options.host, options.pid, options.seed & 0xffffU)
                   : verb.name;
  if (!is_name(options.id)) {
    return Error{Code::invalid, fmt::format("the name {} is not 1 to 64 characters of A-Z a-z 0-9 "
                                            ". _ -",
                                            quote(options.id))};
  }
  options.slots = verb.slots != 0 ? verb.slots : std::max(1U, std::thread::hardware_concurrency());
  if (options.slots > kSlotsMax) {
    return Error{Code::invalid, fmt::format("{} slots are too many for one worker: at most {}; "
                                            "start several workers",
                                            options.slots, kSlotsMax)};
  }
  for (const std::string& tag : verb.tags) {
    if (!is_tag(tag)) return Error{Code::invalid, fmt::format("{} is not a tag", quote(tag))};
    options.tags.insert(tag);
  }
  if (!verb.mem.empty()) {
    options.mem_bytes = TRY(parse_size(verb.mem));
  } else {
    options.mem_bytes =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(getpagesize());
  }
  options.gpus = verb.gpus;
  options.hold = TRY(parse_duration(verb.hold));
  if (options.hold < std::chrono::seconds(1) || options.hold > std::chrono::hours(1)) {
    return Error{Code::invalid, "--hold is from 1s to 1h"};
  }
  if (!verb.idle_exit.empty()) options.idle_exit = TRY(parse_duration(verb.idle_exit));
  return options;
}

// SIGTERM and SIGINT as a descriptor. Blocked before any thread begins.
int signals_to_leave() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool take_signal(int descriptor) {
  signalfd_siginfo info{};
  return read(descriptor, &info, sizeof(info)) == sizeof(info);
}

void serve(Agent& agent, int signals) {
  int asked = 0;  // To leave.
  while (!agent.mind().gone() && !agent.mind().failure()) {
    agent.turn(posix_clock().now() + std::chrono::hours(1), signals);
    while (take_signal(signals)) {
      ++asked;
      if (asked == 1) {
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
}

}  // namespace

Result<int> run(const WorkerVerb& verb) {
  if (geteuid() == 0 && !verb.allow_root) {
    return Error{Code::denied,
                 "a worker does not run as root, because tasks would have all of its rights: start "
                 "it as another user, or accept that with --allow-root"};
  }
  AgentOptions options;
  options.worker = TRY(read_options(verb));
  options.slots.slots = options.worker.slots;
  options.slots.worker_id = options.worker.id;
  options.slots.folder =
      verb.folder.empty() ? TRY(state_folder("workers/" + options.worker.id)) : verb.folder;
  const std::string at = verb.target.at;
  if (at.empty()) {
    return Error{Code::invalid,
                 "--at (DUNLIN_AT) must name a hub: dunlin://HOST:PORT, as `dunlin hub` prints it"};
  }
  const int signals = signals_to_leave();
  Doors doors = TRY(open_doors(
      at, {.token_file = verb.target.token_file, .tls_ca = verb.target.tls_ca, .make = false}));
  options.connect = doors.connect;
  const std::string id = options.worker.id;
  const std::string folder = options.slots.folder;
  const uint32_t slots = options.worker.slots;
  const bool own_folder = verb.folder.empty();
  std::unique_ptr<Agent> agent = TRY(Agent::start(std::move(options), std::move(doors.desk)));
  TRY(print(fmt::format("worker {} with {} at {}\n", id, count_of(slots, "slot"), at)));
  serve(*agent, signals);
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
      "SIGTERM finishes what runs and leaves; a second one gives it back at once.\n");
  add_store_options(command, verb.target);
  command.add_option("--slots,-j", verb.slots, "Tasks at once (default: the cores)")
      ->envname("DUNLIN_SLOTS");
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
