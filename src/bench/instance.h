// One machine of a benchmark, as a process: clients and a worker, as in the papers' experiments.
// Started by a Fleet (bench/fleet.h), with which it speaks in lines:
//
//   instance  ready                 clients and worker are connected
//   fleet     go                    to all instances, as nearly at once as can be
//   instance  {"first":...}         when all its clients have all their results
//   fleet     end of input          the worker leaves and the process ends
//
// run() is all that such a process does; it starts a thread for each client and blocks until the
// end. Main thread. The other functions are pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/workload.h"

namespace dunlin::bench {

struct InstanceOptions {
  std::string at = {};
  std::string token_file = {};
  std::string folder = {};
  uint32_t clients = 2;  // None: a worker alone, which is ready and waits for the end of input.
  uint32_t slots = 4;
  uint32_t max_slots = 0;    // If there are more in the end than in the beginning, as advised;
  uint64_t scale_ms = 1000;  // then every so often.
  uint64_t hold_ms = 0;      // Of the worker's leases; 0: as any worker.
  Workload work = {};        // Of all clients together.
};

// What it tells the fleet. Times are of seconds_now().
struct InstanceResult {
  double first = 0;  // Just before the first submission.
  double last = 0;   // Just after the last result.
  uint64_t results = 0;
  uint64_t repeated = 0;  // Reported more than once, and counted once.
  uint64_t requests = 0;  // To services of AWS, or compatible ones.
};

// Both as one: from the earliest start to the latest end.
InstanceResult merge(const InstanceResult& one, const InstanceResult& other);

Result<int> run(const InstanceOptions& options);

// As words of a command line after `bench instance`, and back to what a line said.
std::vector<std::string> to_words(const InstanceOptions& options);
std::string to_line(const InstanceResult& result);
Result<InstanceResult> parse_result(const std::string& line);

}  // namespace dunlin::bench
