#include "base/memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace dunlin {
namespace {

uint64_t limit_of_user(decltype(RLIMIT_AS) which) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

// Of this process's group (version 2) and those around it.
uint64_t limit_of_groups() {
  uint64_t least = UINT64_MAX;
  std::ifstream groups("/proc/self/cgroup");
  std::string group;
  while (std::getline(groups, group) && !group.starts_with("0::/")) continue;
  if (!group.starts_with("0::/")) return least;
  for (std::string path = group.substr(3);; path.resize(path.rfind('/'))) {
    std::ifstream file("/sys/fs/cgroup" + path + "/memory.max");
    uint64_t bytes = 0;
    if (file >> bytes) least = std::min(least, bytes);  // "max" is no number.
    if (path.find('/') == std::string::npos) return least;
  }
}

}  // namespace

size_t memory_share(size_t parts, size_t most) {
  const auto pages = static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
  const uint64_t machine = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t all = std::min({machine > 0 ? machine : UINT64_MAX, limit_of_user(RLIMIT_AS),
                                 limit_of_user(RLIMIT_DATA), limit_of_groups()});
  return static_cast<size_t>(std::min<uint64_t>(all / parts, most));
}

}  // namespace dunlin
