#include "bench/bench_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

#include "base/exit.h"
#include "model/jobs/inputs.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kTasksAtMost = 100'000'000;
const CLI::Range kCount(uint64_t{1}, kTasksAtMost);
const CLI::Range kFew(1U, 1024U);

template <typename Verb>
void run_when_given(CLI::App& command, const Verb& verb, int& exit_code) {
  command.callback([&verb, &exit_code] {
    const Result<int> ran = run(verb);
    exit_code = ran.ok() ? ran.value() : report(ran.error());
  });
}

template <typename Verb>
CLI::App& add(CLI::App& bench, const std::string& name, const std::string& what,
              const std::string& example, Verb& verb, int& exit_code) {
  CLI::App& command = *bench.add_subcommand(name, what);
  command.footer("Example:\n  " + example + "\n");
  command.add_flag("--json", verb.output.json, "Print one JSON object per row");
  command.add_option("--csv", verb.output.csv, "Also write the rows to this file (CSV)");
  command.add_option("--plot", verb.output.plot, "Also write a plot to this file (SVG)");
  command.add_option("--folder", verb.output.folder,
                     "Folder on the disk to measure (default: the folder for temporary files)");
  run_when_given(command, verb, exit_code);
  return command;
}

template <typename T>
CLI::Option* add_number(CLI::App& command, const std::string& name, T& value,
                        const std::string& what, const CLI::Range& range) {
  return command.add_option(name, value, what)->capture_default_str()->check(range);
}

void add_throughput(CLI::App& bench, ThroughputVerb& verb, int& exit_code) {
  CLI::App& command =
      add(bench, "throughput", "Measure no-op tasks a second, by number of instances",
          "dunlin bench throughput --instances 1,2,4 --embedded --plot t.svg", verb, exit_code);
  command
      .add_option("--instances", verb.instances,
                  "Numbers of instances to measure, e.g. 1,2,4; an instance is a process with "
                  "clients and a worker")
      ->delimiter(',')
      ->capture_default_str()
      ->check(kFew);
  add_number(command, "--tasks", verb.tasks, "Tasks of each instance", kCount);
  add_number(command, "--clients", verb.clients, "Clients of each instance", kFew);
  add_number(command, "--slots", verb.slots, "Slots of each instance's worker", kFew);
  command.add_option("--batch", verb.batch, "Tasks in a job (default: a client's share)");
  add_number(command, "--payload", verb.payload, "Bytes of input for each task",
             CLI::Range(uint64_t{0}, uint64_t{kInputValueMax}));
  add_number(command, "--rounds", verb.rounds, "Rounds to measure; the result is their median",
             kFew);
  command.add_option("--at", verb.at,
                     "URL of an existing store (default: a hub that the benchmark starts)");
  command.add_option("--token-file", verb.token_file, "File with the token of an existing hub");
  command.add_flag("--relaxed", verb.relaxed, "Use relaxed delivery instead of once");
  command.add_flag("--ephemeral", verb.ephemeral, "Use a hub that keeps nothing on disk");
  command.add_flag("--embedded", verb.embedded,
                   "Also measure one process without a hub, like `dunlin run`");
}

void add_latency(CLI::App& bench, LatencyVerb& verb, int& exit_code) {
  CLI::App& command =
      add(bench, "latency", "Measure the time from submission to result, one task at a time",
          "dunlin bench latency --plot latency.svg", verb, exit_code);
  add_number(command, "--tasks", verb.cycles, "Tasks to run, one after the other", kCount);
}

void add_efficiency(CLI::App& bench, EfficiencyVerb& verb, int& exit_code) {
  CLI::App& command =
      add(bench, "efficiency",
          "Measure which part of their time slots spend in tasks, by the length of tasks",
          "dunlin bench efficiency --slots 16,64 --ms 1,16,128", verb, exit_code);
  command
      .add_option("--slots", verb.slots, "Numbers of slots of the worker to measure, e.g. 16,64")
      ->delimiter(',')
      ->capture_default_str()
      ->check(kFew);
  CLI::Option* ms = command
                        .add_option("--ms", verb.ms,
                                    "Lengths of tasks in ms to measure, e.g. 1,16,128; tasks sleep")
                        ->delimiter(',')
                        ->capture_default_str()
                        ->check(CLI::Range(0.001, 60'000.0));
  add_number(command, "--seconds", verb.seconds, "Seconds of sleep for each slot",
             CLI::Range(0.01, 3600.0));
  command.add_flag("--mixed", verb.mixed, "Use lengths from 1 ms to 1 s, log-uniform")
      ->excludes(ms);
  command.add_option("--seed", verb.seed, "Seed of the mixed lengths")->capture_default_str();
  command.add_flag("--ephemeral", verb.ephemeral, "Use a hub that keeps nothing on disk");
}

void add_consistency(CLI::App& bench, ConsistencyVerb& verb, int& exit_code) {
  CLI::App& command =
      add(bench, "consistency", "Measure what exactly-once delivery costs, compared with relaxed",
          "dunlin bench consistency --rounds 9", verb, exit_code);
  add_number(command, "--instances", verb.instances,
             "Number of instances; an instance is a process with clients and a worker", kFew);
  add_number(command, "--tasks", verb.tasks, "Tasks of each instance", kCount);
  add_number(command, "--clients", verb.clients, "Clients of each instance", kFew);
  add_number(command, "--slots", verb.slots, "Slots of each instance's worker", kFew);
  add_number(command, "--rounds", verb.rounds, "Rounds to measure; the result is their median",
             kFew);
  command.add_option("--ms", verb.ms, "Milliseconds that a task sleeps (default: no-ops)")
      ->check(CLI::Range(0.0, 60'000.0));
  command.add_flag("--ephemeral", verb.ephemeral, "Use a hub that keeps nothing on disk");
}

void add_proc(CLI::App& bench, ProcVerb& verb, int& exit_code) {
  CLI::App& command =
      add(bench, "proc", "Measure processes a second, compared with a bare loop and xargs",
          "dunlin bench proc --tasks 5000", verb, exit_code);
  add_number(command, "--tasks", verb.tasks, "Processes that each program starts", kCount);
  add_number(command, "--slots", verb.slots, "Processes at once", kFew);
  add_number(command, "--rounds", verb.rounds, "Rounds to measure; the result is their median",
             kFew);
}

void add_balance(CLI::App& bench, BalanceVerb& verb, int& exit_code) {
  CLI::App& command =
      add(bench, "balance", "Measure iterative jobs on unequal workers, and their deadlines",
          "dunlin bench balance --plot balance.svg", verb, exit_code);
  add_number(command, "--workers", verb.workers, "Number of workers, with one slot each",
             CLI::Range(8U, 256U));
  add_number(command, "--speed", verb.speed, "Iterations a second of each worker",
             CLI::Range(1.0, 1'000'000.0));
  add_number(command, "--seconds", verb.seconds, "Seconds that a job takes if nothing goes wrong",
             CLI::Range(1.0, 3600.0));
  command.add_flag("--no-deadlines", verb.no_deadlines, "Leave out the deadlines");
}

// What a partition of `bench balance` runs (bench/balance_part.h).
void add_part(CLI::App& bench, PartOptions& options, int& exit_code) {
  CLI::App& command = *bench.add_subcommand("part", "A partition")->group("");
  command.add_option("--speed", options.speed);
  command.add_option("--begin", options.begin_ms);
  command.add_option("--share", options.share);
  command.add_option("--slowed", options.slowed);
  run_when_given(command, options, exit_code);
}

// What a fleet starts (bench/fleet.h).
void add_instance(CLI::App& bench, InstanceOptions& options, int& exit_code) {
  CLI::App& command = *bench.add_subcommand("instance", "Clients and a worker")->group("");
  command.add_option("--at", options.at)->required();
  command.add_option("--token-file", options.token_file)->required();
  command.add_option("--folder", options.folder)->required();
  command.add_option("--clients", options.clients);
  command.add_option("--slots", options.slots);
  command.add_option("--max-slots", options.max_slots);
  command.add_option("--scale-ms", options.scale_ms);
  command.add_option("--hold-ms", options.hold_ms);
  command.add_option("--tasks", options.work.tasks);
  command.add_option("--batch", options.work.batch);
  command.add_option("--payload", options.work.payload);
  command.add_option("--delivery", options.work.delivery);
  command.add_option("--sleep-min", options.work.sleep_min_ms);
  command.add_option("--sleep-max", options.work.sleep_max_ms);
  command.add_option("--seed", options.work.seed);
  run_when_given(command, options, exit_code);
}

}  // namespace

void add_bench_command(CLI::App& app, Verbs& verbs, int& exit_code) {
  CLI::App& bench = *app.add_subcommand(
      "bench", "Measure Dunlin on this machine, beside the machine's own limits");
  bench.require_subcommand(1);
  add_throughput(bench, verbs.throughput, exit_code);
  add_latency(bench, verbs.latency, exit_code);
  add_efficiency(bench, verbs.efficiency, exit_code);
  add_consistency(bench, verbs.consistency, exit_code);
  add_proc(bench, verbs.proc, exit_code);
  add_balance(bench, verbs.balance, exit_code);
  add_instance(bench, verbs.instance, exit_code);
  add_part(bench, verbs.part, exit_code);
}

}  // namespace dunlin::bench
