// What a task costs the processor, measured on one core of this machine: bench/cloud charges it in
// simulated time.
#pragma once

#include "base/result.h"

namespace dunlin::bench {

struct TaskCost {
  double worker_us = 0;  // A no-op through a worker with its store, its reply included.
  double client_us = 0;  // Its result, read and counted.
};

Result<TaskCost> measure_cost();

}  // namespace dunlin::bench
