// A client of the simulated fleet: bench/bench_client.h's requests, in simulated time. It submits a
// job, gathers all of its results from its reply queue, and goes on with the next.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_client.h"
#include "bench/cloud_store.h"

namespace dunlin::bench {

struct ClientOptions {
  std::string name;
  uint64_t tasks = 0;  // Of each job.
  uint64_t jobs = 1;
  double result_us = 0;  // Of processor time.
  uint64_t seed = 0;
};

class CloudClient {
 public:
  CloudClient(Timeline& timeline, CloudStore& store, ClientOptions options,
              std::function<void()> done);
  void begin();

  const std::optional<Error>& failure() const { return failure_; }
  const Tally& tally() const { return tally_; }
  const std::vector<double>& job_ms() const { return job_ms_; }

 private:
  void submit();
  void pull();
  void read(std::vector<Delivery>&& deliveries);
  void go_on();
  std::vector<Write> take_finishes();

  Timeline& timeline_;
  const ClientOptions options_;
  const std::function<void()> done_;
  Random random_;
  CloudSite site_;
  CloudLane lane_;
  Tally tally_;
  std::vector<Lease> read_;  // Replies that can be removed.
  std::vector<double> job_ms_;
  Micros submitted_ = 0;
  std::optional<Error> failure_;
};

}  // namespace dunlin::bench
