#include "worker/slots/left_workers.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

#include "worker/slots/keeper.h"
#include "worker/slots/slots.h"

namespace dunlin::worker {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMost = 64;  // At once: the next worker removes others.

// HOST-PID-xxxx. Machines may share a home, and not its locks.
bool is_of(std::string_view host, std::string_view name) {
  if (!name.starts_with(host)) return false;
  name.remove_prefix(host.size());
  if (!name.starts_with('-')) return false;
  name.remove_prefix(1);
  const size_t dash = name.find('-');
  return dash != std::string_view::npos && dash > 0 &&
         name.substr(0, dash).find_first_not_of("0123456789") == std::string_view::npos &&
         name.substr(dash + 1).size() == 4 &&
         name.substr(dash + 1).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Their worker has ended, and what its tasks had started, too.
bool is_left(const std::string& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  const bool left = flock(file, LOCK_EX | LOCK_NB) == 0 && end_left_behind(folder).ok();
  close(file);
  return left;
}

}  // namespace

void remove_left_workers(const std::string& folder, const std::string& host) {
  std::error_code failed;
  std::vector<std::string> left;
  fs::directory_iterator entries(fs::path(folder).parent_path(), failed);
  for (; !failed && entries != fs::directory_iterator() && left.size() < kMost;
       entries.increment(failed)) {
    const fs::path& path = entries->path();
    if (path == folder || !is_of(host, path.filename().string())) continue;
    if (is_left(path.string())) left.push_back(path.string());
  }
  for (const std::string& one : left) remove_slots_folder(one);
}

}  // namespace dunlin::worker
