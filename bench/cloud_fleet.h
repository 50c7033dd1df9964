// Instances as in the papers, in simulated time: on each machine a worker (the real mind) and
// clients that submit arrays of no-ops and wait for every result. One run is a function of its
// options. One thread; several runs may go on in several.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "bench/cloud_cost.h"
#include "bench/cloud_model.h"
#include "bench/cloud_store.h"

namespace dunlin::bench {

struct FleetOptions {
  uint32_t instances = 1;
  uint32_t clients = 2;  // Of each instance.
  uint32_t slots = 4;
  uint64_t tasks = 16'000;  // Of each instance, in all rounds.
  uint64_t rounds = 1;      // A client's jobs, one after the other.
  CloudModel model = {};
  TaskCost cost = {};
  double seconds_max = 120;  // Of simulated time; what has not come back by then is not waited for.
  uint64_t seed = 1;
};

struct FleetResult {
  double seconds = 0;  // From the first submission to the last result, or until it was cut off.
  uint64_t results = 0;
  uint64_t repeated = 0;
  std::vector<double> round_ms;  // Of every job.
  SqsBill sqs;
  Meter writes{0};  // Of DynamoDB.
  Meter reads{0};
};

Result<FleetResult> simulate(const FleetOptions& options);

}  // namespace dunlin::bench
