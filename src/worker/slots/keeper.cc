#include "worker/slots/keeper.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <string_view>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env_posix.h"
#include "base/text.h"

namespace dunlin::worker {
namespace {

constexpr int kRoundMs = 10;
constexpr int kRoundsMax = 500;  // Five seconds, unless the machine is very busy.
constexpr size_t kMarkMax = 128;
constexpr size_t kEnvironmentMax = 8 << 20;

// From here to keep() nothing may take memory or a lock: the keeper is forked from a process with
// threads.

// The number that all of `text` is; 0 if it is none.
pid_t number_of(const char* text) {
  pid_t number = 0;
  for (; *text >= '0' && *text <= '9' && number < 100'000'000; ++text) {
    number = number * 10 + (*text - '0');
  }
  return *text == '\0' ? number : 0;
}

// "/proc/PID/environ"
void write_path(pid_t pid, std::array<char, 32>& path) {
  std::array<char, 12> digits{};
  size_t count = 0;
  for (; pid > 0; pid /= 10) digits[count++] = static_cast<char>('0' + pid % 10);
  char* at = stpcpy(path.data(), "/proc/");
  while (count > 0) *at++ = digits[--count];
  stpcpy(at, "/environ");
}

// Whether a variable in the environment of the process begins like this.
bool has_mark(pid_t pid, std::string_view mark) {
  std::array<char, 32> path{};
  write_path(pid, path);
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, kMarkMax + 1> wanted{};  // A NUL, and the mark.
  std::memcpy(wanted.data() + 1, mark.data(), mark.size());
  const size_t wanted_size = mark.size() + 1;
  std::array<char, 16 << 10> text{};
  size_t size = 1;  // A NUL stands before the first one, too.
  bool found = false;
  for (size_t total = 0; !found && total < kEnvironmentMax;) {
    const ssize_t count = read(file, text.data() + size, text.size() - size);
    if (count <= 0) break;
    total += static_cast<size_t>(count);
    size += static_cast<size_t>(count);
    found = memmem(text.data(), size, wanted.data(), wanted_size) != nullptr;
    const size_t kept = size < wanted_size ? size : wanted_size;
    std::memmove(text.data(), text.data() + size - kept, kept);
    size = kept;
  }
  close(file);
  return found;
}

// The kernel's struct linux_dirent64: where the size of an entry is, and its name.
constexpr size_t kEntrySize = 16;
constexpr size_t kEntryName = 19;

// Kills all with the mark; returns one of them, or 0.
pid_t kill_marked(std::string_view mark) {
  const int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  pid_t some = 0;
  const pid_t self = static_cast<pid_t>(syscall(SYS_getpid));
  std::array<char, 8 << 10> entries{};
  while (true) {
    const long bytes = syscall(SYS_getdents64, folder, entries.data(), entries.size());
    if (bytes <= 0) break;
    for (size_t at = 0; at < static_cast<size_t>(bytes);) {
      const pid_t pid = number_of(&entries[at + kEntryName]);
      uint16_t size = 0;
      std::memcpy(&size, &entries[at + kEntrySize], sizeof(size));
      at += size;
      if (pid <= 1 || pid == self || !has_mark(pid, mark)) continue;
      kill(pid, SIGKILL);
      some = pid;
    }
  }
  close(folder);
  return some;
}

// Until a second look finds nothing: in the middle of an exec a process has no environment for a
// moment. Returns one that is still there, or 0.
pid_t end_marked(std::string_view mark) {
  pid_t some = 0;
  int clean = 0;
  for (int round = 0; round < kRoundsMax && clean < 2; ++round) {
    if (round > 0) poll(nullptr, 0, kRoundMs);
    some = kill_marked(mark);
    clean = some == 0 ? clean + 1 : 0;
  }
  return some;
}

// The keeper's life. It holds nothing of the worker but the lock on the folder.
[[noreturn]] void keep(int life, int lock, std::string_view mark) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  setsid();
  prctl(PR_SET_NAME, "dunlin-keeper", 0, 0, 0);
  // It belongs to no task, should the worker be one.
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    std::memset(*variable, 0, std::strlen(*variable));
  }
  if (chdir("/") != 0) _exit(1);
  // Whatever their numbers are, they become 3 and 4.
  const int life_copy = fcntl(life, F_DUPFD, 10);
  const int lock_copy = fcntl(lock, F_DUPFD, 10);
  dup2(life_copy, 3);
  dup2(lock_copy, 4);
  syscall(SYS_close_range, 0, 2, 0);
  syscall(SYS_close_range, 5, ~0U, 0);
  char byte = 0;
  ssize_t count = 0;
  do count = read(3, &byte, 1);
  while (count < 0 && errno == EINTR);
  if (count == 0) end_marked(mark);
  _exit(0);
}

std::string marks_of(const std::string& folder) {
  std::error_code ignored;
  const auto path = std::filesystem::absolute(folder, ignored).lexically_normal();
  return fmt::format("DUNLIN_KEEPER={:016x}.", fingerprint(path.string()));
}

Result<void> lock(int folder, const std::string& name) {
  for (int round = 0; flock(folder, LOCK_EX | LOCK_NB) != 0; ++round) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Error{Code::invalid,
                   fmt::format("cannot lock the folder {}: {}", name, std::strerror(errno))};
    }
    if (round == kRoundsMax) {
      return Error{Code::denied, fmt::format("another worker uses the folder {}: give this worker "
                                             "its own with --folder, or stop the other one",
                                             name)};
    }
    poll(nullptr, 0, kRoundMs);
  }
  return {};
}

}  // namespace

Result<void> end_left_behind(const std::string& folder) {
  const pid_t pid = end_marked(marks_of(folder));
  if (pid == 0) return {};
  return Error{Code::denied, fmt::format("process {} was started by a task of an earlier run here "
                                         "and does not end: look at it with `ps -fp {}`",
                                         pid, pid)};
}

Result<std::unique_ptr<Keeper>> Keeper::start(const std::string& folder, bool used) {
  auto keeper = std::make_unique<Keeper>(Private{});
  keeper->folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (keeper->folder_ < 0) {
    return Error{Code::invalid,
                 fmt::format("cannot open the folder {}: {}", folder, std::strerror(errno))};
  }
  TRY(lock(keeper->folder_, folder));
  if (used) TRY(end_left_behind(folder));
  keeper->mark_ = fmt::format("{}{:016x}", marks_of(folder), random_seed());
  std::array<int, 2> life = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life.data()) != 0) {
    return Error{Code::unavailable, fmt::format("cannot make a socket: {}", std::strerror(errno))};
  }
  keeper->life_ = life[1];
  keeper->pid_ = fork();
  if (keeper->pid_ == 0) keep(life[0], keeper->folder_, keeper->mark_);
  close(life[0]);
  if (keeper->pid_ > 0) return keeper;
  return Error{Code::unavailable, fmt::format("cannot start a process: {}", std::strerror(errno))};
}

Keeper::~Keeper() {
  if (pid_ > 0) {
    (void)send(life_, "", 1, MSG_NOSIGNAL);  // It may have been killed.
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  if (life_ >= 0) close(life_);
  if (folder_ >= 0) close(folder_);
}

}  // namespace dunlin::worker
