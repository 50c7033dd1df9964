#include "worker/process/usage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>

#include "testing/temp_folder.h"

namespace dunlin::worker {
namespace {

class FolderUsageTest : public testing::Test {
 protected:
  FolderUsageTest() {
    std::filesystem::create_directories(root_ + "/a/b");
    std::ofstream(root_ + "/a/file") << std::string(1 << 20, 'x');
  }
  const TestFolder folder_;
  const std::string root_ = folder_.path();
};

constexpr uint64_t kPlenty = uint64_t{1} << 40U;

TEST_F(FolderUsageTest, AFileWithSeveralNamesCountsOnce) {
  const FolderUsage before = folder_usage(root_, kPlenty);
  EXPECT_TRUE(before.complete);
  EXPECT_GE(before.bytes, 1U << 20U);
  for (const char* name : {"/a/same", "/a/b/same", "/same"}) {
    std::filesystem::create_hard_link(root_ + "/a/file", root_ + name);
  }
  EXPECT_LT(folder_usage(root_, kPlenty).bytes, before.bytes + (1U << 19U));
}

TEST_F(FolderUsageTest, WhatTheWorkerLacksIsNotTheTasksFault) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const FolderUsage usage = folder_usage(root_, kPlenty);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(usage.complete);
  EXPECT_EQ(usage.bytes, 0U) << "there was no descriptor to look with";
}

TEST_F(FolderUsageTest, WhatIsTooDeepIsSaid) {
  std::string deep = root_;
  for (int i = 0; i < 70; ++i) deep += "/d";
  std::filesystem::create_directories(deep);
  EXPECT_FALSE(folder_usage(root_, kPlenty).complete);
}

}  // namespace
}  // namespace dunlin::worker
