#include "hub/host_doubts.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include "testing/temp_folder.h"

namespace dunlin::hub {
namespace {

std::string doubts(const std::string& folder) {
  std::string all;
  for (const std::string& doubt : doubts_about_host(folder)) all += doubt + "\n";
  return all;
}

TEST(HostDoubts, AreAboutFoldersThatOthersCanEnter) {
  const TestFolder folder;
  chmod(folder.path().c_str(), 0700);
  const std::string always = doubts(folder.path());
  EXPECT_EQ(always.find("runs as root") != std::string::npos, geteuid() == 0);
  EXPECT_EQ(always.find("chmod"), std::string::npos) << always;
  EXPECT_EQ(doubts(folder.path() + "/missing"), always);
  chmod(folder.path().c_str(), 0750);
  EXPECT_NE(doubts(folder.path()).find("(mode 0750): run `chmod 700 " + folder.path()),
            std::string::npos);
}

}  // namespace
}  // namespace dunlin::hub
