// Puts `dunlin bench ...` on the command line. The verb that was given runs while the line is
// parsed. Main thread.
#pragma once

#include <CLI/App.hpp>

#include "bench/balance_part.h"
#include "bench/instance.h"
#include "bench/verbs.h"

namespace dunlin::bench {

struct Verbs {
  ThroughputVerb throughput = {};
  LatencyVerb latency = {};
  EfficiencyVerb efficiency = {};
  ConsistencyVerb consistency = {};
  ProcVerb proc = {};
  BalanceVerb balance = {};
  InstanceOptions instance = {};
  PartOptions part = {};
};

// Adds the subcommands; they leave their exit code in `exit_code`. REQUIRES: all outlive the
// parsing.
void add_bench_command(CLI::App& app, Verbs& verbs, int& exit_code);

}  // namespace dunlin::bench
