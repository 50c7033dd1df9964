#include <fstream>
#include <thread>

#include "bench/floors.h"
#include "bench/hub_process.h"
#include "bench/store_cases.h"

namespace dunlin::bench {
namespace {

std::unique_ptr<HubProcess> start_hub(const std::string& program, const std::string& folder,
                                      bool ephemeral) {
  auto hub = HubProcess::start(program, folder, ephemeral);
  if (!hub.ok()) fmt::print(stderr, "{}\n", hub.error().what);
  return std::move(hub).value();
}

std::unique_ptr<stores::HubStore> connect(const HubProcess& hub) {
  return connect_hub(hub.url(), hub.token_file()).value();
}

double through_hub(const HubProcess& hub, size_t threads, size_t total, size_t batch) {
  std::vector<std::thread> clients;
  clients.reserve(threads);
  const double start = seconds_now();
  for (size_t i = 0; i < threads; ++i) {
    clients.emplace_back([&, i] {
      auto store = connect(hub);
      cycle(*store, fmt::format("q{}", i), total / threads, batch);
    });
  }
  for (std::thread& client : clients) client.join();
  return static_cast<double>(total) / (seconds_now() - start);
}

template <typename Call>
double p50_us(int rounds, Call call) {
  std::vector<double> samples;
  for (int i = 0; i < rounds; ++i) {
    const double start = seconds_now();
    call();
    samples.push_back(1e6 * (seconds_now() - start));
  }
  return percentile(std::move(samples), 0.5);
}

void single_calls(Table& table, const std::string& program, const std::string& folder, bool quick) {
  const int rounds = quick ? 3'000 : 20'000;
  const auto hub = start_hub(program, folder, true);
  const auto store = connect(*hub);
  const Row row{"key", std::string(100, 'v'), kAnyVersion};
  CHECK(store->table().put("t", row).ok());
  const std::string key = "key";
  // The three take turns, so that a change of the machine's mood meets all of them.
  std::vector<double> get, put, bare;
  for (int i = 0; i < 5; ++i) {
    bare.push_back(median(ping_pong_us(140, 140, static_cast<size_t>(rounds / 5))));
    get.push_back(p50_us(rounds / 5, [&] { CHECK(store->table().get("t", {&key, 1}).ok()); }));
    put.push_back(p50_us(rounds / 5, [&] { CHECK(store->table().put("t", row).ok()); }));
  }
  const double floor = percentile(bare, 0.5);
  for (const auto& [name, samples] : {std::pair{"get", &get}, std::pair{"put", &put}}) {
    const double p50 = percentile(*samples, 0.5);
    const bool met = p50 <= 3 * floor;
    table.add({.what = fmt::format("hub: one {} at a time, p50", name),
               .batch = 1,
               .durability = "none",
               .payload = "100 B",
               .result = fmt::format("{:.1f} us", p50),
               .limit = fmt::format("TCP ping-pong {:.1f} us ({:.2f}x)", floor, p50 / floor),
               .verdict = verdict(met, "<= 3x"),
               .met = met});
  }
}

}  // namespace

double resident_mib(const std::string& process) {
  std::ifstream status("/proc/" + process + "/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

void hub(Table& table, const std::string& program, const std::string& folder, bool quick) {
  {
    const auto hub = start_hub(program, folder, false);
    for (const size_t batch : {size_t{1}, size_t{100}, size_t{1000}}) {
      const size_t total = (quick ? 200 : 1000) * batch;
      double best = 0;
      for (int round = 0; round < 3; ++round) {
        best = std::max(best, through_hub(*hub, 4, total, batch));
      }
      const bool met = batch != 1000 || best >= 200'000;
      table.add({.what = "hub: push+pull+finish, 4 clients",
                 .batch = batch,
                 .durability = "synced",
                 .payload = "100 B",
                 .result = rate(best),
                 .limit = "client and hub share the cores",
                 .verdict = batch == 1000 ? verdict(met, ">= 200 k/s") : "",
                 .met = met});
    }
  }
  single_calls(table, program, folder, quick);
}

void idle_workers(Table& table, const std::string& program, const std::string& folder, bool quick) {
  constexpr size_t kIdle = 5000;
  const size_t total = quick ? 200'000 : 1'000'000;
  const auto hub = start_hub(program, folder, false);
  const double empty = resident_mib(hub->pid());
  double before = 0;
  for (int i = 0; i < 3; ++i) before = std::max(before, through_hub(*hub, 4, total, 1000));

  // Each waits in a pull, as an idle worker does.
  std::vector<std::unique_ptr<stores::HubStore>> workers;
  for (size_t i = 0; i < kIdle; ++i) {
    workers.push_back(connect(*hub));
    workers.back()->post(Pull{.queue = fmt::format("work{}", i % 50),
                              .max = 1,
                              .hold = std::chrono::seconds(60),
                              .wait = kWaitMax});
  }
  CHECK(workers.back()->queue().depth("work0").ok());
  const double full = resident_mib(hub->pid());
  double after = 0;
  for (int i = 0; i < 3; ++i) after = std::max(after, through_hub(*hub, 4, total, 1000));
  const bool small = full - empty < 250;
  const bool fast = after >= 0.9 * before;
  table.add({.what = "hub: 5000 idle workers, memory",
             .batch = 1,
             .durability = "synced",
             .payload = "-",
             .result = fmt::format("{:.0f} MB", (full - empty) * 1.048576),
             .limit = fmt::format("empty hub {:.0f} MB", empty * 1.048576),
             .verdict = verdict(small, "< 250 MB"),
             .met = small});
  table.add({.what = "hub: 5000 idle workers, speed",
             .batch = 1000,
             .durability = "synced",
             .payload = "100 B",
             .result = rate(after),
             .limit = fmt::format("without them {} ({:.0f} %)", rate(before), 100 * after / before),
             .verdict = verdict(fast, ">= 90 %"),
             .met = fast});
}

}  // namespace dunlin::bench
