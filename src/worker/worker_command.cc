#include "worker/worker_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/folders.h"
#include "base/inspection.h"
#include "base/log.h"
#include "base/names.h"
#include "base/printable.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/target_options.h"
#include "retention/sweep_thread.h"
#include "stores/open.h"
#include "tascaas/retire.h"
#include "tascaas/tenants.h"
#include "worker/agent.h"
#include "worker/defaults.h"
#include "worker/process/rights.h"
#include "worker/slots/left_workers.h"

namespace dunlin::worker {
namespace {

constexpr Millis kScaleTimeLeast = std::chrono::seconds(1);
constexpr Millis kFarewell = std::chrono::seconds(2);  // Until it is told that a worker leaves.
constexpr uint64_t kTaskMemoryLeast = 1 << 20;
constexpr uint64_t kTaskDiskLeast = 64 << 10;
constexpr uint64_t kTaskProcsMost = 1'000'000;
constexpr Millis kSayAgain = std::chrono::minutes(1);

Result<WorkerOptions> read_options(const WorkerVerb& verb) {
  WorkerOptions options;
  options.id = verb.name;
  options.slots = verb.slots;
  options.tags.insert(verb.tags.begin(), verb.tags.end());
  if (!verb.mem.empty()) options.mem_bytes = TRY(parse_size(verb.mem));
  options.gpus = verb.gpus;
  if (verb.hold) options.hold = TRY(parse_duration(*verb.hold));
  if (!verb.idle_exit.empty()) options.idle_exit = TRY(parse_duration(verb.idle_exit));
  return with_defaults(std::move(options));
}

// How its slots may change.
Result<void> read_advice(const WorkerVerb& verb, AgentOptions& options) {
  uint32_t& slots = options.worker.slots;
  options.infrastructure = verb.infrastructure;
  options.slots.slots = verb.max_slots == 0 ? slots : verb.max_slots;
  if (verb.infrastructure.empty()) {
    if (verb.max_slots == 0) return {};
    return Error{Code::invalid,
                 "--max-slots is for workers that follow advice: give --infrastructure, too, or "
                 "use --slots"};
  }
  if (!is_name(verb.infrastructure)) {
    return Error{Code::invalid, fmt::format("the infrastructure {} is not 1 to 64 characters of "
                                            "A-Z a-z 0-9 . _ -",
                                            quote(verb.infrastructure))};
  }
  if (verb.slots == 0) slots = std::min(slots, options.slots.slots);
  if (options.slots.slots < slots || options.slots.slots > kSlotsMax) {
    return Error{Code::invalid,
                 fmt::format("--max-slots {} must be at least --slots, which is {}, and at most {}",
                             options.slots.slots, slots, kSlotsMax)};
  }
  options.scale_time = TRY(parse_duration(verb.scale_time));
  if (options.scale_time < kScaleTimeLeast || options.scale_time > tascaas::kScaleTimeMax) {
    return Error{Code::invalid,
                 fmt::format("--scale-time {} is out of range: give 1s to 24h", verb.scale_time)};
  }
  return {};
}

Result<uint64_t> read_limit(const char* option, const std::string& text, uint64_t least) {
  if (text.empty()) return uint64_t{0};
  const uint64_t bytes = TRY(parse_size(text));
  if (bytes >= least) return bytes;
  return Error{Code::invalid, fmt::format("{} {} is too little for any task: give at least {}",
                                          option, text, human_size(least))};
}

Result<TaskRules> read_rules(const WorkerVerb& verb) {
  TaskRules rules{.may_gain_rights = verb.allow_sudo,
                  .foreign = true,
                  .enforce_mem = verb.enforce_mem,
                  .procs_max = verb.task_procs};
  if (!verb.run_as.empty()) rules.user = TRY(find_task_user(verb.run_as));
  rules.memory_max = TRY(read_limit("--task-memory", verb.task_memory, kTaskMemoryLeast));
  rules.disk_max = TRY(read_limit("--task-disk", verb.task_disk, kTaskDiskLeast));
  return rules;
}

// Where its tasks can get to.
Result<std::string> default_folder(const WorkerVerb& verb, const std::string& id) {
  if (verb.run_as.empty()) return state_folder("workers/" + id);
  return "/var/lib/dunlin-tasks/" + id;
}

// What a worker waits for that was asked to leave.
void say_why_it_waits(const WorkerMind& mind, Millis hold) {
  if (mind.busy() > 0) {
    log::info("waiting for {} to end", count_of(mind.busy(), "running task"));
    return;
  }
  log::info(
      "waiting for the store, which does not answer, to take back this worker's tasks; one more "
      "signal exits at once, and other workers get the tasks when their leases end, within {}",
      human_time(hold));
}

// Until it has left; false if it was told not to wait for the store any more.
bool serve(Agent& agent, int signals, Millis hold) {
  int asked = 0;  // To leave.
  Instant look = Instant::max();
  while (!agent.mind().gone() && !agent.mind().failure()) {
    agent.turn(std::min(look, posix_clock().now() + std::chrono::hours(1)), signals);
    if (posix_clock().now() >= look) {
      if (agent.mind().holds() == 0) {
        log::warning("exiting without telling the store, which does not answer");
        return true;
      }
      say_why_it_waits(agent.mind(), hold);
      look = posix_clock().now() + kSayAgain;
    }
    while (take_signal(signals)) {
      look = posix_clock().now() + kFarewell;
      ++asked;
      if (asked == 1) {
        log::info("leaving: running tasks finish first; a second signal gives them back at once");
        agent.drain();
      } else if (asked == 2) {
        log::info("leaving now: stopping the running tasks and giving them back");
        agent.stop();
      } else {
        log::warning(
            "exiting before the store took the tasks back; other workers get them when their "
            "leases end");
        return false;
      }
    }
  }
  return true;
}

// Whose rights tasks have, and what they may use.
void add_rule_options(CLI::App& command, WorkerVerb& verb) {
  command
      .add_option(
          "--run-as", verb.run_as,
          "Run tasks as this user, who cannot reach the worker's token and processes (needs root)")
      ->envname("DUNLIN_RUN_AS");
  command
      .add_flag("--allow-sudo", verb.allow_sudo, "Let tasks gain more rights by sudo and the like")
      ->envname("DUNLIN_ALLOW_SUDO");
  command
      .add_option("--task-procs", verb.task_procs,
                  "End a task that has more processes and threads than this")
      ->check(CLI::Range(uint64_t{1}, kTaskProcsMost))
      ->envname("DUNLIN_TASK_PROCS");
  command
      .add_option("--task-memory", verb.task_memory,
                  "End a task that uses more memory than this: 512M, 4G")
      ->envname("DUNLIN_TASK_MEMORY");
  command
      .add_option(
          "--task-disk", verb.task_disk,
          "End a task that has more than this in its folder, or writes a larger file anywhere")
      ->envname("DUNLIN_TASK_DISK");
  command
      .add_flag("--enforce-mem", verb.enforce_mem,
                "End a task that uses more memory than its job asked for (--mem)")
      ->envname("DUNLIN_ENFORCE_MEM");
  command
      .add_flag("--debuggable", verb.debuggable,
                "Allow debuggers of the same user, which includes tasks, and core dumps")
      ->envname("DUNLIN_DEBUGGABLE");
}

}  // namespace

Result<int> run(const WorkerVerb& verb) {
  TRY(check_user(verb.allow_root || !verb.run_as.empty()));
  if (!verb.debuggable) forbid_inspection();
  AgentOptions options;
  options.worker = TRY(read_options(verb));
  options.slots.rules = TRY(read_rules(verb));
  TRY(read_advice(verb, options));
  options.slots.worker_id = options.worker.id;
  options.slots.alone = true;
  options.slots.folder =
      verb.folder.empty() ? TRY(default_folder(verb, options.worker.id)) : verb.folder;
  cli::StoreTarget target = verb.target;
  TRY(cli::wait_for_own_hub(target));
  const std::string at = target.at;
  const int signals = watch_signals({SIGTERM, SIGINT});
  stores::OpenOptions open = cli::open_options(target);
  open.make = false;
  stores::StoreAccess access = TRY(stores::open_access(at, open));
  options.connect = access.connect;
  options.worker.commit_rows = access.commit_rows;
  options.worker.pace = access.pace;
  const std::string id = options.worker.id;
  const std::string folder = options.slots.folder;
  // A hub clears old jobs away itself.
  std::optional<retention::SweepThread> sweeper;
  if (!stores::is_hub_url(at)) {
    sweeper.emplace(access.connect,
                    retention::SweeperOptions{.removal = {.commit_rows = access.commit_rows},
                                              .chores = {tascaas::retire}},
                    posix_clock());
  }
  const uint32_t slots = options.worker.slots;
  const Millis hold = options.worker.hold;
  const std::string most =
      options.infrastructure.empty() ? "" : fmt::format(" of {}", options.slots.slots);
  const bool own_folder = verb.folder.empty();
  if (own_folder) remove_left_workers(folder, options.worker.host);
  std::unique_ptr<Agent> agent =
      TRY(Agent::start(std::move(options), std::move(access.async_store)));
  TRY(cli::print(fmt::format("worker {} with {}{} at {}\n", id, count_of(slots, "slot"), most,
                             printable_url(at))));
  const bool left = serve(*agent, signals, hold);
  const std::optional<Error> failure = agent->mind().failure();
  agent.reset();
  if (own_folder) remove_slots_folder(folder);
  if (failure) return *failure;
  return left ? kExitDone : kExitInterrupted;
}

void add_worker_command(CLI::App& app, WorkerVerb& verb, int& exit_code) {
  CLI::App& command = *app.add_subcommand("worker", "Pull tasks from a store and run them");
  command.footer(
      "Example:\n  dunlin worker --at dunlin://127.0.0.1:7070 --token-file ~/hub/token\n  dunlin "
      "worker --slots 16 --tag python3.11 --tag org=star --idle-exit 10m\n  dunlin worker "
      "--infrastructure lab --slots 2 --max-slots 16\nOn SIGTERM the worker finishes its running "
      "tasks and exits; on a second one it gives them\nback at once; on a third one it does not "
      "wait for the store to take them back.\n");
  cli::add_store_options(command, verb.target);
  add_rule_options(command, verb);
  command
      .add_option("--slots,-j", verb.slots,
                  "How many tasks to run at once (default: the number of cores)")
      ->envname("DUNLIN_SLOTS");
  command
      .add_option("--infrastructure", verb.infrastructure,
                  "Group that this worker belongs to; its number of slots then follows the demand, "
                  "up to --max-slots")
      ->envname("DUNLIN_INFRASTRUCTURE");
  command
      .add_option("--max-slots", verb.max_slots,
                  "The most slots that --infrastructure may give it (default: --slots, or the "
                  "number of cores)")
      ->envname("DUNLIN_MAX_SLOTS");
  command
      .add_option(
          "--scale-time", verb.scale_time,
          "How long to measure before the number of slots changes; use the same for all workers")
      ->capture_default_str()
      ->envname("DUNLIN_SCALE_TIME");
  command.add_option("--tag", verb.tags, "Tag that jobs can require with --requires; repeatable")
      ->envname("DUNLIN_TAG");
  command
      .add_option("--mem", verb.mem, "Memory for tasks, e.g. 16G (default: all of the machine's)")
      ->envname("DUNLIN_MEM");
  command.add_option("--gpus", verb.gpus, "Number of GPUs for tasks")->envname("DUNLIN_GPUS");
  command.add_option("--name", verb.name, "Id of this worker (default: host-pid-xxxx)")
      ->envname("DUNLIN_NAME");
  command
      .add_option("--hold", verb.hold,
                  "Hand the tasks to other workers if this one gives no sign of life for this long")
      ->default_str(human_time(WorkerOptions().hold))
      ->envname("DUNLIN_HOLD");
  command.add_option("--idle-exit", verb.idle_exit, "Exit after this long without work, e.g. 10m")
      ->envname("DUNLIN_IDLE_EXIT");
  command
      .add_option("--folder", verb.folder,
                  "Folder for the worker's files and the tasks' fresh folders (default: in your "
                  "state folder)")
      ->envname("DUNLIN_FOLDER");
  command
      .add_flag("--allow-root", verb.allow_root, "Allow the worker and its tasks to run as root")
      ->envname("DUNLIN_ALLOW_ROOT");
  command.callback([&verb, &exit_code] {
    const Result<int> ran = run(verb);
    exit_code = ran.ok() ? ran.value() : report(ran.error());
  });
}

}  // namespace dunlin::worker
