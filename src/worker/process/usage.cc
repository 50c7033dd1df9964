#include "worker/process/usage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "worker/process/stamps.h"

namespace dunlin::worker {
namespace {

constexpr int64_t kFreshUs = 100'000;  // As old as a look may be.
constexpr size_t kFileMax = 4 << 20;
constexpr size_t kDepthMax = 64;  // Of folders.
constexpr uint64_t kEntriesMax = 200'000;

struct Stat {
  pid_t parent = 0;
  pid_t session = 0;
  uint64_t threads = 0;
  uint64_t pages = 0;
};

std::string read_whole(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < kFileMax) {
    const ssize_t count = read(file, piece.data(), piece.size());
    if (count <= 0) break;
    text.append(piece.data(), static_cast<size_t>(count));
  }
  close(file);
  return text;
}

// "PID (NAME) STATE PARENT GROUP SESSION ...", where the name may contain anything.
std::optional<Stat> read_stat(pid_t pid) {
  const std::string text = read_whole(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::string_view rest = std::string_view(text).substr(name_end + 1);
  Stat stat;
  // Numbers of fields as in proc(5); 3 is the state.
  for (int field = 3; field <= 24; ++field) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::string_view word = rest.substr(0, std::min(rest.find(' '), rest.size()));
    rest.remove_prefix(word.size());
    const auto read_into = [word](auto& number) {
      std::from_chars(word.data(), word.data() + word.size(), number);
    };
    if (field == 3 && word == "Z") return {};
    if (field == 4) read_into(stat.parent);
    if (field == 6) read_into(stat.session);
    if (field == 20) read_into(stat.threads);
    if (field == 24) read_into(stat.pages);
  }
  return stat;
}

std::unordered_map<pid_t, Stat> all_processes() {
  std::unordered_map<pid_t, Stat> all;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return all;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (const std::optional<Stat> stat = read_stat(pid)) all.emplace(pid, *stat);
  }
  closedir(folder);
  return all;
}

}  // namespace

void Census::begin(pid_t session, std::vector<std::string> marks) {
  const std::lock_guard lock(mutex_);
  tasks_[session].marks = std::move(marks);
}

void Census::end(pid_t session) {
  const std::lock_guard lock(mutex_);
  tasks_.erase(session);
}

Usage Census::of(pid_t session) {
  const std::lock_guard lock(mutex_);
  const int64_t now = monotonic_us();
  if (looked_us_ == 0 || now - looked_us_ > kFreshUs) {
    look();
    looked_us_ = monotonic_us();
  }
  const auto found = tasks_.find(session);
  return found == tasks_.end() ? Usage() : found->second.usage;
}

// 0: nobody's.
pid_t Census::task_of_orphan(pid_t pid) const {
  const std::string environment = '\0' + read_whole(fmt::format("/proc/{}/environ", pid));
  for (const auto& [session, task] : tasks_) {
    const bool all =
        std::all_of(task.marks.begin(), task.marks.end(), [&](const std::string& mark) {
          return environment.find('\0' + mark + '\0') != std::string::npos;
        });
    if (all && !task.marks.empty()) return session;
  }
  return 0;
}

void Census::look() {
  for (auto& [session, task] : tasks_) task.usage = {};
  const pid_t own = getpid();
  const auto page = static_cast<uint64_t>(getpagesize());
  const std::unordered_map<pid_t, Stat> all = all_processes();
  std::unordered_map<pid_t, pid_t> known;  // To which task a process belongs; 0: to none.
  std::vector<pid_t> way;
  for (const auto& [pid, stat] : all) {
    // Up to one of which it is known, or to an orphan, which is our child.
    pid_t task = 0;
    way.clear();
    for (pid_t at = pid;;) {
      const auto found = all.find(at);
      if (found == all.end() || at == own || way.size() > all.size()) break;
      way.push_back(at);
      if (const auto before = known.find(at); before != known.end()) {
        task = before->second;
      } else if (tasks_.contains(found->second.session)) {
        task = found->second.session;
      } else if (found->second.parent == own) {
        task = task_of_orphan(at);
      } else {
        at = found->second.parent;
        continue;
      }
      break;
    }
    for (const pid_t passed : way) known[passed] = task;
    if (task == 0) continue;
    Usage& usage = tasks_[task].usage;
    usage.procs += stat.threads;
    usage.memory += stat.pages * page;
    usage.pids.push_back(pid);
  }
}

uint64_t shared_memory_once(const std::vector<pid_t>& pids) {
  uint64_t bytes = 0;
  for (const pid_t pid : pids) {
    const std::string text = read_whole(fmt::format("/proc/{}/smaps_rollup", pid));
    const size_t at = text.find("\nPss:");
    if (at == std::string::npos) {  // One that does not let us look closer: all of it.
      const std::optional<Stat> stat = read_stat(pid);
      bytes += stat ? stat->pages * static_cast<uint64_t>(getpagesize()) : 0;
      continue;
    }
    const size_t number = std::min(text.find_first_of("0123456789", at), text.size());
    uint64_t kilobytes = 0;
    std::from_chars(text.data() + number, text.data() + text.size(), kilobytes);
    bytes += kilobytes << 10U;
  }
  return bytes;
}

// It never follows a link: what it walks over belongs to a task.
FolderUsage folder_usage(const std::string& path, uint64_t enough) {
  FolderUsage usage{.bytes = 0, .complete = true};
  std::vector<DIR*> way;
  std::set<std::pair<dev_t, ino_t>> linked;  // Files with several names count once.
  const auto enter = [&](int parent, const char* name) {
    const int folder =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR* stream = folder < 0 ? nullptr : fdopendir(folder);
    if (stream != nullptr) way.push_back(stream);
    const int error = errno;
    if (stream == nullptr && folder >= 0) close(folder);
    // It may be another kind of file by now, or gone; and what the worker lacks is not its fault.
    if (stream == nullptr && (error == EACCES || error == EPERM)) usage.complete = false;
  };
  enter(AT_FDCWD, path.c_str());
  for (uint64_t entries = 0; !way.empty();) {
    const dirent* entry = readdir(way.back());
    if (entry == nullptr || usage.bytes > enough || entries > kEntriesMax) {
      if (entry != nullptr && entries > kEntriesMax) usage.complete = false;
      closedir(way.back());
      way.pop_back();
      continue;
    }
    const std::string_view name = entry->d_name;
    struct stat found = {};
    if (name == "." || name == "..") continue;
    if (fstatat(dirfd(way.back()), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    ++entries;
    const bool is_folder = S_ISDIR(found.st_mode);
    if (!is_folder && found.st_nlink > 1 && !linked.emplace(found.st_dev, found.st_ino).second) {
      continue;
    }
    usage.bytes += static_cast<uint64_t>(found.st_blocks) * 512;
    if (!is_folder) continue;
    if (way.size() < kDepthMax) {
      enter(dirfd(way.back()), entry->d_name);
    } else {
      usage.complete = false;
    }
  }
  return usage;
}

}  // namespace dunlin::worker
