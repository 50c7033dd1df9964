#include "worker/slots/left_workers.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <unistd.h>

#include "testing/temp_folder.h"

namespace dunlin::worker {
namespace {

namespace fs = std::filesystem;

TEST(LeftWorkers, OnlyFoldersOfThisHostThatNobodyHoldsAndNobodyNamedGo) {
  const TestFolder folder;
  const std::string& root = folder.path();
  for (const char* name : {"node-1-00ff", "node-2-00ff", "node-3-00ff", "node-4-00FF",
                           "node-x-0000", "node-1-00ff0", "node", "other-1-00ff", "w1"}) {
    fs::create_directories(root + "/" + name + "/1");
    std::ofstream(root + "/" + name + "/1/file") << "left";
  }
  const int held = open((root + "/node-2-00ff").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  remove_left_workers(root + "/node-3-00ff", "node");
  EXPECT_FALSE(fs::exists(root + "/node-1-00ff"));
  for (const char* name : {"node-2-00ff", "node-3-00ff", "node-4-00FF", "node-x-0000",
                           "node-1-00ff0", "node", "other-1-00ff", "w1"}) {
    EXPECT_TRUE(fs::exists(root + "/" + name + "/1/file")) << name;
  }
  close(held);
}

TEST(LeftWorkers, NoFolderIsNothingToRemove) {
  remove_left_workers("/no/such/folder/node-1-0000", "node");
}

}  // namespace
}  // namespace dunlin::worker
