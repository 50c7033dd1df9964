// Which part of the slots' time is spent in tasks, by their length; beside threads that sleep as
// long and do nothing else.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "bench/fleet.h"
#include "bench/floors.h"
#include "bench/verbs.h"

namespace dunlin::bench {
namespace {

constexpr double kMixedMin = 1;
constexpr double kMixedMax = 1000;

// Tasks of lengths between the two that keep so many slots busy for so long.
Workload make_work(const EfficiencyVerb& verb, uint32_t slots, double min_ms, double max_ms) {
  const double mean = min_ms == max_ms ? min_ms : (max_ms - min_ms) / std::log(max_ms / min_ms);
  const double each = std::max(1.0, std::round(verb.seconds * 1000 / mean));
  return {.tasks = static_cast<uint64_t>(each) * slots,
          .sleep_min_ms = min_ms,
          .sleep_max_ms = max_ms,
          .seed = verb.seed};
}

struct Measured {
  double ours = 0;  // Ideal time by actual time.
  double bare = 0;
};

Result<Measured> measure(const EfficiencyVerb& verb, uint32_t slots, const Workload& work) {
  Fleet::Options options;
  options.folder = verb.output.folder;
  options.ephemeral = verb.ephemeral;
  options.each.clients = 1;
  options.each.slots = slots;
  options.each.work = work;
  const std::vector<double> lengths = lengths_ms(work);
  const double all_ms = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  const double ideal = all_ms / 1000 / slots;
  const InstanceResult result = TRY(run_fleet(options));
  return Measured{.ours = ideal / (result.last - result.first),
                  .bare = ideal / bare_sleep(lengths, slots)};
}

// FlexQueue with one instance and 4 slots, in percent.
const std::vector<Point> kFlexQueue = {{16, 40}, {128, 88}};

}  // namespace

Result<int> run(const EfficiencyVerb& verb) {
  Report report("efficiency");
  report.set("durability", verb.ephemeral ? "none" : "synced");
  report.set("payload", uint64_t{0});
  report.set("instances", uint64_t{1});
  report.set("seed", verb.seed);
  report.note(
      "efficiency: ideal time by actual time, from the first submission to the last result.");
  report.note("bare: as many threads that sleep the same lengths and do nothing else, same run.");
  report.note("FlexQueue: 40 % at 16 ms, 88 % at 128 ms; mixed lengths 77 % at 256 instances.");
  Plot plot{.title = "Time of the slots spent in tasks",
            .x = {"length of a task, ms", true},
            .y = {"% of the ideal"},
            .lines = {}};
  std::vector<std::pair<double, double>> lengths;
  if (verb.mixed) {
    lengths.emplace_back(kMixedMin, kMixedMax);
  } else {
    for (const double ms : verb.ms) lengths.emplace_back(ms, ms);
  }
  for (const uint32_t slots : verb.slots) {
    Line ours{.name = fmt::format("dunlin, {} slots", slots)};
    Line bare{.name = fmt::format("bare, {} threads", slots), .dashed = true};
    for (const auto& [min_ms, max_ms] : lengths) {
      const std::string ms =
          min_ms == max_ms ? fmt::format("{}", min_ms) : fmt::format("{}-{}", min_ms, max_ms);
      say_now(verb.output, fmt::format("{} slots, {} ms", slots, ms));
      const Workload work = make_work(verb, slots, min_ms, max_ms);
      const Measured measured = TRY(measure(verb, slots, work));
      report.add({{"what", "sleep"},
                  {"ms", min_ms == max_ms ? Value(min_ms, min_ms < 1 ? 3 : 0) : Value(ms)},
                  {"slots", slots},
                  {"tasks", work.tasks},
                  {"batch", work.tasks},
                  {"efficiency", Value(measured.ours, 4)},
                  {"bare", Value(measured.bare, 4)},
                  {"ratio", Value(measured.ours / measured.bare, 4)}});
      ours.points.push_back({std::sqrt(min_ms * max_ms), 100 * measured.ours});
      bare.points.push_back({std::sqrt(min_ms * max_ms), 100 * measured.bare});
    }
    plot.lines.push_back(std::move(ours));
    plot.lines.push_back(std::move(bare));
  }
  if (!verb.mixed) {
    plot.lines.push_back({.name = "FlexQueue (paper)", .points = kFlexQueue, .dashed = true});
  }
  return deliver(verb.output, report, {plot});
}

}  // namespace dunlin::bench
