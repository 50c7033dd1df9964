// Dunlin on SQS and DynamoDB, simulated: no-op tasks a second by number of instances, beside figure
// 4 of the papers. `bench/cloud` builds and runs it.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/exit.h"
#include "bench/cloud_cost.h"
#include "bench/cloud_fleet.h"
#include "bench/samples.h"
#include "bench/verbs.h"
#include "cli/output.h"

namespace dunlin::bench {
namespace {

const std::vector<Point> kCloudKon = {{1, 87}, {64, 5735}};
const std::vector<Point> kFlexQueue = {{1, 238}, {1024, 119'000}};
constexpr uint64_t kCycles = 500;

struct CloudVerb {
  Output output = {};
  std::vector<uint32_t> instances = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  FleetOptions fleet = {};
  bool measure = true;
};

double per(uint64_t count, uint64_t tasks, double scale) {
  return scale * static_cast<double>(count) / static_cast<double>(std::max<uint64_t>(tasks, 1));
}

void add_paper(Fields& row, const char* name, const std::vector<Point>& points,
               uint32_t instances) {
  const auto found = std::ranges::find(points, static_cast<double>(instances), &Point::x);
  if (found != points.end()) row.emplace_back(name, Value(found->y, 0));
}

Fields fields_of(const std::string& quota, const FleetOptions& options, const FleetResult& found) {
  const uint64_t tasks = found.results;  // That came back.
  const auto per_10k = [&](uint64_t count) { return Value(per(count, tasks, 1e4), 0); };
  const uint64_t dynamo = found.writes.requests() + found.reads.requests();
  Fields row = {{"quota", quota},
                {"instances", options.instances},
                {"tasks", options.instances * options.tasks},
                {"done_%", Value(per(tasks, options.instances * options.tasks, 100), 1)},
                {"seconds", Value(found.seconds, 2)},
                {"tasks_per_s", Value(static_cast<double>(tasks) / found.seconds, 0)}};
  add_paper(row, "cloudkon", kCloudKon, options.instances);
  add_paper(row, "flexqueue", kFlexQueue, options.instances);
  const auto held = [&](const std::string& what, const Meter& meter) {
    row.emplace_back(what + "_held_%", Value(per(meter.delayed(), meter.requests(), 100), 0));
  };
  row.emplace_back("sqs_10k", per_10k(found.sqs.requests()));
  row.emplace_back("dynamodb_10k", per_10k(dynamo));
  row.emplace_back("write_units_10k", per_10k(found.writes.units()));
  row.emplace_back("read_units_10k", per_10k(found.reads.units()));
  held("writes", found.writes);
  held("reads", found.reads);
  return row;
}

std::string quota_text(const CloudModel& model) {
  return model.write_units > 0 ? fmt::format("{:.0f}", model.write_units) : "none";
}

struct Found {
  FleetOptions options;
  FleetResult result;
};

Result<std::vector<Found>> simulate_all(const CloudVerb& verb, const CloudModel& model) {
  std::vector<Found> all;
  for (const uint32_t instances : verb.instances) {
    say_now(verb.output, fmt::format("{} instances, quota {}", instances, quota_text(model)));
    FleetOptions options = verb.fleet;
    options.instances = instances;
    options.model = model;
    all.push_back({options, TRY(simulate(options))});
  }
  return all;
}

// One task at a time, and nothing else.
Result<Report> latency(const CloudVerb& verb) {
  FleetOptions options = verb.fleet;
  options.instances = 1;
  options.clients = 1;
  options.tasks = kCycles;
  options.rounds = kCycles;
  options.seconds_max = 2.0 * kCycles;
  const std::vector<double> ms = TRY(simulate(options)).round_ms;
  const double mean = std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
  Report report("simulated cloud latency");
  report.add({{"what", "submission to result, simulated"},
              {"tasks", kCycles},
              {"mean_ms", Value(mean, 1)},
              {"p50_ms", Value(median(ms), 1)},
              {"p99_ms", Value(percentile(ms, 0.99), 1)},
              {"cloudkon_ms", Value(23.5, 1)},
              {"flexqueue_ms", Value(95, 1)}});
  report.note("One instance, one task at a time. Two commits and two pulls follow each other.");
  return report;
}

Report make_report(const CloudVerb& verb) {
  const CloudModel& model = verb.fleet.model;
  Report report("simulated cloud");
  report.set("clients", verb.fleet.clients);
  report.set("slots", verb.fleet.slots);
  report.set("seed", verb.fleet.seed);
  report.set("task_us", Value(verb.fleet.cost.worker_us, 2));
  report.set("result_us", Value(verb.fleet.cost.client_us, 2));
  report.set("write_ms", fmt::format("{}-{}", model.dynamo.low_ms, model.dynamo.high_ms));
  report.set("queue_ms", fmt::format("{}-{}", model.sqs.low_ms, model.sqs.high_ms));
  report.note("A SIMULATION: real minds and records, virtual time, nothing was run at AWS.");
  report.note("Each DynamoDB request takes write_ms, each SQS request queue_ms, drawn evenly.");
  report.note(fmt::format(
      "Each task takes its worker's loop {:.2f} us, each result its client {:.2f} us: {}.",
      verb.fleet.cost.worker_us, verb.fleet.cost.client_us,
      verb.measure ? "processor time measured on this machine in this run" : "as given"));
  report.note(
      "quota: write and, as many, read units a second that DynamoDB lets through; what comes "
      "beyond waits in a line. none: it takes all.");
  report.note("*_held_%: how many of the DynamoDB requests of this kind waited for the quota.");
  report.note(
      "*_10k: for 10,000 tasks, requests as billed by SQS, requests to DynamoDB and its units. "
      "A message a task needs 3,000 in tens for send, receive and delete alone.");
  report.note(fmt::format(
      "tasks_per_s: from the first submission to the last result; a run that is not done after "
      "{:.0f} s is cut off there, and done_% says how far it came.",
      verb.fleet.seconds_max));
  report.note(
      "CloudKon: 87/s with 1 instance, 5,735/s with 64. FlexQueue: 238/s with 1, 119,000/s with "
      "1,024. Measured at AWS.");
  return report;
}

Line line_of(const std::string& name, const std::vector<Found>& found) {
  Line line{.name = name};
  for (const Found& one : found) {
    line.points.push_back({static_cast<double>(one.options.instances),
                           static_cast<double>(one.result.results) / one.result.seconds});
  }
  return line;
}

Result<int> run_cloud(CloudVerb verb) {
  if (verb.measure) verb.fleet.cost = TRY(measure_cost());
  const CloudModel limited = verb.fleet.model;
  CloudModel free = limited;
  free.write_units = free.read_units = 0;
  // Two worlds that know nothing of each other.
  Result<std::vector<Found>> without = std::vector<Found>();
  std::jthread other([&] { without = simulate_all(verb, free); });
  const auto with = simulate_all(verb, limited);
  other.join();
  Report report = make_report(verb);
  for (const Found& one : TRY(with)) {
    report.add(fields_of(quota_text(limited), one.options, one.result));
  }
  for (const Found& one : TRY(without)) report.add(fields_of("none", one.options, one.result));
  const Plot plot{.title = "No-op tasks on SQS and DynamoDB, simulated",
                  .x = {"instances", true},
                  .y = {"tasks/s", true},
                  .lines = {line_of("dunlin, simulated", with.value()),
                            line_of("dunlin, simulated, no quota", without.value()),
                            {.name = "CloudKon (paper)", .points = kCloudKon, .dashed = true},
                            {.name = "FlexQueue (paper)", .points = kFlexQueue, .dashed = true}}};
  const Report one_by_one = TRY(latency(verb));
  const int code = TRY(deliver(verb.output, report, {plot}));
  TRY(cli::print(verb.output.json ? one_by_one.json() : "\n" + one_by_one.plain()));
  return code;
}

void add_options(CLI::App& app, CloudVerb& verb) {
  FleetOptions& fleet = verb.fleet;
  app.add_option("--instances", verb.instances, "Machines with clients and a worker, as 1,2,4")
      ->delimiter(',')
      ->check(CLI::Range(1U, 4096U));
  app.add_option("--tasks", fleet.tasks, "Of each instance")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{10'000'000}));
  app.add_option("--seed", fleet.seed, "Of all that is drawn")->capture_default_str();
  app.add_option("--seconds", fleet.seconds_max, "Of simulated time; then a run is cut off")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e5));
  app.add_option("--quota", fleet.model.write_units, "Units a second, of writes and of reads")
      ->capture_default_str()
      ->check(CLI::Range(100.0, 1e9));
  const auto span = [&app](const std::string& name, Span& into, const std::string& what) {
    app.add_option_function<std::pair<double, double>>(
           name,
           [&into](const auto& given) {
             into = {given.first, given.second};
           },
           what)
        ->check(CLI::Range(0.0, 10'000.0));
  };
  span("--write-ms", fleet.model.dynamo, "Of a request to DynamoDB: from, to (6 10)");
  span("--queue-ms", fleet.model.sqs, "Of a request to SQS: from, to (10 30)");
  app.add_option_function<std::pair<double, double>>(
         "--cost-us",
         [&verb](const auto& given) {
           verb.fleet.cost = {given.first, given.second};
           verb.measure = false;
         },
         "Processor time of a task and of a result, instead of measuring it")
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag("--json", verb.output.json, "One JSON object a row");
  app.add_option("--csv", verb.output.csv, "Write the rows to this file, too");
  app.add_option("--plot", verb.output.plot, "Write a plot to this file (SVG), too");
}

int run_all(int argc, char** argv) {
  CLI::App app("Simulates Dunlin on SQS and DynamoDB", "bench/cloud");
  CloudVerb verb;
  add_options(app, verb);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  verb.fleet.model.read_units = verb.fleet.model.write_units;
  const Result<int> ran = run_cloud(std::move(verb));
  return ran.ok() ? ran.value() : report(ran.error());
}

}  // namespace
}  // namespace dunlin::bench

int main(int argc, char** argv) {
  try {
    return dunlin::bench::run_all(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
