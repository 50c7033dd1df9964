#include "bench/instance.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/waker.h"
#include "bench/bench_client.h"
#include "bench/samples.h"
#include "cli/output.h"
#include "stores/aws/http.h"
#include "stores/open.h"
#include "worker/agent.h"

namespace dunlin::bench {
namespace {

constexpr Millis kWait = Millis(5000);
constexpr int kWaitsMax = 12;  // In a row without a result, before we give up.

// A client and the jobs that it will submit.
struct Station {
  struct Prepared {
    std::string id;
    WorkJob job;
  };
  std::unique_ptr<BenchClient> client;
  std::vector<Prepared> jobs;
  Tally tally;
};

// A station for each client, with its share of the tasks. What a job consists of is made here,
// before the clock runs: that work is not ours to measure.
Result<std::vector<Station>> prepare(const InstanceOptions& options) {
  const Workload& work = options.work;
  const std::vector<double> lengths = lengths_ms(work);
  std::vector<Station> stations;
  for (uint32_t i = 0; i < options.clients; ++i) {
    Station& station = stations.emplace_back();
    station.client = TRY(BenchClient::connect(options.at, options.token_file));
    const uint64_t last = work.tasks * (i + 1) / options.clients;
    for (uint64_t first = work.tasks * i / options.clients; first < last;) {
      const uint64_t count = work.batch == 0 ? last - first : std::min(work.batch, last - first);
      const std::string id = station.client->next_id();
      station.jobs.push_back({id, TRY(make_job(work, lengths, id, first, count))});
      station.tally.expect(id, count);
      first += count;
    }
  }
  return stations;
}

Result<InstanceResult> run_station(Station& station) {
  InstanceResult result;
  Tally& tally = station.tally;
  result.first = seconds_now();
  for (Station::Prepared& one : station.jobs) {
    TRY(station.client->submit(one.id, std::move(one.job)));
  }
  for (int empty = 0; !tally.complete();) {
    const std::vector<model::Reply> replies = TRY(station.client->replies(kWait));
    for (const model::Reply& reply : replies) TRY(tally.add(reply));
    empty = replies.empty() ? empty + 1 : 0;
    if (empty == kWaitsMax) {
      return Error{Code::unavailable,
                   fmt::format("no results any more after {} of them", tally.counted())};
    }
  }
  result.last = seconds_now();
  result.results = tally.counted();
  result.repeated = tally.repeated();
  return result;
}

// All of them, each in a thread.
Result<InstanceResult> run_stations(std::vector<Station>& stations) {
  std::vector<Result<InstanceResult>> results(stations.size(), InstanceResult());
  {
    std::vector<std::jthread> threads;
    threads.reserve(stations.size());
    for (size_t i = 0; i < stations.size(); ++i) {
      threads.emplace_back([&, i] { results[i] = run_station(stations[i]); });
    }
  }
  InstanceResult all = TRY(results.front());
  for (size_t i = 1; i < results.size(); ++i) all = merge(all, TRY(results[i]));
  return all;
}

// Until the fleet has said a line; false: there will be none.
bool hear_line() {
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte == '\n') return true;
  }
  return false;
}

// Speaks with the fleet, beside the worker's loop.
Result<void> converse(const InstanceOptions& options) {
  std::vector<Station> stations = TRY(prepare(options));
  TRY(cli::print("ready\n"));
  if (!hear_line() || stations.empty()) return {};
  const uint64_t before = cloud::requests_sent().all();
  InstanceResult result = TRY(run_stations(stations));
  result.requests = cloud::requests_sent().all() - before;
  TRY(cli::print(to_line(result) + '\n'));
  while (hear_line()) {
  }
  return {};
}

Result<std::unique_ptr<worker::Agent>> start_worker(const InstanceOptions& options) {
  worker::AgentOptions agent;
  agent.worker.pid = static_cast<uint32_t>(getpid());
  agent.worker.id = fmt::format("bench-{}", agent.worker.pid);
  agent.worker.host = "bench";
  agent.worker.slots = options.slots;
  if (options.hold_ms != 0) agent.worker.hold = Millis(options.hold_ms);
  agent.worker.mem_bytes = UINT64_MAX;
  agent.worker.seed = random_seed();
  agent.slots.slots = std::max(options.slots, options.max_slots);
  if (options.max_slots > 0) agent.infrastructure = "bench";
  agent.scale_time = Millis(options.scale_ms);
  agent.slots.worker_id = agent.worker.id;
  agent.slots.folder = options.folder;
  stores::StoreAccess access =
      TRY(stores::open_access(options.at, {.token_file = options.token_file, .make = false}));
  agent.connect = access.connect;
  agent.worker.commit_rows = access.commit_rows;
  agent.worker.pace = access.pace;
  return worker::Agent::start(std::move(agent), std::move(access.async_store));
}

}  // namespace

Result<int> run(const InstanceOptions& options) {
  const std::unique_ptr<worker::Agent> agent = TRY(start_worker(options));
  Waker waker;
  std::atomic<bool> over = false;
  Result<void> conversed;
  std::jthread talker([&] {
    conversed = converse(options);
    over = true;
    waker.wake();
  });
  const Clock& clock = posix_clock();
  bool leaving = false;
  while (!agent->mind().gone()) {
    agent->turn(clock.now() + std::chrono::hours(1), leaving ? -1 : waker.descriptor());
    if (const auto failure = agent->mind().failure()) {
      _exit(report(*failure));  // The talker may wait for results that will not come.
    }
    if (leaving || !over) continue;
    leaving = true;
    agent->stop();
  }
  talker.join();
  TRY(conversed);
  return kExitDone;
}

std::vector<std::string> to_words(const InstanceOptions& options) {
  const Workload& work = options.work;
  return {"--at",         options.at,
          "--token-file", options.token_file,
          "--folder",     options.folder,
          "--clients",    std::to_string(options.clients),
          "--slots",      std::to_string(options.slots),
          "--max-slots",  std::to_string(options.max_slots),
          "--scale-ms",   std::to_string(options.scale_ms),
          "--hold-ms",    std::to_string(options.hold_ms),
          "--tasks",      std::to_string(work.tasks),
          "--batch",      std::to_string(work.batch),
          "--payload",    std::to_string(work.payload),
          "--delivery",   work.delivery,
          "--sleep-min",  fmt::format("{}", work.sleep_min_ms),
          "--sleep-max",  fmt::format("{}", work.sleep_max_ms),
          "--seed",       std::to_string(work.seed)};
}

InstanceResult merge(const InstanceResult& one, const InstanceResult& other) {
  return {.first = std::min(one.first, other.first),
          .last = std::max(one.last, other.last),
          .results = one.results + other.results,
          .repeated = one.repeated + other.repeated,
          .requests = one.requests + other.requests};
}

std::string to_line(const InstanceResult& result) {
  return nlohmann::json{{"first", result.first},
                        {"last", result.last},
                        {"results", result.results},
                        {"repeated", result.repeated},
                        {"requests", result.requests}}
      .dump();
}

Result<InstanceResult> parse_result(const std::string& line) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  for (const char* name : {"first", "last", "results", "repeated", "requests"}) {
    if (!object.is_object() || !object.contains(name) || !object[name].is_number()) {
      return Error{Code::corrupt, fmt::format("an instance said \"{}\"", line)};
    }
  }
  return InstanceResult{.first = object["first"],
                        .last = object["last"],
                        .results = object["results"],
                        .repeated = object["repeated"],
                        .requests = object["requests"]};
}

}  // namespace dunlin::bench
