// Iterations that move between partitions, against a static split and against what is possible; and
// deadlines, as in TaScaaS's experiment.

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/wait.h"
#include "bench/balance_deadlines.h"
#include "bench/balance_job.h"
#include "bench/balance_part.h"
#include "bench/fleet.h"
#include "bench/verbs.h"
#include "stores/open.h"

namespace dunlin::bench {
namespace {

constexpr Millis kHold = Millis(1500);
constexpr double kSlowFactor = 0.2;
constexpr size_t kWindow = 8;        // Looks over which a speed is the mean.
constexpr double kGiveUpTimes = 20;  // The ideal.

// How long it takes if nobody ever waits: those that survive do everything.
double ideal_s(uint64_t iterations, double speed, const std::vector<int>& pids,
               const std::vector<Slowed>& slowed) {
  constexpr double kStep = 0.001;
  double left = static_cast<double>(iterations);
  uint64_t steps = 0;
  for (; left > 0; ++steps) {
    const double at = static_cast<double>(steps) * kStep;
    for (const int pid : pids) left -= kStep * speed_at(speed, slowed, pid, at);
  }
  return static_cast<double>(steps) * kStep;
}

struct Trouble {
  bool slow = false;
  bool kill = false;
};

struct Row {
  std::string workers;
  double ideal = 0;
  Ran balanced;
  Ran fixed;
};

// A fleet of its own, so that a worker that is killed is missed by nobody else.
Result<std::pair<Ran, double>> run_one(const BalanceVerb& verb, const Trouble& trouble,
                                       bool balanced) {
  Fleet::Options options;
  options.folder = verb.output.folder;
  options.instances = verb.workers;
  options.each.clients = 0;
  options.each.slots = 1;
  options.each.hold_ms = static_cast<uint64_t>(kHold.count());
  Fleet fleet = TRY(Fleet::start(options));
  std::vector<int> pids = fleet.pids();
  std::vector<Slowed> slowed;
  const size_t slow = trouble.slow ? verb.workers * 3 / 8 : 0;
  for (size_t i = 0; i < slow; ++i) slowed.push_back({pids[i], kSlowFactor, verb.seconds / 5});
  const auto store =
      TRY(stores::open_store(fleet.hub().url(), {.token_file = fleet.hub().token_file()}));
  const PartOptions part{.speed = verb.speed,
                         .begin_ms = posix_clock().wall().time_since_epoch().count(),
                         .share = 0,
                         .slowed = to_text(slowed)};
  const auto iterations = static_cast<uint64_t>(verb.speed * verb.seconds) * uint64_t{verb.workers};
  const Shape shape{.iterations = iterations,
                    .partitions = verb.workers,
                    .most = verb.workers,
                    .balanced = balanced};
  Watched job(*store, spec_of(shape, part));
  TRY(job.begin());
  const Instant begun = posix_clock().now();
  const auto passed = [&begun] {
    return std::chrono::duration<double>(posix_clock().now() - begun).count();
  };
  bool killed = !trouble.kill;
  std::vector<int> left = pids;
  if (trouble.kill) left.pop_back();
  const double ideal = ideal_s(iterations, verb.speed, left, slowed);
  while (!TRY(job.look())) {
    if (!killed && passed() > verb.seconds / 3) {
      fleet.kill(verb.workers - 1);
      killed = true;
    }
    if (passed() > kGiveUpTimes * ideal) {
      return Error{Code::unavailable, "the job does not end: run it with --folder to look"};
    }
    wait_until(posix_clock().now() + kLookEvery, posix_clock());
  }
  TRY(fleet.stop());
  return std::pair(job.ran(), ideal);
}

Result<Row> compare(const BalanceVerb& verb, const std::string& workers, const Trouble& trouble) {
  say_now(verb.output, workers);
  auto [balanced, ideal] = TRY(run_one(verb, trouble, true));
  const auto [fixed, same] = TRY(run_one(verb, trouble, false));
  return Row{workers, ideal, std::move(balanced), fixed};
}

Report make_report(const BalanceVerb& verb, const std::vector<Row>& rows,
                   const std::vector<Class>& classes) {
  Report report("balance");
  report.set("workers", verb.workers);
  report.set("iterations/s", Value(verb.speed, 0));
  report.set("durability", "synced");
  report.set("span_ms", uint64_t{static_cast<uint64_t>(kSpan.count())});
  for (const Row& row : rows) {
    report.add({{"what", row.workers},
                {"ideal_s", Value(row.ideal, 2)},
                {"balanced_s", Value(row.balanced.seconds, 2)},
                {"static_s", Value(row.fixed.seconds, 2)},
                {"vs_ideal", Value(row.balanced.seconds / row.ideal, 3)},
                {"static_vs_ideal", Value(row.fixed.seconds / row.ideal, 3)}});
  }
  size_t met = 0;
  for (const Class& one : classes) {
    const bool in_time = one.ran.seconds <= one.limit_s;
    met += in_time ? 1 : 0;
    report.add({{"what", fmt::format("deadline {:.1f} s", one.limit_s)},
                {"balanced_s", Value(one.ran.seconds, 2)},
                {"partitions", uint64_t{one.ran.partitions}},
                {"met", in_time ? "yes" : "no"}});
  }
  report.note("ideal_s: all iterations at the speed of all workers that survive, from the start.");
  report.note("static: each partition does its part, and nothing moves.");
  if (!classes.empty()) {
    report.note(
        fmt::format("{} of {} deadlines were met: the paper's five classes, scaled, at once "
                    "on up to 16 slots, 8 of 0.8 and 4 of 0.6 of the speed.",
                    met, classes.size()));
  }
  report.note("The paper: up to 45 % shorter than a static split.");
  return report;
}

// The speed of each partition over time, of the last run.
Plot plot_speeds(const Ran& ran) {
  Plot plot{.title = "Speed of each partition",
            .x = {"seconds"},
            .y = {"iterations a second"},
            .lines = {}};
  std::map<size_t, Line> lines;
  for (size_t now = kWindow; now < ran.samples.size(); ++now) {
    const Sample& last = ran.samples[now];
    const Sample& first = ran.samples[now - kWindow];
    for (size_t i = 0; i < last.done.size(); ++i) {
      const uint64_t before = i < first.done.size() ? first.done[i] : 0;
      const uint64_t more = last.done[i] - std::min(last.done[i], before);  // It may lose some.
      Line& line = lines[i];
      line.name = fmt::format("partition {}", i);
      line.marked = false;
      line.points.push_back({last.at_s, static_cast<double>(more) / (last.at_s - first.at_s)});
    }
  }
  for (auto& [number, line] : lines) plot.lines.push_back(std::move(line));
  return plot;
}

}  // namespace

Result<int> run(const BalanceVerb& verb) {
  std::vector<Row> rows;
  rows.push_back(TRY(compare(verb, "equal workers", {})));
  rows.push_back(TRY(compare(verb, "3 of 8 slowed 5x", {.slow = true})));
  rows.push_back(TRY(compare(verb, "3 of 8 slowed 5x, 1 killed", {.slow = true, .kill = true})));
  std::vector<Plot> plots = {plot_speeds(rows.back().balanced)};
  Deadlines deadlines;
  if (!verb.no_deadlines) {
    deadlines = TRY(run_deadlines(verb));
    plots.push_back(plot_deadlines(deadlines));
  }
  return deliver(verb.output, make_report(verb, rows, deadlines.classes), plots);
}

}  // namespace dunlin::bench
