#include "run/output/joblog_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

#include "run/output/joblog.h"
#include "testing/temp_folder.h"

namespace dunlin::run {
namespace {

std::string line_of(uint64_t task) {
  return fmt::format("{}\t:\t17.000\techo {}\n", task + 1, task);
}

class JoblogFileTest : public testing::Test {
 protected:
  std::string path() const { return folder_ + "/log"; }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& bytes) const { std::ofstream(path(), std::ios::app) << bytes; }

  // Goes on after a kill: of tasks 0 to 2 it is not known whether they were logged.
  std::string go_on() {
    JoblogFile log;
    EXPECT_TRUE(log.open(path()).ok());
    EXPECT_TRUE(log.recover([](uint64_t task) -> Result<std::string> {
                     return task < 3 ? line_of(task) : std::string();
                   })
                    .ok());
    for (uint64_t task = 0; task < 3; ++task) EXPECT_TRUE(log.add(task, line_of(task)).ok());
    return text();
  }

  const TestFolder temp_;
  const std::string folder_ = temp_.path();
  const std::string head_ = std::string(kJoblogHeader);
  const std::string all_ = line_of(0) + line_of(1) + line_of(2);
};

TEST_F(JoblogFileTest, ANewOneGetsAHead) { EXPECT_EQ(go_on(), head_ + all_); }

TEST_F(JoblogFileTest, LinesThatAreThereAreNotWrittenAgain) {
  put(head_ + line_of(1));
  EXPECT_EQ(go_on(), head_ + line_of(1) + line_of(0) + line_of(2));
}

TEST_F(JoblogFileTest, AnotherRunDoesNotGoOnInALineThatWasCutOff) {
  put(head_ + "48\t:\t17.0");
  JoblogFile log;
  ASSERT_TRUE(log.open(path()).ok());
  ASSERT_TRUE(log.add(0, line_of(0)).ok());
  ASSERT_TRUE(log.add(1, line_of(1)).ok());
  EXPECT_EQ(text(), head_ + "48\t:\t17.0\n" + line_of(0) + line_of(1));
}

TEST_F(JoblogFileTest, ALineThatWasCutOffIsWrittenAgainWhole) {
  const std::string whole = line_of(1);
  for (size_t size = 1; size < whole.size(); ++size) {
    std::filesystem::remove(path());
    put(head_ + line_of(0) + whole.substr(0, size));
    EXPECT_EQ(go_on(), head_ + all_) << size;
  }
}

TEST_F(JoblogFileTest, AHeadThatWasCutOffIsWrittenAgain) {
  put(head_.substr(0, 7));
  EXPECT_EQ(go_on(), head_ + all_);
}

TEST_F(JoblogFileTest, WhatOthersWroteStays) {
  const std::string other = "1\t:\t16.000\techo of an earlier run\n9\t:\t1\tx\n";
  put(head_ + other + "no end");
  EXPECT_EQ(go_on(), head_ + other + "no end\n" + all_);
}

}  // namespace
}  // namespace dunlin::run
