// How long one task takes from its submission to its result, stage by stage, beside what the
// machine itself takes.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "bench/bench_client.h"
#include "bench/fleet.h"
#include "bench/floors.h"
#include "bench/samples.h"
#include "bench/verbs.h"
#include "worker/process/stamps.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kParts = 5;  // The measurements take turns, so the machine's mood meets all.
constexpr size_t kMessageBytes = 140;  // About what a request or an answer has.
constexpr uint64_t kWarmUp = 20;
constexpr uint64_t kRepliesKept = 100;  // By the store, before they are removed between two cycles.

// The stages of a cycle by their stamps. `committed` is set by the worker as it sends the commit.
constexpr std::array<const char*, 5> kStages = {"created - received", "received - started", "ran",
                                                "ended - committed", "committed - returned"};

// Cycles through one hub.
struct Cycles {
  std::string durability;
  uint64_t count = 0;  // Warm-up included.
  std::vector<double> us;
  std::array<std::vector<double>, kStages.size()> stages_us;
};

Result<void> run_cycle(BenchClient& client, Cycles& cycles, bool counts) {
  WorkJob job = TRY(make_job({}, {}, "", 0, 1));
  const std::string id = client.next_id();
  if (cycles.count % kRepliesKept == 0) TRY(client.finish());
  const int64_t created = worker::wall_us();
  const double start = seconds_now();
  const model::Reply reply = TRY(client.round_trip(id, std::move(job)));
  const double took = 1e6 * (seconds_now() - start);
  const int64_t returned = worker::wall_us();
  Tally tally;
  tally.expect(id, 1);
  TRY(tally.add(reply));
  if (!tally.complete()) {
    return Error{Code::invalid, fmt::format("the reply of job {} has no outcome", id)};
  }
  ++cycles.count;
  if (!counts) return {};
  cycles.us.push_back(took);
  const model::Page& news = reply.parts(0).outcomes();
  const model::Outcome& outcome = news.outcomes(0);
  const int64_t started = outcome.received_us() + outcome.waited_us();
  const int64_t ended = started + static_cast<int64_t>(outcome.ran_us());
  const std::array<int64_t, kStages.size() + 1> stamps = {created, outcome.received_us(), started,
                                                          ended,   news.committed_us(),   returned};
  for (size_t i = 0; i < kStages.size(); ++i) {
    cycles.stages_us[i].push_back(static_cast<double>(stamps[i + 1] - stamps[i]));
  }
  return {};
}

// A hub with one worker, and a client that is connected to it.
struct Rig {
  Fleet fleet;
  std::unique_ptr<BenchClient> client;
  Cycles cycles;
};

Result<Rig> set_up(const LatencyVerb& verb, bool ephemeral) {
  Fleet::Options options;
  options.folder = verb.output.folder;
  options.ephemeral = ephemeral;
  options.each.clients = 0;
  options.each.slots = 1;
  Fleet fleet = TRY(Fleet::start(options));
  auto client = TRY(BenchClient::connect(fleet.hub().url(), fleet.hub().token_file()));
  Cycles cycles{.durability = ephemeral ? "none" : "synced", .us = {}, .stages_us = {}};
  for (uint64_t i = 0; i < kWarmUp; ++i) TRY(run_cycle(*client, cycles, false));
  return Rig{std::move(fleet), std::move(client), std::move(cycles)};
}

Fields fields_of(const std::string& what, const std::string& durability,
                 const std::vector<double>& samples) {
  return {{"what", what},
          {"durability", durability},
          {"n", uint64_t{samples.size()}},
          {"p50_us", Value(percentile(samples, 0.5), 1)},
          {"p90_us", Value(percentile(samples, 0.9), 1)},
          {"p99_us", Value(percentile(samples, 0.99), 1)}};
}

// At most 200 points are enough for the eye.
Line cdf(const std::string& name, std::vector<double> samples, bool dashed) {
  std::ranges::sort(samples);
  const size_t step = std::max<size_t>(1, samples.size() / 200);
  Line line{.name = name, .points = {}, .dashed = dashed, .marked = false};
  for (size_t i = 0; i < samples.size(); i += step) {
    line.points.push_back({std::max(samples[i], 1.0),
                           100 * static_cast<double>(i + 1) / static_cast<double>(samples.size())});
  }
  return line;
}

// What the machine itself takes.
struct Floors {
  std::vector<double> ping_us;
  std::vector<double> sync_us;
};

Report make_report(const Floors& floors, const Cycles& bare, const Cycles& synced,
                   double syncs_per_cycle) {
  Report report("latency");
  report.set("tasks", uint64_t{synced.us.size()});
  report.set("batch", uint64_t{1});
  report.set("payload", uint64_t{0});
  report.set("instances", uint64_t{1});
  report.add(fields_of("tcp ping-pong", "-", floors.ping_us));
  report.add(fields_of("fdatasync", "-", floors.sync_us));
  Fields row = fields_of("cycle", bare.durability, bare.us);
  const double ping = median(floors.ping_us);
  row.emplace_back("vs_ping", Value(median(bare.us) / ping, 2));
  report.add(std::move(row));
  row = fields_of("cycle", synced.durability, synced.us);
  const double less = median(synced.us) - syncs_per_cycle * median(floors.sync_us);
  row.emplace_back("syncs", Value(syncs_per_cycle, 2));
  row.emplace_back("less_syncs_us", Value(less, 1));
  report.add(std::move(row));
  for (const Cycles* cycles : {&bare, &synced}) {
    for (size_t i = 0; i < kStages.size(); ++i) {
      report.add(fields_of(kStages[i], cycles->durability, cycles->stages_us[i]));
    }
  }
  report.note("cycle: one client submits one no-op and waits for its result, then the next.");
  report.note("syncs: counted by the hub, a cycle. less_syncs_us: p50 without so many fdatasyncs.");
  report.note("vs_ping: p50 as a multiple of the ping-pong's p50.");
  report.note("committed is stamped as the commit is sent, so its sync is in the last stage.");
  report.note("The papers' means: CloudKon 23.5 ms, FlexQueue 95 ms (one instance).");
  return report;
}

Plot make_plot(const Floors& floors, const Cycles& bare, const Cycles& synced) {
  Plot plot{.title = "Submission to result, one at a time",
            .x = {"microseconds", true},
            .y = {"% of the cycles"},
            .lines = {}};
  plot.lines.push_back(cdf("cycle, synced", synced.us, false));
  plot.lines.push_back(cdf("cycle, nothing on disk", bare.us, false));
  for (size_t i = 0; i < kStages.size(); ++i) {
    plot.lines.push_back(cdf(kStages[i], synced.stages_us[i], false));
  }
  plot.lines.push_back(cdf("tcp ping-pong", floors.ping_us, true));
  plot.lines.push_back(cdf("fdatasync", floors.sync_us, true));
  return plot;
}

}  // namespace

Result<int> run(const LatencyVerb& verb) {
  Floors floors;
  Rig bare = TRY(set_up(verb, true));
  Rig synced = TRY(set_up(verb, false));
  const uint64_t cycles = std::max<uint64_t>(1, verb.cycles / kParts);
  SyncFloor disk = TRY(SyncFloor::open(synced.fleet.hub().folder(), cycles * kParts));
  for (uint64_t part = 0; part < kParts; ++part) {
    say_now(verb.output, fmt::format("part {} of {}", part + 1, kParts));
    std::ranges::copy(ping_pong_us(kMessageBytes, kMessageBytes, cycles),
                      std::back_inserter(floors.ping_us));
    for (uint64_t i = 0; i < cycles; ++i) TRY(run_cycle(*bare.client, bare.cycles, true));
    for (uint64_t i = 0; i < cycles; ++i) {
      TRY(run_cycle(*synced.client, synced.cycles, true));
      floors.sync_us.push_back(TRY(disk.sample_us()));  // From rest, as the hub's are.
    }
  }
  TRY(bare.fleet.stop());
  const auto syncs = static_cast<double>(TRY(synced.fleet.stop()));
  const double syncs_per_cycle = syncs / static_cast<double>(synced.cycles.count);
  return deliver(verb.output, make_report(floors, bare.cycles, synced.cycles, syncs_per_cycle),
                 {make_plot(floors, bare.cycles, synced.cycles)});
}

}  // namespace dunlin::bench
