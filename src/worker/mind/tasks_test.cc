#include "worker/mind/tasks.h"

#include <gtest/gtest.h>

namespace dunlin::worker {
namespace {

class TasksTest : public testing::Test {
 protected:
  void start(uint64_t held, uint64_t task) {
    tasks.start({.held = held, .task = task, .room = room.take({}, false), .since = {}},
                {.task = task});
  }
  static Ending ending(uint64_t ticket, std::string out_spool = "", std::string err_spool = "") {
    Ending ending;
    ending.ticket = ticket;
    ending.out_spool = std::move(out_spool);
    ending.err_spool = std::move(err_spool);
    return ending;
  }
  static std::string name(const char* which) { return std::string("blob/") + which; }

  Room room = Room(2, 0, 0);
  Tasks tasks;
};

TEST_F(TasksTest, EachStartHasItsOwnTicket) {
  start(1, 7);
  start(1, 8);
  const auto effects = tasks.take();
  ASSERT_EQ(effects.start.size(), 2U);
  EXPECT_NE(effects.start[0].ticket, effects.start[1].ticket);
  EXPECT_TRUE(tasks.take().start.empty());
}

TEST_F(TasksTest, ATaskThatIsDroppedBeforeAnybodyTookItNeverStarts) {
  start(1, 7);
  start(2, 8);
  tasks.drop_of(1);
  const auto effects = tasks.take();
  EXPECT_EQ(effects.drop.size(), 1U);
  ASSERT_EQ(effects.start.size(), 1U);
  EXPECT_EQ(effects.start[0].task, 8U);
  EXPECT_EQ(room.cpus_used(), 1U);
}

TEST_F(TasksTest, ATaskWithoutLargeOutputsHasEndedAtOnce) {
  start(1, 7);
  const auto ended = tasks.ended(ending(1), name);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->running.task, 7U);
  EXPECT_TRUE(tasks.empty());
}

TEST_F(TasksTest, ATaskHasEndedWhenBothOfItsOutputsAreStored) {
  start(1, 7);
  EXPECT_FALSE(tasks.ended(ending(1, "/out", "/err"), name));
  const auto effects = tasks.take();
  ASSERT_EQ(effects.uploads.size(), 2U);
  EXPECT_EQ(effects.uploads[1].blob, "blob/err");
  EXPECT_FALSE(tasks.uploaded(1, {}));
  const auto ended = tasks.uploaded(1, {});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->ending.outcome.out().where(), model::Output::BLOB);
  EXPECT_EQ(ended->ending.outcome.err().where(), model::Output::BLOB);
}

TEST_F(TasksTest, AnOutputThatCannotBeStoredIsSaidInTheOutcome) {
  start(1, 7);
  EXPECT_FALSE(tasks.ended(ending(1, "/out"), name));
  const auto ended = tasks.uploaded(1, Error{Code::full, "no space"});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->ending.outcome.why(), "its output could not be stored: no space");
}

TEST_F(TasksTest, AnUploadOfADroppedTaskIsForgotten) {
  start(1, 7);
  EXPECT_FALSE(tasks.ended(ending(1, "/out"), name));
  const auto dropped = tasks.drop_all();
  EXPECT_EQ(dropped.at(1), std::vector<uint64_t>{7});
  EXPECT_FALSE(tasks.uploaded(1, {}));
  EXPECT_EQ(room.cpus_used(), 0U);
  tasks.check();
}

}  // namespace
}  // namespace dunlin::worker
