// How many no-op tasks go through a hub, by number of instances, or through `dunlin run` alone.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/env_posix.h"
#include "bench/fleet.h"
#include "bench/samples.h"
#include "bench/verbs.h"
#include "run/runner.h"

namespace dunlin::bench {
namespace {

// What the papers measured, one EC2 machine an instance.
const std::vector<Point> kCloudKon = {{1, 87}, {64, 5735}};
const std::vector<Point> kFlexQueue = {{1, 238}, {1024, 119'000}};

Fleet::Options fleet_options(const ThroughputVerb& verb, uint32_t instances) {
  Fleet::Options options;
  options.folder = verb.output.folder;
  options.at = verb.at;
  options.token_file = verb.token_file;
  options.ephemeral = verb.ephemeral;
  options.instances = instances;
  options.each.clients = verb.clients;
  options.each.slots = verb.slots;
  options.each.work = {.tasks = verb.tasks,
                       .batch = verb.batch,
                       .payload = verb.payload,
                       .delivery = verb.relaxed ? "relaxed" : "once"};
  return options;
}

// The same tasks in one process, as `dunlin run` does it. Returns the seconds it took.
Result<double> run_embedded(const ThroughputVerb& verb) {
  const TempFolder folder = TRY(TempFolder::make(verb.output.folder));
  const Workload work = fleet_options(verb, 1).each.work;
  WorkJob job = TRY(make_job(work, {}, run::kRunId, 0, work.tasks));
  const double start = seconds_now();
  const auto runner = TRY(run::Runner::open({.folder = folder.path(),
                                             .slots = verb.slots,
                                             .spec = std::move(job.spec),
                                             .blobs = std::move(job.blobs)}));
  while (!runner->complete()) TRY(runner->turn(posix_clock().now() + Millis(1000), -1));
  const double took = seconds_now() - start;
  if (runner->ok() != work.tasks) {
    return Error{Code::invalid, fmt::format("{} of {} tasks ended well", runner->ok(), work.tasks)};
  }
  return took;
}

Report make_report(const ThroughputVerb& verb) {
  Report report("throughput");
  report.set("delivery", verb.relaxed ? "relaxed" : "once");
  report.set("payload", verb.payload);
  report.set("clients", verb.clients);
  report.set("slots", verb.slots);
  report.set("rounds", verb.rounds);
  report.note("tasks_per_s: median of the rounds, from the first submission to the last result.");
  report.note("batch: tasks in a job, which is one message until a worker splits it.");
  report.note(
      "CloudKon: 87/s with 1 instance, 5,735/s with 64. FlexQueue: 238/s with 1, 119,000/s "
      "with 1,024. Each on a machine of its own.");
  return report;
}

struct Rates {
  std::vector<double> tasks_per_s;  // One for each round.
  uint64_t repeated = 0;
  double requests = 0;  // To AWS's services, for 10,000 tasks.
};

Fields fields_of(const std::string& what, uint32_t instances, const ThroughputVerb& verb,
                 uint64_t batch, bool synced, const Rates& rates) {
  return {{"what", what},
          {"instances", instances},
          {"tasks", instances * verb.tasks},
          {"batch", batch},
          {"durability", synced ? "synced" : "none"},
          {"tasks_per_s", Value(median(rates.tasks_per_s), 0)},
          {"slowest", Value(*std::ranges::min_element(rates.tasks_per_s), 0)},
          {"fastest", Value(*std::ranges::max_element(rates.tasks_per_s), 0)},
          {"repeated", rates.repeated}};
}

Result<Rates> through_hub(const ThroughputVerb& verb, uint32_t instances) {
  Rates rates;
  for (uint32_t round = 0; round < verb.rounds; ++round) {
    say_now(verb.output, fmt::format("{} instances, round {}", instances, round + 1));
    const InstanceResult result = TRY(run_fleet(fleet_options(verb, instances)));
    rates.tasks_per_s.push_back(static_cast<double>(result.results) / (result.last - result.first));
    rates.repeated += result.repeated;
    rates.requests += 10'000.0 * static_cast<double>(result.requests) /
                      static_cast<double>(result.results) / verb.rounds;
  }
  return rates;
}

Result<Rates> embedded(const ThroughputVerb& verb) {
  Rates rates;
  for (uint32_t round = 0; round < verb.rounds; ++round) {
    say_now(verb.output, fmt::format("embedded, round {}", round + 1));
    rates.tasks_per_s.push_back(static_cast<double>(verb.tasks) / TRY(run_embedded(verb)));
  }
  return rates;
}

}  // namespace

Result<int> run(const ThroughputVerb& verb) {
  Report report = make_report(verb);
  Line ours{.name = "dunlin, one machine", .points = {}};
  for (const uint32_t instances : verb.instances) {
    const Rates rates = TRY(through_hub(verb, instances));
    const uint64_t share = (verb.tasks + verb.clients - 1) / verb.clients;
    const uint64_t batch = verb.batch != 0 ? std::min(verb.batch, share) : share;
    const std::string engine = verb.at.empty() ? "hub" : verb.at.substr(0, verb.at.find(':'));
    Fields row = fields_of(engine, instances, verb, batch, !verb.ephemeral, rates);
    for (const auto& [name, points] :
         {std::pair{"cloudkon", &kCloudKon}, std::pair{"flexqueue", &kFlexQueue}}) {
      const auto found = std::ranges::find(*points, static_cast<double>(instances), &Point::x);
      if (found != points->end()) row.emplace_back(name, Value(found->y, 0));
    }
    if (rates.requests > 0) row.emplace_back("requests_per_10k", Value(rates.requests, 1));
    report.add(std::move(row));
    ours.points.push_back({static_cast<double>(instances), median(rates.tasks_per_s)});
  }
  Plot plot{.title = "No-op tasks through a hub",
            .x = {"instances", true},
            .y = {"tasks/s", true},
            .lines = {ours}};
  if (verb.embedded) {
    const Rates rates = TRY(embedded(verb));
    report.add(fields_of("embedded", 1, verb, verb.tasks, true, rates));
    plot.lines.push_back({.name = "dunlin, embedded", .points = {{1, median(rates.tasks_per_s)}}});
  }
  plot.lines.push_back({.name = "CloudKon (paper)", .points = kCloudKon, .dashed = true});
  plot.lines.push_back({.name = "FlexQueue (paper)", .points = kFlexQueue, .dashed = true});
  return deliver(verb.output, report, {plot});
}

}  // namespace dunlin::bench
