#include "bench/child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "sources/input.h"

namespace dunlin::bench {
namespace {

constexpr size_t kLogMax = 1 << 20;

// In the child, between fork and exec: system calls only.
void become(int descriptor, const std::string& file, int target) {
  const int flags = target == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND;
  const int from = file.empty() ? descriptor : open(file.c_str(), flags, 0600);
  if (from < 0 || dup2(from, target) < 0) _exit(126);
}

}  // namespace

std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<size_t>(size)) : "dunlin";
}

Result<Child> Child::start(const std::vector<std::string>& words, const Files& files) {
  // Sockets, so that writing to a child that is gone is an error and no signal.
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out.data()) == 0);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    become(in[1], files.in, STDIN_FILENO);
    become(out[1], files.out, STDOUT_FILENO);
    become(-1, files.err, STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(in[1]);
  close(out[1]);
  if (pid < 0) {
    close(in[0]);
    close(out[0]);
    return Error{Code::full, fmt::format("cannot start {}: {}", words[0], std::strerror(errno))};
  }
  return Child(files.err, pid, in[0], out[0]);
}

Child::Child(Child&& other) noexcept
    : log_(std::move(other.log_)),
      pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      rest_(std::move(other.rest_)) {}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    wait();
  }
  hang_up();
  if (out_ >= 0) close(out_);
}

Result<std::string> Child::line() {
  while (true) {
    if (const size_t end = rest_.find('\n'); end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> bytes{};
    const ssize_t size = read(out_, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      return Error{Code::unavailable,
                   fmt::format("process {} ended too early: {}", pid_, last_words())};
    }
    rest_.append(bytes.data(), static_cast<size_t>(size));
  }
}

Result<void> Child::say(const std::string& line) {
  const std::string bytes = line + '\n';
  if (send(in_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  return Error{Code::unavailable, fmt::format("process {} is gone: {}", pid_, last_words())};
}

void Child::hang_up() {
  if (in_ >= 0) close(std::exchange(in_, -1));
}

int Child::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Child::last_words() const {
  const auto text =
      log_ == "/dev/null" ? Result<std::string>("") : sources::read_input(log_, kLogMax);
  if (!text.ok()) return text.error().what;
  std::string_view rest = text.value();
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  return std::string(rest.substr(rest.rfind('\n') + 1));
}

void Child::interrupt(int signal) const { kill(pid_, signal); }

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string file = fmt::format("{}/{}", rest.substr(0, end), program);
    if (access(file.c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace dunlin::bench
