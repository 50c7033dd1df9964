#include "worker/slots/slot_advisor.h"

#include <gtest/gtest.h>

#include <poll.h>

#include "base/env_posix.h"
#include "store/memory.h"
#include "tascaas/dispatcher.h"

namespace dunlin::worker {
namespace {

class SlotAdvisors : public testing::Test {
 protected:
  static constexpr int kPatienceMs = 60'000;

  std::unique_ptr<Core> core = memory_core();
  uint64_t connected = 0;
  SlotAdvisor advisor{[this]() -> Result<std::unique_ptr<RequestStore>> { return connect(); },
                      {"lab/w1", 2, 8, std::chrono::minutes(5)}};

  std::unique_ptr<RequestStore> connect() { return core_store(*core, posix_clock(), ++connected); }

  // Asks, and waits for the answer.
  std::optional<uint32_t> ask(uint64_t begun) {
    advisor.ask(begun);
    EXPECT_EQ(advisor.due(), Instant::max());
    pollfd answer{.fd = advisor.descriptor(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&answer, 1, kPatienceMs), 1);
    return advisor.take(posix_clock().now());
  }
  balance::Dispatch dispatch() {
    const auto store = connect();
    return tascaas::read_dispatch(store->table(), "", posix_clock().wall()).value();
  }
};

TEST_F(SlotAdvisors, SaysThatItIsThereAndWhatItHasBegunSince) {
  EXPECT_LE(advisor.due(), posix_clock().now());
  EXPECT_EQ(ask(6), std::nullopt) << "there is no advice yet";
  EXPECT_GT(advisor.due(), posix_clock().now());
  ASSERT_EQ(dispatch().infrastructures.size(), 1U);
  EXPECT_EQ(dispatch().infrastructures[0].slots, 2U);
  EXPECT_EQ(dispatch().infrastructures[0].max_slots, 8U);
  EXPECT_EQ(dispatch().dispatched, 6U);
  ask(10);
  EXPECT_EQ(dispatch().dispatched, 10U);
}

TEST_F(SlotAdvisors, TasksThatWereGivenBackAreNotBegun) {
  ask(6);
  ask(1);
  EXPECT_EQ(dispatch().dispatched, 6U);
  ask(3);
  EXPECT_EQ(dispatch().dispatched, 8U);
}

TEST_F(SlotAdvisors, LeavesTheList) {
  ask(0);
  advisor.leave();
  EXPECT_TRUE(dispatch().infrastructures.empty());
}

}  // namespace
}  // namespace dunlin::worker
