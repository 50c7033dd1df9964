#include "bench/bench_command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

#include "base/exit.h"
#include "model/inputs.h"

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
  command.add_flag("--json", verb.output.json, "One JSON object a row");
  command.add_option("--csv", verb.output.csv, "Write the rows to this file, too");
  command.add_option("--plot", verb.output.plot, "Write a plot to this file (SVG), too");
  command.add_option("--folder", verb.output.folder,
                     "Whose disk is used (default: that of temporary files)");
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
      add(bench, "throughput", "No-op tasks a second, by number of instances",
          "dunlin bench throughput --instances 1,2,4 --embedded --plot t.svg", verb, exit_code);
  command
      .add_option("--instances", verb.instances, "Processes with clients and a worker, as 1,2,4")
      ->delimiter(',')
      ->capture_default_str()
      ->check(kFew);
  add_number(command, "--tasks", verb.tasks, "Of each instance", kCount);
  add_number(command, "--clients", verb.clients, "Of each instance", kFew);
  add_number(command, "--slots", verb.slots, "Of each instance's worker", kFew);
  command.add_option("--batch", verb.batch, "Tasks in a job (default: a client's share)");
  add_number(command, "--payload", verb.payload, "Bytes of input of each task",
             CLI::Range(uint64_t{0}, uint64_t{kInputValueMax}));
  add_number(command, "--rounds", verb.rounds, "The median of so many counts", kFew);
  command.add_option("--at", verb.at, "A store that is there, instead of a hub of its own");
  command.add_option("--token-file", verb.token_file, "For a hub that is there");
  command.add_flag("--relaxed", verb.relaxed, "Delivery relaxed instead of once");
  command.add_flag("--ephemeral", verb.ephemeral, "A hub that keeps nothing on disk");
  command.add_flag("--embedded", verb.embedded, "Also in one process, as `dunlin run` does it");
}

void add_latency(CLI::App& bench, LatencyVerb& verb, int& exit_code) {
  CLI::App& command = add(bench, "latency", "Submission to result of one task at a time",
                          "dunlin bench latency --plot latency.svg", verb, exit_code);
  add_number(command, "--tasks", verb.cycles, "One after the other", kCount);
}

void add_efficiency(CLI::App& bench, EfficiencyVerb& verb, int& exit_code) {
  CLI::App& command = add(bench, "efficiency", "Time of the slots spent in tasks, by their length",
                          "dunlin bench efficiency --slots 16,64 --ms 1,16,128", verb, exit_code);
  command.add_option("--slots", verb.slots, "Of the one worker, as 16,64")
      ->delimiter(',')
      ->capture_default_str()
      ->check(kFew);
  CLI::Option* ms = command.add_option("--ms", verb.ms, "How long a task sleeps, as 1,16,128")
                        ->delimiter(',')
                        ->capture_default_str()
                        ->check(CLI::Range(0.001, 60'000.0));
  add_number(command, "--seconds", verb.seconds, "Of sleep for each slot",
             CLI::Range(0.01, 3600.0));
  command.add_flag("--mixed", verb.mixed, "Lengths from 1 ms to 1 s, log-uniform")->excludes(ms);
  command.add_option("--seed", verb.seed, "Of the mixed lengths")->capture_default_str();
  command.add_flag("--ephemeral", verb.ephemeral, "A hub that keeps nothing on disk");
}

void add_consistency(CLI::App& bench, ConsistencyVerb& verb, int& exit_code) {
  CLI::App& command = add(bench, "consistency", "What exactly once costs, beside relaxed",
                          "dunlin bench consistency --rounds 9", verb, exit_code);
  add_number(command, "--instances", verb.instances, "Processes with clients and a worker", kFew);
  add_number(command, "--tasks", verb.tasks, "Of each instance", kCount);
  add_number(command, "--clients", verb.clients, "Of each instance", kFew);
  add_number(command, "--slots", verb.slots, "Of each instance's worker", kFew);
  add_number(command, "--rounds", verb.rounds, "The median of so many counts", kFew);
  command.add_option("--ms", verb.ms, "How long a task sleeps (default: no-ops)")
      ->check(CLI::Range(0.0, 60'000.0));
  command.add_flag("--ephemeral", verb.ephemeral, "A hub that keeps nothing on disk");
}

void add_proc(CLI::App& bench, ProcVerb& verb, int& exit_code) {
  CLI::App& command = add(bench, "proc", "Processes a second, beside a bare loop and xargs",
                          "dunlin bench proc --tasks 5000", verb, exit_code);
  add_number(command, "--tasks", verb.tasks, "Processes of each", kCount);
  add_number(command, "--slots", verb.slots, "At once", kFew);
  add_number(command, "--rounds", verb.rounds, "The median of so many counts", kFew);
}

void add_balance(CLI::App& bench, BalanceVerb& verb, int& exit_code) {
  CLI::App& command =
      add(bench, "balance", "Iterative jobs on unequal workers, and their deadlines",
          "dunlin bench balance --plot balance.svg", verb, exit_code);
  add_number(command, "--workers", verb.workers, "Processes with one slot each",
             CLI::Range(8U, 256U));
  add_number(command, "--speed", verb.speed, "Iterations a second of each",
             CLI::Range(1.0, 1'000'000.0));
  add_number(command, "--seconds", verb.seconds, "That a job takes if nothing goes wrong",
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
  CLI::App& bench = *app.add_subcommand("bench", "Measure this machine, beside its own limits");
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
