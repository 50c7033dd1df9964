#include "worker/mind/room.h"

#include <gtest/gtest.h>

#include <optional>

namespace dunlin::worker {
namespace {

model::Requirements needs(uint32_t cpus, uint64_t mem_bytes = 0, uint32_t gpus = 0) {
  model::Requirements needs;
  needs.set_cpus(cpus);
  needs.set_mem_bytes(mem_bytes);
  needs.set_gpus(gpus);
  return needs;
}

TEST(Room, AGrantGivesBackWhatItHas) {
  Room room(4, 100, 2);
  {
    const Room::Grant grant = room.take(needs(3, 60, 1), false);
    EXPECT_EQ(room.cpus_used(), 3U);
    EXPECT_EQ(room.mem_used(), 60U);
    EXPECT_EQ(room.gpus_used(), 1U);
    EXPECT_EQ(room.heavy(), 1U);
    EXPECT_FALSE(room.fits(needs(2), false));
    EXPECT_FALSE(room.fits(needs(1, 50), false));
    EXPECT_FALSE(room.fits(needs(1, 0, 2), false));
  }
  EXPECT_EQ(room.cpus_used() + room.mem_used() + room.gpus_used() + room.heavy(), 0U);
}

TEST(Room, AGrantThatMovesIsGivenBackOnce) {
  Room room(4, 0, 0);
  Room::Grant first = room.take(needs(2), false);
  Room::Grant second = std::move(first);
  first = room.take(needs(1), false);
  EXPECT_EQ(room.cpus_used(), 3U);
  second = {};
  EXPECT_EQ(room.cpus_used(), 1U);
  first = {};
  EXPECT_EQ(room.cpus_used(), 0U);
}

TEST(Room, NoGpuIsGivenOutTwice) {
  Room room(4, 0, 2);
  std::optional<Room::Grant> first = room.take(needs(1, 0, 1), false);
  const Room::Grant second = room.take(needs(1, 0, 1), false);
  EXPECT_NE(first->gpus(), second.gpus());
  const std::vector<uint32_t> gpus = first->gpus();
  first.reset();
  EXPECT_EQ(room.take(needs(1, 0, 1), false).gpus(), gpus);
}

TEST(Room, SmallTasksWaitInFrontOfTheSlotsUnlessALargeOneRuns) {
  Room room(2, 0, 0);
  std::vector<Room::Grant> grants;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(room.fits(needs(1), false));
    grants.push_back(room.take(needs(1), false));
  }
  grants.clear();
  const Room::Grant large = room.take(needs(2), false);
  EXPECT_FALSE(room.fits(needs(1), false));
}

TEST(Room, ATaskThatNeedsMoreThanThereIsNowRunsAlone) {
  Room room(4, 0, 0);
  room.set_slots(2);
  EXPECT_TRUE(room.fits(needs(3), false));
  const Room::Grant grant = room.take(needs(1), false);
  EXPECT_FALSE(room.fits(needs(3), false));
}

TEST(Room, DoubtfulTasksRunOneAtATime) {
  Room room(4, 0, 0);
  const Room::Grant grant = room.take(needs(1), true);
  EXPECT_FALSE(room.fits(needs(1), true));
  EXPECT_TRUE(room.fits(needs(1), false));
}

TEST(Room, LargeAndDoubtfulTasksWaitForClaims) {
  Room room(4, 0, 0);
  Room::Claim claim = room.claim();
  EXPECT_FALSE(room.fits(needs(2), false));
  EXPECT_FALSE(room.fits(needs(1), true));
  EXPECT_TRUE(room.fits(needs(1), false));
  Room::Claim moved = std::move(claim);
  EXPECT_EQ(room.claimed(), 1U);
  moved.release();
  EXPECT_EQ(room.claimed(), 0U);
  EXPECT_TRUE(room.fits(needs(2), false));
}

}  // namespace
}  // namespace dunlin::worker
