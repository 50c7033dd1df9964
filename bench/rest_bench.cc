// Measures the REST service in a durable hub: what a report costs and how many there can be, and a
// job with very many partitions. `bench/rest` builds and runs it.
#include <cstring>
#include <thread>

#include "base/env_posix.h"
#include "bench/child.h"
#include "bench/floors.h"
#include "bench/hub_process.h"
#include "bench/measure.h"
#include "stores/open.h"
#include "tascaas/dispatcher.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/tenants.h"
#include "testing/http_client.h"

namespace dunlin::bench {
namespace {

using nlohmann::json;

constexpr size_t kConnections = 8;
constexpr size_t kMore = 32;

// A hub with a REST service, and a tenant.
struct World {
  TempFolder folder;
  Child hub;
  std::unique_ptr<RequestStore> store;
  uint16_t port;
  std::string secret;
  tascaas::Tenant tenant;
};

Result<World> start(const std::string& program, bool ephemeral) {
  TempFolder folder = TRY(TempFolder::make(""));
  std::vector<std::string> words = {program,    "hub",         "--data", folder.path() + "/data",
                                    "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"};
  if (ephemeral) words.emplace_back("--ephemeral");
  Child hub = TRY(Child::start(words, {.in = "/dev/null", .err = folder.path() + "/hub.log"}));
  std::string url;
  std::string line;
  while (!line.starts_with("http on ")) {
    line = TRY(hub.line());
    if (line.starts_with("listening on ")) url = line.substr(std::strlen("listening on "));
  }
  const auto port = static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  auto store = TRY(stores::open_store(url, {.token_file = folder.path() + "/data/token"}));
  const WallTime now = posix_clock().wall();
  tascaas::TenantSettings settings;
  settings.max_partitions = tascaas::kPartitionsMax;
  std::string secret = TRY(tascaas::add_tenant(*store, "bench", settings, now));
  tascaas::Tenant tenant = TRY(tascaas::read_tenant(store->table(), "bench"));
  TRY(tascaas::put_text(*store, "bench", "input/data", "data", now));
  return World{std::move(folder), std::move(hub),   std::move(store), port,
               std::move(secret), std::move(tenant)};
}

// The id of a job with so many partitions; they wait.
std::string make_job(World& world, const std::string& name, size_t partitions) {
  const json file = {{"iterations", 100'000'000},
                     {"time", 1'000'000},
                     {"inputFile", "data"},
                     {"initWorkers", partitions}};
  const WallTime now = posix_clock().wall();
  CHECK(tascaas::put_text(*world.store, "bench", "input/" + name, file.dump(), now).ok());
  return tascaas::take_in(*world.store, world.tenant, now).value().at(0).job;
}

void say(HttpClient& client, const std::string& job, size_t partition, size_t step) {
  const std::string word = step == 0 ? fmt::format("/lb/{}/start?worker={}&dt=0", job, partition)
                                     : fmt::format("/lb/{}/report?worker={}&nIter={}&dt={}", job,
                                                   partition, 1000 * step, 2 * step);
  const HttpAnswer answer = client.get(word);
  CHECK(answer.status == 200 && answer.body.starts_with('0'));
}

// The same, and they are handed out.
std::string make_handed_job(World& world, const std::string& name, size_t partitions) {
  std::string job = make_job(world, name, partitions);
  const WallTime now = posix_clock().wall();
  const std::string infra =
      tascaas::register_infrastructure(*world.store, world.tenant, 1, 1, now).value();
  const auto handed = tascaas::hand_out(*world.store, world.tenant, infra, partitions, now);
  CHECK(handed.value().size() == partitions);
  return job;
}

// Milliseconds of each report, one after the other.
std::vector<double> one_by_one(World& world, const std::string& job, size_t reports) {
  HttpClient client(world.port);
  std::vector<double> times;
  for (size_t i = 0; i <= reports; ++i) {
    const double begin = seconds_now();
    say(client, job, 0, i);
    if (i > 0) times.push_back((seconds_now() - begin) * 1000);
  }
  return times;
}

// Reports a second of so many connections at once, each for a partition of a job of its own or of
// one job.
double at_once(World& world, const std::vector<std::string>& jobs, size_t reports) {
  std::vector<std::thread> threads;
  const double begin = seconds_now();
  for (size_t i = 0; i < jobs.size(); ++i) {
    threads.emplace_back([&, i] {
      HttpClient client(world.port);
      for (size_t step = 0; step < reports; ++step) say(client, jobs[i], i, step);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(jobs.size() * reports) / (seconds_now() - begin);
}

// Seconds until as many partitions as that are handed out, by a thousand.
double hand_out_all(World& world, size_t partitions) {
  const double begin = seconds_now();
  for (size_t i = 0; i < partitions / tascaas::kPartitionsMax; ++i) {
    make_job(world, fmt::format("many{}.config", i), tascaas::kPartitionsMax);
  }
  HttpClient client(world.port);
  const HttpAnswer enrolled = client.get(fmt::format(
      "/node/register?secret={}&slots={}&maxSlots={}", world.secret, partitions, partitions));
  const std::string id = json::parse(enrolled.body).at("id");
  size_t got = 0;  // Those of other jobs, too.
  while (true) {
    const json answer = json::parse(client.get("/node/" + id + "/jobs?slots=1000").body);
    if (!answer.contains("configs")) break;
    got += answer.at("configs").size();
  }
  CHECK(got >= partitions);
  return seconds_now() - begin;
}

void measure(const std::string& program, bool ephemeral, bool quick, Table& table) {
  World world = start(program, ephemeral).value();
  const std::string durability = ephemeral ? "none" : "synced";
  const size_t reports = quick ? 500 : 5000;
  auto floor = SyncFloor::open(world.folder.path(), 200).value();
  std::vector<double> syncs;
  syncs.reserve(200);
  for (int i = 0; i < 200; ++i) syncs.push_back(floor.sample_us().value() / 1000);
  const std::string limit = fmt::format("a write and fdatasync {:.3f} ms", median(syncs));

  const std::vector<double> times =
      one_by_one(world, make_handed_job(world, "one.config", 1), reports);
  const double own_ms = median(times) - (ephemeral ? 0 : median(syncs));
  table.add({.what = "report, one by one",
             .durability = durability,
             .payload = "-",
             .result = fmt::format("{:.3f} ms", median(times)),
             .limit = limit,
             .verdict = verdict(own_ms < 1, "below 1 ms, without the sync"),
             .met = own_ms < 1});

  std::vector<std::string> own;
  for (size_t i = 0; i < kMore; ++i) {
    own.push_back(make_handed_job(world, fmt::format("own{}.config", i), kMore));
  }
  const double more = at_once(world, own, reports / 8);
  table.add({.what = "reports, 32 connections, 32 jobs",
             .durability = durability,
             .payload = "-",
             .result = fmt::format("{:.0f}/s", more),
             .limit = limit,
             .verdict = verdict(more >= 2000, "2,000/s"),
             .met = more >= 2000});
  own.clear();
  for (size_t i = 0; i < kConnections; ++i) {
    own.push_back(make_handed_job(world, fmt::format("few{}.config", i), kConnections));
  }
  const double apart = at_once(world, own, reports / 2);
  table.add({.what = "reports, 8 connections, 8 jobs",
             .durability = durability,
             .payload = "-",
             .result = fmt::format("{:.0f}/s", apart),
             .limit = limit,
             .verdict = "-"});
  const std::vector<std::string> shared(kConnections, make_handed_job(world, "shared.config", 8));
  table.add({.what = "reports, 8 connections, one job",
             .durability = durability,
             .payload = "-",
             .result = fmt::format("{:.0f}/s", at_once(world, shared, reports / 4)),
             .limit = limit,
             .verdict = "-"});

  const double took = hand_out_all(world, 10'000);
  table.add({.what = "10,000 partitions made, handed out",
             .batch = 1000,
             .durability = durability,
             .payload = "-",
             .result = fmt::format("{:.2f} s", took),
             .limit = limit,
             .verdict = verdict(true, "all of them")});
  const std::vector<double> large =
      one_by_one(world, make_handed_job(world, "large.config", 1000), reports / 10);
  table.add({.what = "report, job of 1,000 partitions",
             .durability = durability,
             .payload = "-",
             .result = fmt::format("{:.3f} ms", median(large)),
             .limit = limit,
             .verdict = "-"});
}

int run(int argc, char** argv) {
  bool quick = false;
  bool as_json = false;
  std::string program = "dunlin";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") quick = true;
    if (word == "--json") as_json = true;
    if (word.starts_with("--dunlin=")) program = word.substr(std::strlen("--dunlin="));
  }
  Table table(as_json);
  measure(program, false, quick, table);
  measure(program, true, quick, table);
  return table.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace dunlin::bench

int main(int argc, char** argv) {
  try {
    return dunlin::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
