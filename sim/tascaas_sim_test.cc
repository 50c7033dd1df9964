// Goal: however the requests of TaScaaS services interleave and whatever dies between them, a job
// file becomes one job, a turn of a partition goes to one infrastructure, only what is lost is
// handed out again, the advice counts what was handed out, and every job ends with all its
// iterations done and nothing left behind.
//
// Method: the code of src/tascaas in a simulated world (sim/tascaas_world.h), faults for a while,
// then none. A failure is replayed with `SEED=n build/debug/sim_test --gtest_filter=TascaasSim.*`.
#include <gtest/gtest.h>

#include "base/log.h"
#include "sim/seeds.h"
#include "sim/tascaas_world.h"

namespace dunlin {
namespace {

TEST(TascaasSim, EveryJobEndsWithAllItsIterationsWhoeverServesIt) {
  log::set_level(log::Level::error);
  const uint64_t errors = log::errors();
  for (const uint64_t seed : seeds(1000)) {
    SCOPED_TRACE("SEED=" + std::to_string(seed));
    const uint64_t first = TascaasWorld(seed).run();
    EXPECT_EQ(log::errors(), errors) << "an error was logged";
    if (HasFailure()) return;
    if (runs_twice(seed)) {
      EXPECT_EQ(first, TascaasWorld(seed).run()) << "something escaped the seed";
    }
  }
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace dunlin
