#include "bench/cloud_fleet.h"

#include <fmt/format.h>
#include <memory>

#include "base/check.h"
#include "bench/cloud_client.h"
#include "bench/cloud_worker.h"
#include "bench/workload.h"
#include "model/keys.h"
#include "stores/aws/dynamo_table.h"

namespace dunlin::bench {
namespace {

constexpr Micros kSecond = 1'000'000;
constexpr Micros kStart = 10 * kSecond;  // Of the clients: all workers wait for work by then.

class CloudFleet {
 public:
  explicit CloudFleet(const FleetOptions& options)
      : options_(options), random_(options.seed), store_(timeline_, options.model, random_.next()) {
    const model::Route route = route_of(make_job({}, {}, "id", 0, 1).value().spec);
    const Put put{std::string(kRoutes), queue_of(route), route.SerializeAsString(), 0};
    CHECK(std::holds_alternative<Committed>(store_.ask_now(Commit{0, {put}})));
    for (uint32_t i = 0; i < options_.instances; ++i) add_instance(i);
    timeline_.at(kStart, [this] { store_.forget_bill(); });
    for (const auto& client : clients_) {
      timeline_.at(kStart, [&one = *client] { one.begin(); });
    }
  }

  Result<FleetResult> run() {
    Micros checked = 0;
    const Micros end = kStart + static_cast<Micros>(options_.seconds_max * kSecond);
    while (done_ < clients_.size() && timeline_.now() < end) {
      if (!timeline_.step()) return Error{Code::unavailable, "nothing happens any more"};
      if (timeline_.now() < checked + kSecond) continue;
      checked = timeline_.now();
      TRY(look_for_failures());
    }
    TRY(look_for_failures());
    return result();
  }

 private:
  void add_instance(uint32_t number) {
    worker::WorkerOptions options;
    options.id = fmt::format("cloud-{:04}", number);
    options.host = "cloud";
    options.slots = options_.slots;
    options.mem_bytes = UINT64_MAX;
    options.commit_rows = cloud::kCloudWritesMax;
    options.pace = cloud::kCloudPace;
    options.seed = random_.next();
    workers_.push_back(std::make_unique<CloudWorker>(timeline_, store_, std::move(options),
                                                     options_.cost.worker_us));
    timeline_.after(static_cast<Micros>(random_.below(kSecond)),
                    [&one = *workers_.back()] { one.begin(); });
    for (uint32_t i = 0; i < options_.clients; ++i) {
      const uint64_t jobs = options_.rounds;
      const uint64_t share =
          options_.tasks * (i + 1) / options_.clients - options_.tasks * i / options_.clients;
      clients_.push_back(
          std::make_unique<CloudClient>(timeline_, store_,
                                        ClientOptions{.name = fmt::format("c{:04}-{}", number, i),
                                                      .tasks = share / jobs,
                                                      .jobs = jobs,
                                                      .result_us = options_.cost.client_us,
                                                      .seed = random_.next()},
                                        [this] { ++done_; }));
    }
  }

  Result<void> look_for_failures() const {
    for (const auto& worker : workers_) {
      if (worker->failure()) return *worker->failure();
    }
    for (const auto& client : clients_) {
      if (client->failure()) return *client->failure();
    }
    return {};
  }

  FleetResult result() const {
    FleetResult result;
    result.seconds = static_cast<double>(timeline_.now() - kStart) / kSecond;
    for (const auto& client : clients_) {
      result.results += client->tally().counted();
      result.repeated += client->tally().repeated();
      result.round_ms.insert(result.round_ms.end(), client->job_ms().begin(),
                             client->job_ms().end());
    }
    result.sqs = store_.sqs();
    result.writes = store_.writes();
    result.reads = store_.reads();
    return result;
  }

  const FleetOptions options_;
  Timeline timeline_;
  Random random_;
  CloudStore store_;
  std::vector<std::unique_ptr<CloudWorker>> workers_;
  std::vector<std::unique_ptr<CloudClient>> clients_;
  size_t done_ = 0;
};

}  // namespace

Result<FleetResult> simulate(const FleetOptions& options) {
  const auto fleet = std::make_unique<CloudFleet>(options);
  return fleet->run();
}

}  // namespace dunlin::bench
