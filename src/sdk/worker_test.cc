#include "worker/mind/worker.h"

#include <gtest/gtest.h>

#include <dunlin/worker.h>

#include "base/env.h"

namespace dunlin::sdk {
namespace {

// The public header cannot include ours.
TEST(SdkWorker, HoldsItsTasksAsLongAsAnyOther) {
  EXPECT_EQ(Millis(sdk::WorkerOptions().hold), worker::WorkerOptions().hold);
}

}  // namespace
}  // namespace dunlin::sdk
