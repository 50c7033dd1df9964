// `dunlin bench` and its experiments. Each runs real processes on this machine and prints what it
// found beside what the papers say and beside limits measured in the same run. Each blocks for as
// long as it takes. Main thread, and none else when it begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/plot.h"
#include "bench/report.h"

namespace dunlin::bench {

struct Output {
  bool json = false;
  std::string csv = {};     // File; empty: none.
  std::string plot = {};    // SVG file; empty: none.
  std::string folder = {};  // For the hub's data; empty: where temporary files go.
};

// How fast no-op tasks go through a hub, by number of instances.
struct ThroughputVerb {
  Output output = {};
  std::string at = {};  // A store that is there; empty: a hub of its own.
  std::string token_file = {};
  std::vector<uint32_t> instances = {1, 2, 4};
  uint64_t tasks = 16'000;  // Of each instance.
  uint32_t clients = 2;
  uint32_t slots = 4;
  uint64_t batch = 0;
  uint64_t payload = 0;
  uint32_t rounds = 3;
  bool relaxed = false;
  bool ephemeral = false;
  bool embedded = false;
};
Result<int> run(const ThroughputVerb& verb);

// How long one task takes from submission to result.
struct LatencyVerb {
  Output output = {};
  uint64_t cycles = 2000;
};
Result<int> run(const LatencyVerb& verb);

// What part of the slots' time is spent in tasks.
struct EfficiencyVerb {
  Output output = {};
  std::vector<uint32_t> slots = {16, 64};
  std::vector<double> ms = {1, 16, 128};
  double seconds = 3;
  bool mixed = false;
  uint64_t seed = 1;
  bool ephemeral = false;
};
Result<int> run(const EfficiencyVerb& verb);

// What exactly once costs.
struct ConsistencyVerb {
  Output output = {};
  uint32_t instances = 1;
  uint64_t tasks = 16'000;
  uint32_t clients = 2;
  uint32_t slots = 4;
  uint32_t rounds = 5;
  double ms = 0;
  bool ephemeral = false;
};
Result<int> run(const ConsistencyVerb& verb);

// How fast processes are started.
struct ProcVerb {
  Output output = {};
  uint64_t tasks = 2000;
  uint32_t slots = 2;
  uint32_t rounds = 3;
};
Result<int> run(const ProcVerb& verb);

// Iterations that move between partitions, and deadlines.
struct BalanceVerb {
  Output output = {};
  uint32_t workers = 8;
  double speed = 2000;  // Iterations a second, of each.
  double seconds = 5;   // That all would take if nothing went wrong.
  bool no_deadlines = false;
};
Result<int> run(const BalanceVerb& verb);

// Prints the report and writes the files that were asked for; the exit code.
Result<int> deliver(const Output& output, const Report& report, const std::vector<Plot>& plots);
// A line about what is measured now, for whoever watches.
void say_now(const Output& output, const std::string& what);

}  // namespace dunlin::bench
