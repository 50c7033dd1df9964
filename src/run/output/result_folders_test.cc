#include "run/output/result_folders.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "run/output/joblog.h"

namespace dunlin::run {
namespace {

std::vector<std::string> folders_of(const std::vector<std::string>& values) {
  ResultFolders folders;
  std::vector<std::string> found;
  for (size_t i = 0; i < values.size(); ++i) folders.add(i, results_folder({}, {values[i]}));
  for (size_t i = 0; i < values.size(); ++i) {
    found.push_back(folders.of(i, results_folder({}, {values[i]})));
  }
  return found;
}

using Names = std::vector<std::string>;

TEST(ResultFolders, TheFirstTaskWithAValueKeepsItsFolder) {
  EXPECT_EQ(folders_of({"a", "b"}), (Names{"1/a", "1/b"}));
  EXPECT_EQ(folders_of({"a", "a", "b", "a"}), (Names{"1/a", "1/a#2", "1/b", "1/a#4"}));
}

TEST(ResultFolders, NoTwoTasksHaveTheSameWhateverTheValues) {
  EXPECT_EQ(folders_of({"a", "a", "a#2"}), (Names{"1/a", "1/a#2", "1/a#2#3"}));
  EXPECT_EQ(folders_of({"a#3", "a", "a"}), (Names{"1/a#3", "1/a", "1/a#3#3"}));
  const std::string lengthy(1000, 'x');
  const Names found = folders_of({lengthy, lengthy, lengthy, ""});
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), 4U);
  for (const std::string& one : found) EXPECT_LE(one.size(), 2 + kResultsNameMax);
}

TEST(ResultFolders, ATaskThatWasNotAddedHasItsPlainFolder) {
  EXPECT_EQ(ResultFolders().of(7, "1/7"), "1/7");
}

}  // namespace
}  // namespace dunlin::run
