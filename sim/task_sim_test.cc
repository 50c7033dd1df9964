// Goal: whatever happens to workers, links and tasks, each task publishes exactly one outcome, no
// attempt number is used twice, at-most-once tasks start once, jobs end with the right counts, and
// nothing is left behind.
//
// Method: the real minds of workers in a simulated fleet (sim/task_world.h), faults for a while,
// then none. A failure is replayed with `SEED=n build/debug/sim_test --gtest_filter=TaskSim.*`.
#include <gtest/gtest.h>

#include "base/log.h"
#include "sim/seeds.h"
#include "sim/task_world.h"

namespace dunlin {
namespace {

TEST(TaskSim, EveryTaskPublishesOneOutcomeWhateverDies) {
  log::set_level(log::Level::error);
  for (const uint64_t seed : seeds(1000)) {
    SCOPED_TRACE("SEED=" + std::to_string(seed));
    const uint64_t first = TaskWorld(seed).run();
    if (HasFailure()) return;
    if (runs_twice(seed)) {
      EXPECT_EQ(first, TaskWorld(seed).run()) << "something escaped the seed";
    }
  }
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace dunlin
