// How fast processes are started: by a bare loop, by `dunlin run`, and by other programs that start
// one for each line.
#include <filesystem>
#include <fmt/format.h>
#include <functional>

#include "base/env_posix.h"
#include "bench/child.h"
#include "bench/floors.h"
#include "bench/hub_process.h"
#include "bench/samples.h"
#include "bench/verbs.h"
#include "model/keys.h"
#include "run/runner.h"

namespace dunlin::bench {
namespace {

constexpr const char* kProgram = "/bin/true";

// What `dunlin run -jSLOTS /bin/true --array 1-N` is made of.
Result<double> through_run(const ProcVerb& verb) {
  const TempFolder folder = TRY(TempFolder::make(verb.output.folder));
  model::Spec spec;
  spec.set_owner("bench");
  spec.set_priority(kPriorityDefault);
  spec.set_tasks(verb.tasks);
  spec.set_cwd(folder.path());
  spec.set_keep_env(true);
  spec.mutable_command()->add_argv(kProgram);
  const double start = seconds_now();
  const auto runner = TRY(
      run::Runner::open({.folder = folder.path(), .slots = verb.slots, .spec = std::move(spec)}));
  while (!runner->complete()) TRY(runner->turn(posix_clock().now() + Millis(1000), -1));
  const double took = seconds_now() - start;
  if (runner->ok() != verb.tasks) {
    return Error{Code::invalid, fmt::format("{} of {} tasks ended well", runner->ok(), verb.tasks)};
  }
  return took;
}

// Another program that starts one process for each line of a file.
Result<double> through_program(const std::vector<std::string>& words, const std::string& lines) {
  const double start = seconds_now();
  Child child = TRY(Child::start(words, {.in = lines, .out = "/dev/null"}));
  const int code = child.wait();
  if (code != 0) return Error{Code::invalid, fmt::format("{} ended with {}", words[0], code)};
  return seconds_now() - start;
}

struct Contestant {
  std::string name;
  std::function<Result<double>()> run;  // The seconds it took.
  std::vector<double> rates = {};
};

Result<std::string> write_lines(const std::string& folder, uint64_t count) {
  std::string text;
  for (uint64_t i = 1; i <= count; ++i) text += fmt::format("{}\n", i);
  std::string path = folder + "/lines";
  const auto file = TRY(posix_disk().create(path));
  TRY(file->write(0, text));
  return path;
}

std::vector<Contestant> contestants(const ProcVerb& verb, const std::string& lines) {
  std::vector<Contestant> all = {
      {"posix_spawn loop", [&verb] { return bare_spawn(kProgram, verb.tasks, verb.slots); }},
      {"dunlin run", [&verb] { return through_run(verb); }}};
  const std::string slots = std::to_string(verb.slots);
  if (is_installed("xargs")) {
    all.push_back({"xargs -n1 -P" + slots, [lines, slots] {
                     return through_program({"xargs", "-n1", "-P" + slots, kProgram}, lines);
                   }});
  }
  if (is_installed("parallel")) {
    all.push_back({"parallel -j" + slots, [lines, slots] {
                     return through_program({"parallel", "-j" + slots, kProgram}, lines);
                   }});
  }
  return all;
}

}  // namespace

Result<int> run(const ProcVerb& verb) {
  const TempFolder folder = TRY(TempFolder::make(verb.output.folder));
  const std::string lines = TRY(write_lines(folder.path(), verb.tasks));
  std::vector<Contestant> all = contestants(verb, lines);
  for (uint32_t round = 0; round < verb.rounds; ++round) {
    for (Contestant& one : all) {
      say_now(verb.output, fmt::format("{}, round {}", one.name, round + 1));
      one.rates.push_back(static_cast<double>(verb.tasks) / TRY(one.run()));
    }
  }
  Report report("proc");
  report.set("tasks", verb.tasks);
  report.set("batch", verb.tasks);
  report.set("payload", uint64_t{0});
  report.set("instances", uint64_t{1});
  report.set("slots", verb.slots);
  report.set("rounds", verb.rounds);
  report.note(
      fmt::format("Each starts {} so often; tasks_per_s is the median of the rounds.", kProgram));
  report.note("ratio: to the bare posix_spawn and waitpid loop in as many threads.");
  report.note("Only dunlin keeps the outcome of each task on disk.");
  Plot plot{.title = "Processes", .x = {"round"}, .y = {"tasks/s"}, .lines = {}};
  const double bare = median(all[0].rates);
  for (const Contestant& one : all) {
    report.add({{"what", one.name},
                {"durability", one.name == "dunlin run" ? "synced" : "none"},
                {"tasks_per_s", Value(median(one.rates), 0)},
                {"ratio", Value(median(one.rates) / bare, 3)}});
    Line line{.name = one.name};
    for (size_t round = 0; round < one.rates.size(); ++round) {
      line.points.push_back({static_cast<double>(round + 1), one.rates[round]});
    }
    plot.lines.push_back(std::move(line));
  }
  return deliver(verb.output, report, {plot});
}

}  // namespace dunlin::bench
