// TaScaaS's experiment, scaled down: five kinds of jobs with a deadline each, at once, on three
// unequal infrastructures that follow the advice on slots. run_deadlines() blocks until all jobs
// have ended, and starts processes: main thread. plot_deadlines() is pure.
#pragma once

#include <vector>

#include "base/result.h"
#include "bench/balance_job.h"
#include "bench/plot.h"
#include "bench/verbs.h"

namespace dunlin::bench {

struct Class {
  double limit_s = 0;
  Ran ran = {};
};

struct Deadlines {
  std::vector<Class> classes;
  Line slots;  // Of all infrastructures, over time.
};

Result<Deadlines> run_deadlines(const BalanceVerb& verb);

// Partitions that work and slots that there are, over time.
Plot plot_deadlines(const Deadlines& deadlines);

}  // namespace dunlin::bench
