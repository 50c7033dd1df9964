// What it costs to deliver each task once, or at most once: the same tasks with relaxed delivery.
#include <array>
#include <fmt/format.h>

#include "bench/fleet.h"
#include "bench/samples.h"
#include "bench/verbs.h"

namespace dunlin::bench {
namespace {

// The first is what the others are compared with.
constexpr std::array<const char*, 3> kDeliveries = {"relaxed", "once", "at-most-once"};

Fleet::Options fleet_options(const ConsistencyVerb& verb, const std::string& delivery) {
  Fleet::Options options;
  options.folder = verb.output.folder;
  options.ephemeral = verb.ephemeral;
  options.instances = verb.instances;
  options.each.clients = verb.clients;
  options.each.slots = verb.slots;
  options.each.work = {
      .tasks = verb.tasks, .delivery = delivery, .sleep_min_ms = verb.ms, .sleep_max_ms = verb.ms};
  return options;
}

}  // namespace

Result<int> run(const ConsistencyVerb& verb) {
  std::array<std::vector<double>, kDeliveries.size()> rates;
  for (uint32_t round = 0; round < verb.rounds; ++round) {
    for (size_t i = 0; i < kDeliveries.size(); ++i) {
      // Each goes first as often as the others.
      const size_t at = (i + round) % kDeliveries.size();
      say_now(verb.output, fmt::format("{}, round {}", kDeliveries[at], round + 1));
      const InstanceResult result = TRY(run_fleet(fleet_options(verb, kDeliveries[at])));
      rates[at].push_back(static_cast<double>(result.results) / (result.last - result.first));
    }
  }
  Report report("consistency");
  report.set("durability", verb.ephemeral ? "none" : "synced");
  report.set("payload", uint64_t{0});
  report.set("ms", Value(verb.ms, verb.ms == 0 ? 0 : 3));
  report.set("instances", verb.instances);
  report.set("tasks", verb.instances * verb.tasks);
  report.set("batch", verb.tasks / verb.clients);
  report.set("clients", verb.clients);
  report.set("slots", verb.slots);
  report.set("rounds", verb.rounds);
  report.note("tasks_per_s: median of the rounds. cost_percent: how much slower than relaxed.");
  report.note("CloudKon: 28 % (7,991/s without, 5,735/s with). FlexQueue: up to 35 %.");
  Plot plot{.title = "What delivery costs", .x = {"round"}, .y = {"tasks/s"}, .lines = {}};
  const double relaxed = median(rates[0]);
  for (size_t i = 0; i < kDeliveries.size(); ++i) {
    const double rate = median(rates[i]);
    report.add({{"what", kDeliveries[i]},
                {"tasks_per_s", Value(rate, 0)},
                {"cost_percent", Value(100 * (1 - rate / relaxed), 1)}});
    Line line{.name = kDeliveries[i]};
    for (size_t round = 0; round < rates[i].size(); ++round) {
      line.points.push_back({static_cast<double>(round + 1), rates[i][round]});
    }
    plot.lines.push_back(std::move(line));
  }
  return deliver(verb.output, report, {plot});
}

}  // namespace dunlin::bench
