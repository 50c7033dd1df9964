#include "worker/process/orphans.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dunlin::worker {
namespace {

constexpr size_t kEnvironmentMax = 4 << 20;
constexpr int kRoundsMax = 200;  // Of killing: each may orphan the next generation.
constexpr int kDeathMs = 1000;
constexpr int kUnclearMax = 20;  // Rounds of a millisecond.

std::string read_whole(const std::string& path, size_t max) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t count = 0; text.size() < max;
       text.append(piece.data(), static_cast<size_t>(count))) {
    count = read(file, piece.data(), piece.size());
    if (count <= 0) break;
  }
  close(file);
  return text;
}

struct Stat {
  char state = 0;
  pid_t session = 0;
};

// "PID (NAME) STATE PARENT GROUP SESSION ...", where the name may contain anything.
std::optional<Stat> read_stat(pid_t pid) {
  const std::string text = read_whole(fmt::format("/proc/{}/stat", pid), 4096);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return {};
  Stat stat = {.state = text[name_end + 2]};
  size_t at = name_end + 4;
  for (int skipped = 0; skipped < 2 && at < text.size(); ++skipped) at = text.find(' ', at) + 1;
  std::from_chars(text.data() + at, text.data() + text.size(), stat.session);
  return stat;
}

enum class Marked { no, yes, unclear };

// In the middle of an exec a process has no environment for a moment.
Marked is_marked(pid_t pid, const std::vector<std::string>& marks) {
  if (marks.empty()) return Marked::no;
  std::string text(1, '\0');
  text += read_whole(fmt::format("/proc/{}/environ", pid), kEnvironmentMax);
  if (text.size() == 1) return Marked::unclear;
  const bool all = std::all_of(marks.begin(), marks.end(), [&](const std::string& mark) {
    return text.find('\0' + mark + '\0') != std::string::npos;
  });
  return all ? Marked::yes : Marked::no;
}

// Waits, but not forever: a process may hang in the kernel.
void await_death(pid_t pid) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) return;
  pollfd death = {.fd = descriptor, .events = POLLIN, .revents = 0};
  poll(&death, 1, kDeathMs);
  close(descriptor);
}

}  // namespace

Orphans::Orphans() : own_session_(getsid(0)) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // The kernel gives orphans to the first thread of the process; the slots' own children belong to
  // the slots' threads and are not in this list.
  const std::string path = fmt::format("/proc/{}/task/{}/children", getpid(), getpid());
  children_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

Orphans::~Orphans() {
  if (children_ >= 0) close(children_);
}

std::vector<pid_t> Orphans::adopted() const {
  std::vector<pid_t> pids;
  std::string text;
  std::array<char, 4096> piece{};
  while (children_ >= 0) {
    const ssize_t count =
        pread(children_, piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (count <= 0) break;
    text.append(piece.data(), static_cast<size_t>(count));
  }
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    pid_t pid = 0;
    const auto [next, error] = std::from_chars(at, end, pid);
    if (error == std::errc() && pid != keeper_) pids.push_back(pid);
    at = next + 1;
  }
  return pids;
}

void Orphans::begin(pid_t session) {
  const std::lock_guard lock(mutex_);
  running_.insert(session);
}

void Orphans::end(pid_t session, const std::vector<std::string>& marks) {
  {
    const std::lock_guard lock(mutex_);
    running_.erase(session);
    for (auto& [pid, sessions] : suspects_) sessions.erase(session);
  }
  int unclear = 0;
  for (int round = 0; round < kRoundsMax; ++round) {
    if (adopted().empty()) return;
    const Ended ended = end_some(session, marks, unclear >= kUnclearMax);
    if (ended == Ended::none) return;
    if (ended == Ended::some) continue;
    ++unclear;
    poll(nullptr, 0, 1);
  }
}

// Whether it belongs to the task that has ended.
Orphans::Whose Orphans::whose(pid_t pid, pid_t its_session, pid_t session,
                              const std::vector<std::string>& marks, bool sure) {
  if (its_session == session) return Whose::ended;
  if (running_.contains(its_session)) return Whose::other;
  const Marked marked = is_marked(pid, marks);
  if (marked == Marked::yes) return Whose::ended;
  // One that has no environment for so long was started without.
  if (marked == Marked::unclear && !sure) return Whose::unclear;
  if (!alone_) return Whose::other;
  const std::set<pid_t>& sessions = suspects_.try_emplace(pid, running_).first->second;
  return sessions.empty() ? Whose::ended : Whose::other;
}

Orphans::Ended Orphans::end_some(pid_t session, const std::vector<std::string>& marks, bool sure) {
  const std::lock_guard lock(mutex_);
  Ended ended = Ended::none;
  const std::vector<pid_t> pids = adopted();
  std::erase_if(suspects_, [&](const auto& suspect) {
    return std::find(pids.begin(), pids.end(), suspect.first) == pids.end();
  });
  for (const pid_t pid : pids) {
    const std::optional<Stat> stat = read_stat(pid);
    if (!stat || stat->session == own_session_) continue;
    if (stat->state != 'Z') {
      const Whose owner = whose(pid, stat->session, session, marks, sure);
      if (owner == Whose::unclear && ended == Ended::none) ended = Ended::unclear;
      if (owner != Whose::ended) continue;
      kill(pid, SIGKILL);
      await_death(pid);
      ended = Ended::some;
    }
    waitpid(pid, nullptr, WNOHANG);
  }
  return ended;
}

// A child of our own session was started by somebody else here, who will wait for it. Tasks have
// sessions of their own, and so have all that they start.
void Orphans::reap() {
  if (adopted().empty()) return;
  const std::lock_guard lock(mutex_);
  for (const pid_t pid : adopted()) {
    const std::optional<Stat> stat = read_stat(pid);
    if (stat && stat->state == 'Z' && stat->session != own_session_) {
      waitpid(pid, nullptr, WNOHANG);
    }
  }
}

}  // namespace dunlin::worker
