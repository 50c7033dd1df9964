#include "run/shown.h"

#include <gtest/gtest.h>

#include "model/keys.h"
#include "run/runner.h"
#include "testing/temp_folder.h"

namespace dunlin::run {
namespace {

class ShownTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = engine::open_file_store(folder_ + "/store");
    ASSERT_TRUE(opened.ok());
    store_ = std::move(opened).value();
  }
  void publish(uint64_t page, const std::vector<uint32_t>& offsets) {
    model::Page record;
    for (const uint32_t offset : offsets) {
      record.add_outcomes()->set_offset(offset);
      record.mutable_outcomes()->rbegin()->set_state(model::STATE_OK);
    }
    const std::vector<Write> writes = {
        Put{std::string(kPages), page_key(kRunId, page), record.SerializeAsString(), kAnyVersion}};
    ASSERT_TRUE(store_->commit(writes).ok());
  }
  std::vector<uint64_t> unshown(const Shown& shown) {
    std::vector<uint64_t> tasks;
    EXPECT_TRUE(
        shown.read_unshown(store_->table(), [&](uint64_t task) { tasks.push_back(task); }).ok());
    return tasks;
  }

  const TestFolder temp_;
  const std::string folder_ = temp_.path();
  std::unique_ptr<engine::FileStore> store_;
};

TEST_F(ShownTest, WhatHasAnOutcomeAndNoMarkWasNotShown) {
  publish(0, {0, 5, 255});
  publish(3, {1});
  Shown shown(1000);
  EXPECT_EQ(unshown(shown), (std::vector<uint64_t>{0, 5, 255, 769}));
  shown.add(5);
  shown.add(769);
  EXPECT_EQ(unshown(shown), (std::vector<uint64_t>{0, 255}));
}

TEST_F(ShownTest, MarksAreReadAgainAndBlobsGoAfterThem) {
  publish(0, {0, 1, 2});
  publish(2, {7});
  const std::string blob = "outputs-of-the-first";
  ASSERT_TRUE(
      store_->blobs()
          .put(blob, 3, [](uint64_t, size_t) -> Result<std::string> { return std::string("abc"); })
          .ok());
  bool synced = false;
  {
    Shown shown(600);
    Marker marker(store_->connect(), [&synced]() -> Result<void> {
      synced = true;
      return {};
    });
    shown.add(1);
    shown.add(2 * 256 + 7);
    marker.write(shown, {0, 2}, {blob});
    ASSERT_TRUE(marker.wait().ok());
    EXPECT_FALSE(marker.busy());
  }
  EXPECT_TRUE(synced);
  EXPECT_FALSE(store_->blobs().get(blob, 0, 10).ok());
  Shown again(600);
  ASSERT_TRUE(again.read(store_->table()).ok());
  EXPECT_TRUE(again.has(1));
  EXPECT_FALSE(again.has(0));
  EXPECT_EQ(unshown(again), (std::vector<uint64_t>{0, 2}));
}

TEST_F(ShownTest, WhatIsNotDurableIsNotMarked) {
  publish(0, {0, 1, 2});
  Shown shown(600);
  Marker marker(store_->connect(), []() -> Result<void> {
    return Error{Code::full, "the disk said no"};
  });
  shown.add(1);
  marker.write(shown, {0}, {});
  EXPECT_EQ(marker.wait().error().what, "the disk said no");
  Shown again(600);
  ASSERT_TRUE(again.read(store_->table()).ok());
  EXPECT_FALSE(again.has(1));
}

TEST_F(ShownTest, APageIsFullWhenAllOfItsTasksWereShown) {
  Shown shown(258);
  for (uint64_t task = 0; task < 257; ++task) shown.add(task);
  EXPECT_TRUE(shown.is_full(0));
  EXPECT_FALSE(shown.is_full(1));
  shown.add(257);
  EXPECT_TRUE(shown.is_full(1));
}

}  // namespace
}  // namespace dunlin::run
