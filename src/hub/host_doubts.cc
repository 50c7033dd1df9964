#include "hub/host_doubts.h"

#include <fmt/format.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace dunlin::hub {
namespace {

std::optional<mode_t> mode_of(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return {};
  return found.st_mode & 0777U;
}

}  // namespace

std::vector<std::string> doubts_about_host(const std::string& data_folder) {
  std::vector<std::string> doubts;
  if (geteuid() == 0) {
    doubts.emplace_back(
        "the hub runs as root, which it does not need: give it a user of its own, like "
        "packaging/systemd/dunlin-hub.service");
  }
  const std::optional<mode_t> folder = mode_of(data_folder);
  if (folder && (*folder & 0077U) != 0) {
    doubts.push_back(
        fmt::format("other users of this machine can enter the data folder {} (mode {:04o}): run "
                    "`chmod 700 {}`",
                    data_folder, *folder, data_folder));
  }
  return doubts;
}

}  // namespace dunlin::hub
