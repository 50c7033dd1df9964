#include "bench/balance_deadlines.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/env_posix.h"
#include "base/wait.h"
#include "bench/fleet.h"
#include "stores/open.h"
#include "tascaas/infrastructures.h"

namespace dunlin::bench {
namespace {

constexpr std::array<double, 5> kLimits = {3600, 2700, 2100, 1500, 900};  // Seconds, in the paper.
constexpr double kScaleTime = 300;                                        // Likewise.
constexpr uint32_t kBeginPart = 2;  // Of the slots that an infrastructure may have.

// The paper's machines: so many slots at most, each so fast.
struct Machines {
  uint32_t slots = 0;
  double speed = 1;
};
constexpr std::array<Machines, 3> kMachines = {{{16, 1}, {8, 0.8}, {4, 0.6}}};

Result<std::vector<Fleet>> start_machines(const BalanceVerb& verb, double scale) {
  Fleet::Options options;
  options.folder = verb.output.folder;
  options.each.clients = 0;
  options.each.scale_ms = static_cast<uint64_t>(kScaleTime * scale * 1000);
  std::vector<Fleet> fleets;
  for (const Machines& one : kMachines) {
    options.each.slots = one.slots / kBeginPart;
    options.each.max_slots = one.slots;
    fleets.push_back(TRY(Fleet::start(options)));
    options.at = fleets.front().hub().url();
    options.token_file = fleets.front().hub().token_file();
  }
  return fleets;
}

Result<uint64_t> slots_now(Store& store) {
  uint64_t slots = 0;
  for (const auto& one : TRY(tascaas::list_infrastructures(store.table(), posix_clock().wall()))) {
    slots += one.infrastructure.slots;
  }
  return slots;
}

}  // namespace

Result<Deadlines> run_deadlines(const BalanceVerb& verb) {
  const double scale = verb.seconds * 4 / kLimits[0];
  say_now(verb.output, "deadlines");
  std::vector<Fleet> fleets = TRY(start_machines(verb, scale));
  std::vector<Slowed> slowed;
  for (size_t i = 0; i < fleets.size(); ++i) {
    slowed.push_back({fleets[i].pids()[0], kMachines[i].speed, 0});
  }
  const auto store = TRY(stores::open_store(fleets.front().hub().url(),
                                            {.token_file = fleets.front().hub().token_file()}));
  const PartOptions part{.speed = verb.speed,
                         .begin_ms = posix_clock().wall().time_since_epoch().count(),
                         .share = 0,
                         .slowed = to_text(slowed)};
  // At full power, one fast slot is just in time for the first class.
  const auto iterations = static_cast<uint64_t>(verb.speed * kLimits[0] * scale * 0.9);
  std::vector<Watched> jobs;
  Deadlines deadlines;
  for (const double limit : kLimits) {
    deadlines.classes.push_back({.limit_s = limit * scale});
    const Shape shape{.iterations = iterations,
                      .partitions = 1,
                      .most = 16,
                      .balanced = true,
                      .finish_in_s = limit * scale};
    jobs.emplace_back(*store, spec_of(shape, part));
  }
  for (Watched& job : jobs) TRY(job.begin());
  deadlines.slots = {.name = "slots", .points = {}, .dashed = true, .marked = false};
  std::vector<bool> ended(jobs.size(), false);
  const Instant begun = posix_clock().now();
  const Instant give_up = begun + Millis(static_cast<int64_t>(verb.seconds * 60'000));
  while (std::ranges::find(ended, false) != ended.end()) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (!ended[i]) ended[i] = TRY(jobs[i].look());
    }
    const std::chrono::duration<double> since = posix_clock().now() - begun;
    deadlines.slots.points.push_back({since.count(), static_cast<double>(TRY(slots_now(*store)))});
    if (posix_clock().now() > give_up) return Error{Code::unavailable, "the jobs do not end"};
    wait_until(posix_clock().now() + kLookEvery, posix_clock());
  }
  for (size_t i = 0; i < jobs.size(); ++i) deadlines.classes[i].ran = jobs[i].ran();
  while (!fleets.empty()) {  // The hub is the first one's.
    TRY(fleets.back().stop());
    fleets.pop_back();
  }
  return deadlines;
}

Plot plot_deadlines(const Deadlines& deadlines) {
  Plot plot{.title = "Partitions that work, and slots",
            .x = {"seconds"},
            .y = {"partitions, slots"},
            .lines = {}};
  for (const Class& one : deadlines.classes) {
    Line line{.name = fmt::format("by {:.1f} s", one.limit_s), .points = {}, .marked = false};
    for (const Sample& sample : one.ran.samples) {
      line.points.push_back({sample.at_s, static_cast<double>(sample.working)});
    }
    plot.lines.push_back(std::move(line));
  }
  plot.lines.push_back(deadlines.slots);
  return plot;
}

}  // namespace dunlin::bench
