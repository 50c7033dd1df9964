#include "worker/process/private_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace dunlin::worker {
namespace {

constexpr mode_t kMode = 0700;

constexpr int kNamesMax = 1000;  // Tries to find one that is free.

// What is in a folder, some of it at least if there is much.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
  if (stream == nullptr) {
    if (copy >= 0) close(copy);
    return names;
  }
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    names.emplace_back(name);
    if (names.size() == PrivateFolder::kLeftMost) break;
  }
  closedir(stream);
  return names;
}

bool remove_one(int folder, const std::string& name) {
  return unlinkat(folder, name.c_str(), 0) == 0 ||
         unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0;
}

// Whose folders may be emptied. What root would remove for a task must be what its user could
// remove, and who may write to a folder of somebody else can move it here: it stays, with what is
// in it.
class Owner {
 public:
  explicit Owner(int top) {
    struct stat found = {};
    if (geteuid() == 0 && fstat(top, &found) == 0 && found.st_uid != 0) user_ = found.st_uid;
  }
  bool has(int folder) const {
    struct stat found = {};
    return !user_ || (fstat(folder, &found) == 0 && found.st_uid == *user_);
  }

 private:
  std::optional<uid_t> user_;  // None: tasks have our rights.
};

// Of a folder, so that we may look into it and write to it. Where tasks are another user's, one of
// them may put a link in its place meanwhile, which is not followed.
void unlock(int parent, const std::string& name, const Owner& owner) {
  const int folder = openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  if (!owner.has(folder)) {
    close(folder);
    return;
  }
  const int failed = chmod(fmt::format("/proc/self/fd/{}", folder).c_str(), kMode);
  close(folder);
  // A worker that is not root may be kept from its own /proc; but then its tasks have its rights.
  // What stays locked is noticed when it cannot be removed.
  if (failed != 0 && geteuid() != 0) (void)!fchmodat(parent, name.c_str(), kMode, 0);
}

// Moves what is in a subfolder up, unless it can be removed at once.
bool lift(int top, const std::string& name, const Owner& owner, uint64_t& lifted) {
  unlock(top, name, owner);
  const int folder = openat(top, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return false;
  if (!owner.has(folder)) {
    close(folder);
    return false;
  }
  bool all = true;
  for (auto names = names_in(folder); all && !names.empty(); names = names_in(folder)) {
    for (const std::string& inside : names) {
      if (remove_one(folder, inside)) continue;
      unlock(folder, inside, owner);  // A folder that moves is written to.
      bool moved = false;
      for (int tries = 0; !moved && tries < kNamesMax; ++tries) {
        const std::string free = fmt::format("lifted-{}", ++lifted);
        moved = renameat(folder, inside.c_str(), top, free.c_str()) == 0;
      }
      all = all && moved;
    }
  }
  close(folder);
  return all && unlinkat(top, name.c_str(), AT_REMOVEDIR) == 0;
}

// Only one level is ever looked at, so it does not matter how deep a task has dug, nor how long the
// paths are, nor what it has locked.
bool empty_folder(int top) {
  const Owner owner(top);
  uint64_t lifted = 0;
  for (auto names = names_in(top); !names.empty(); names = names_in(top)) {
    for (const std::string& name : names) {
      if (!remove_one(top, name) && !lift(top, name, owner, lifted)) return false;
    }
  }
  return true;
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
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return errno == ENOENT;
  if (!S_ISDIR(found.st_mode)) return unlink(path.c_str()) == 0;
  if (rmdir(path.c_str()) == 0) return true;
  chmod(path.c_str(), kMode);
  const int top = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (top < 0) return false;
  const bool empty = empty_folder(top);
  close(top);
  return empty && rmdir(path.c_str()) == 0;
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

PrivateFolder::Left PrivateFolder::left() const {
  if (untouched()) return {};
  const int folder = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return {};
  const std::vector<std::string> names = names_in(folder);
  close(folder);
  if (names.empty()) return {};
  return {.count = names.size(), .name = *std::ranges::min_element(names)};
}

void PrivateFolder::tidy() {
  if (untouched()) return;
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  if (!remove_tree(path_)) move_on();
}

// What cannot be removed stays where it is: the next task gets a folder of another name.
void PrivateFolder::move_on() { path_ = fmt::format("{}.{}", first_path_, ++stuck_); }

Result<void> PrivateFolder::ready() {
  if (untouched()) return {};
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  const auto failure = [this] {
    return Error{Code::unavailable,
                 fmt::format("cannot make the task's folder {}: {}", path_, std::strerror(errno))};
  };
  if (!remove_tree(path_)) {
    Error error = failure();
    move_on();
    return error;
  }
  if (mkdir(path_.c_str(), kMode) != 0) {
    // Somebody may have cleaned up the folder that it is in.
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), failed);
    if (failed || mkdir(path_.c_str(), kMode) != 0) return failure();
  }
  if (chmod(path_.c_str(), kMode) != 0) return failure();  // Whatever the umask says.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat made = {};
  if (descriptor_ < 0 || fstat(descriptor_, &made) != 0) return failure();
  if (user_ && fchown(descriptor_, user_->uid, user_->gid) != 0) return failure();
  inode_ = made.st_ino;
  return {};
}

}  // namespace dunlin::worker
