#include "worker/private_folder.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace dunlin {
namespace {

constexpr mode_t kMode = 0700;

void unlock_folders(const std::filesystem::path& path, int depth_max) {
  std::error_code ignored;
  if (depth_max == 0 || !std::filesystem::is_directory(symlink_status(path, ignored))) return;
  chmod(path.c_str(), kMode);
  auto entry = std::filesystem::directory_iterator(path, ignored);
  for (; !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    unlock_folders(entry->path(), depth_max - 1);
  }
}

// Of a folder that was just opened, or rewound.
bool is_empty(int folder) {
  std::array<char, 512> entries{};
  const long bytes = syscall(SYS_getdents64, folder, entries.data(), entries.size());
  if (bytes < 0) return false;
  for (size_t at = 0; at < static_cast<size_t>(bytes);) {
    const std::string_view name = &entries[at + offsetof(dirent64, d_name)];
    if (name != "." && name != "..") return false;
    uint16_t size = 0;
    std::memcpy(&size, &entries[at + offsetof(dirent64, d_reclen)], sizeof(size));
    at += size;
  }
  return true;
}

}  // namespace

bool remove_tree(const std::string& path) {
  std::error_code failed;
  std::filesystem::remove_all(path, failed);
  if (!failed) return true;
  unlock_folders(path, 100);
  std::filesystem::remove_all(path, failed);
  return !failed;
}

PrivateFolder::~PrivateFolder() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  remove_tree(path_);
}

// Times of change do not tell: a short task is over before the clock of a file system moves.
bool PrivateFolder::untouched() const {
  struct stat now = {};
  if (descriptor_ < 0 || lstat(path_.c_str(), &now) != 0) return false;
  if (now.st_ino != inode_ || now.st_mode != (S_IFDIR | kMode)) return false;
  return lseek(descriptor_, 0, SEEK_SET) == 0 && is_empty(descriptor_);
}

void PrivateFolder::tidy() {
  if (untouched()) return;
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  remove_tree(path_);
}

Result<void> PrivateFolder::ready() {
  struct stat now = {};
  if (descriptor_ >= 0 && lstat(path_.c_str(), &now) == 0 && now.st_ino == inode_) return {};
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  const auto failure = [this] {
    return Error{Code::unavailable,
                 fmt::format("cannot make the task's folder {}: {}", path_, std::strerror(errno))};
  };
  if (!remove_tree(path_) || mkdir(path_.c_str(), kMode) != 0) return failure();
  if (chmod(path_.c_str(), kMode) != 0) return failure();  // Whatever the umask says.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat made = {};
  if (descriptor_ < 0 || fstat(descriptor_, &made) != 0) return failure();
  inode_ = made.st_ino;
  return {};
}

}  // namespace dunlin
