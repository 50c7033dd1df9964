#include "base/folder_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "testing/temp_folder.h"

namespace dunlin {
namespace {

class FolderMarks : public testing::Test {
 protected:
  FolderMarks() {
    std::filesystem::create_directories(root_ + "/a");
    std::filesystem::create_directories(root_ + "/b");
  }
  const TestFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(FolderMarks, AFolderHasTheSameMarksBySeveralPaths) {
  const auto marks = folder_marks(root_ + "/a");
  EXPECT_GE(marks.size(), 1U);
  EXPECT_EQ(marks, folder_marks(root_ + "/a"));
  EXPECT_EQ(marks, folder_marks(root_ + "/b/../a/."));
  for (const std::string& mark : marks) EXPECT_EQ(mark.size(), 16U);
}

TEST_F(FolderMarks, TwoFoldersHaveNoMarkInCommon) {
  const auto marks = folder_marks(root_ + "/a");
  for (const std::string& other : folder_marks(root_ + "/b")) {
    EXPECT_EQ(std::ranges::count(marks, other), 0);
  }
}

TEST_F(FolderMarks, AFolderThatIsMadeAnewIsAnotherOne) {
  const auto marks = folder_marks(root_ + "/a");
  std::filesystem::rename(root_ + "/a", root_ + "/c");
  std::filesystem::create_directories(root_ + "/a");
  for (const std::string& other : folder_marks(root_ + "/a")) {
    EXPECT_EQ(std::ranges::count(marks, other), 0);
  }
}

TEST_F(FolderMarks, WhatIsNoFolderHasNone) {
  EXPECT_TRUE(folder_marks(root_ + "/none").empty());
  EXPECT_TRUE(folder_marks("/etc/passwd").empty());
  EXPECT_TRUE(folder_marks("").empty());
}

}  // namespace
}  // namespace dunlin
