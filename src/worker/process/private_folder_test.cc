#include "worker/process/private_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "testing/temp_folder.h"

namespace dunlin::worker {
namespace {

constexpr uid_t kTasks = 65534;
constexpr uid_t kOther = 12345;

class FolderOfAnotherUser : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }

  void make(const std::string& path, uid_t owner, mode_t mode) {
    std::filesystem::create_directory(path);
    std::ofstream(path + "/file") << "x";
    for (const std::string& one : {path, path + "/file"}) {
      ASSERT_EQ(chown(one.c_str(), owner, owner), 0) << one;
    }
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }

  TestFolder top;
  TaskUser user = {.name = "tasks", .uid = kTasks, .gid = kTasks, .home = "/", .shell = "/bin/sh"};
};

TEST_F(FolderOfAnotherUser, WhatItsTaskLockedAwayGoes) {
  PrivateFolder folder(top.path() + "/slot-0", user);
  ASSERT_TRUE(folder.ready().ok());
  std::string path = folder.path();
  for (int depth = 0; depth < 5; ++depth) {
    path += "/deep";
    make(path, kTasks, 0700);
  }
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  folder.tidy();
  EXPECT_TRUE(std::filesystem::is_empty(top.path()) ||
              std::filesystem::is_empty(top.path() + "/slot-0"));
  ASSERT_TRUE(folder.ready().ok());
  EXPECT_EQ(folder.path(), top.path() + "/slot-0");
}

// Who may write to a folder can move it into his own, but not remove what others keep in it.
TEST_F(FolderOfAnotherUser, WhatAThirdOneKeepsInAFolderThatWasMovedThereStays) {
  PrivateFolder folder(top.path() + "/slot-0", user);
  ASSERT_TRUE(folder.ready().ok());
  const std::string slot = folder.path();
  make(slot + "/mine", kTasks, 0700);
  for (const std::string& moved : {slot + "/moved", slot + "/mine/moved"}) {
    make(moved, kOther, 0777);
    make(moved + "/private", kOther, 0700);
  }
  folder.tidy();
  ASSERT_TRUE(folder.ready().ok());
  EXPECT_NE(folder.path(), slot) << "the next task gets another one";
  size_t kept = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(slot)) {
    const std::string name = entry.path().filename();
    if (name == "file" && entry.path().parent_path().filename() == "private") ++kept;
    if (name != "private" && name != "moved") continue;
    struct stat found = {};
    ASSERT_EQ(stat(entry.path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, name == "private" ? 0700U : 0777U);
  }
  EXPECT_EQ(kept, 2U);
}

}  // namespace
}  // namespace dunlin::worker
