#include "worker/process/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/text.h"
#include "model/keys.h"
#include "worker/process/capture.h"
#include "worker/process/launch.h"
#include "worker/process/stamps.h"
#include "worker/process/watch.h"

namespace dunlin::worker {
namespace {

constexpr size_t kStackBytes = 32 << 10;
constexpr int64_t kGraceUs = 1'000'000;  // Between SIGTERM and SIGKILL.
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr uint64_t kTimeoutMaxMs = uint64_t{1} << 50U;

Error failure(std::string_view action) {
  return {Code::unavailable, fmt::format("cannot {}: {}", action, std::strerror(errno))};
}

bool has_nul(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [](const std::string& text) { return text.find('\0') != std::string::npos; });
}

void refuse(const Error& error, model::Outcome& outcome) {
  outcome.set_state(model::STATE_REFUSED);
  outcome.set_blame(error.code == Code::unavailable ? model::BLAME_WORKER : model::BLAME_TASK);
  outcome.set_why(error.what);
}

// A file rather than a pipe: nobody has to feed it, and it is no harm if it is not read.
Result<int> file_of(std::string_view bytes) {
  const int file = memfd_create("stdin", MFD_CLOEXEC);
  if (file < 0) return failure("make the task's stdin");
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) {
      close(file);
      return failure("write the task's stdin");
    }
    done += static_cast<size_t>(count);
  }
  return file;
}

struct Pipe {
  int from = -1;
  int to = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    if (from >= 0) close(from);
    if (to >= 0) close(to);
  }
  bool open() {
    std::array<int, 2> both = {};
    if (pipe2(both.data(), O_CLOEXEC) != 0) return false;
    from = both[0];
    to = both[1];
    return true;
  }
};

// The smaller of two limits, of which 0 is none.
uint64_t stricter(uint64_t a, uint64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

int until(int64_t deadline_us) {
  if (deadline_us == kNever) return -1;
  const int64_t left_ms = (deadline_us - monotonic_us() + 999) / 1000;
  return static_cast<int>(std::clamp<int64_t>(left_ms, 0, 1'000'000));
}

}  // namespace

struct Process::Child {
  Pipe out_pipe = {};
  Pipe err_pipe = {};
  Capture out;
  Capture err;
  int in = -1;
  bool own_in = false;
  Launched process = {};
  int status = 0;
  int64_t end_at = kNever;
  int64_t kill_at = kNever;
  bool timed_out = false;
  bool asked = false;  // To end.
  bool killed = false;
  uint64_t file_max = 0;
  std::optional<Watch> watch = {};  // If there are limits.

  ~Child() {
    if (own_in) close(in);
    if (process.descriptor >= 0) close(process.descriptor);
  }
  // The child is a zombie at worst, so the number of its group is nobody else's.
  void signal(int number) const { ::kill(-process.pid, number); }
};

Result<std::unique_ptr<Process>> Process::make(std::string spool_prefix, const ProcessHost& host) {
  auto process = std::make_unique<Process>(std::move(spool_prefix), host);
  TRY(process->open_all());
  return process;
}

Process::Process(std::string spool_prefix, const ProcessHost& host)
    : spool_prefix_(std::move(spool_prefix)),
      host_(host),
      stack_(kStackBytes),
      buffer_(kOutputRowMax) {
  for (int signal = 1; signal < SIGRTMAX; ++signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      ignored_.push_back(signal);
    }
  }
}

Result<void> Process::open_all() {
  nothing_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing_ < 0) return failure("open /dev/null");
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return failure("make an eventfd");
  return {};
}

Process::~Process() {
  if (nothing_ >= 0) close(nothing_);
  if (wake_ >= 0) close(wake_);
}

void Process::end() {
  Wish before = go_on;
  if (wish_.compare_exchange_strong(before, end_soon)) eventfd_write(wake_, 1);
}

void Process::kill() {
  wish_ = end_now;
  eventfd_write(wake_, 1);
}

void Process::reset() {
  if (wish_ == go_on) return;
  Wish before = end_soon;
  if (!wish_.compare_exchange_strong(before, go_on)) return;
  eventfd_t ignored = 0;
  eventfd_read(wake_, &ignored);
}

Result<void> Process::give_files(const Command& command, Child& child) const {
  child.in = nothing_;
  if (!command.stdin_bytes.empty()) {
    child.in = TRY(file_of(command.stdin_bytes));
    child.own_in = true;
  }
  if (command.drop_output) return {};
  if (!child.out_pipe.open() || !child.err_pipe.open()) return failure("make a pipe");
  if (!host_.rules.user) return {};
  // It may open what it has once more, as /dev/stderr.
  const TaskUser& user = *host_.rules.user;
  for (const int file : {child.out_pipe.to, child.err_pipe.to, child.own_in ? child.in : -1}) {
    if (file >= 0 && fchown(file, user.uid, user.gid) != 0) {
      return failure("give the task its streams");
    }
  }
  return {};
}

Finished Process::run(const Command& command) {
  Finished finished;
  model::Outcome& outcome = finished.outcome;
  if (has_nul(command.argv) || has_nul(command.env)) {
    refuse({Code::invalid, "a NUL byte cannot be in a command or in its environment"}, outcome);
    return finished;
  }
  const uint64_t max = command.output_max != 0 ? command.output_max : kOutputMaxDefault;
  ++runs_;
  Child child = {.out = {fmt::format("{}{}.out", spool_prefix_, runs_), max},
                 .err = {fmt::format("{}{}.err", spool_prefix_, runs_), max}};
  if (Result<void> given = give_files(command, child); !given.ok()) {
    refuse(given.error(), outcome);
    return finished;
  }
  const TaskRules& rules = host_.rules;
  child.file_max = stricter(command.file_max, rules.disk_max);
  Launch plan = {.argv = &command.argv,
                 .cwd = command.cwd.c_str(),
                 .cwd_else = command.cwd_else.empty() ? nullptr : command.cwd_else.c_str(),
                 .in = child.in,
                 .out = command.drop_output ? nothing_ : child.out_pipe.to,
                 .err = command.drop_output ? nothing_ : child.err_pipe.to,
                 .channel = command.channel,
                 .file_max = child.file_max,
                 .procs_max = rules.user ? rules.procs_max * host_.slots : 0,
                 .user = rules.user ? &*rules.user : nullptr,
                 .may_gain_rights = rules.may_gain_rights,
                 .ignored = ignored_};
  plan.env.reserve(command.env.size() + command.marks.size() + 1);
  for (const auto* part : {&command.env, &command.marks}) {
    for (const std::string& variable : *part) {
      plan.env.push_back(const_cast<char*>(variable.c_str()));
    }
  }
  plan.env.push_back(nullptr);
  Result<Launched> launched = launch(plan, stack_);
  if (!launched.ok()) {
    refuse(launched.error(), outcome);
    return finished;
  }
  child.process = launched.value();
  finished.elsewhere = child.process.elsewhere;
  host_.orphans.begin(child.process.pid);
  const Bounds bounds = {.procs = rules.procs_max,
                         .memory = command.memory_max,
                         .folder = rules.disk_max,
                         .path = command.folder};
  if (bounds.any()) child.watch.emplace(host_.census, bounds, child.process.pid, command.marks);
  follow(command, child);
  describe(command, child, finished);
  return finished;
}

void Process::describe(const Command& command, Child& child, Finished& finished) {
  model::Outcome& outcome = finished.outcome;
  outcome.set_state(model::STATE_OK);
  if (WIFSIGNALED(child.status)) {
    const int signal = WTERMSIG(child.status);
    const char* name = sigabbrev_np(signal);
    outcome.set_state(model::STATE_CRASHED);
    outcome.set_signal(static_cast<uint32_t>(signal));
    outcome.set_why(name == nullptr ? fmt::format("signal {}", signal)
                                    : fmt::format("signal {} (SIG{})", signal, name));
  } else if (WEXITSTATUS(child.status) != 0) {
    outcome.set_state(model::STATE_FAILED);
    outcome.set_exit(WEXITSTATUS(child.status));
    outcome.set_why(fmt::format("exit code {}", WEXITSTATUS(child.status)));
  }
  if (child.timed_out) {
    outcome.set_state(model::STATE_TIMEOUT);
    outcome.set_why(fmt::format("timeout after {} ms", command.timeout_ms));
  }
  const int wrote_too_much = child.file_max == 0 ? 0 : SIGXFSZ;
  if (wrote_too_much != 0 && (outcome.signal() == SIGXFSZ || outcome.exit() == 128 + SIGXFSZ)) {
    outcome.set_why(fmt::format("{}: it wrote a file larger than its limit of {}", outcome.why(),
                                human_size(child.file_max)));
  }
  if (child.watch && !child.watch->excess().empty()) {
    outcome.set_state(model::STATE_CRASHED);
    outcome.set_why(child.watch->excess());
  }
  if (outcome.state() != model::STATE_OK) outcome.set_blame(model::BLAME_TASK);
  const auto keep = [&outcome](Capture& capture, model::Output& output, std::string& spool) {
    spool = capture.release();
    if (!spool.empty()) output.set_size(capture.kept());
    output.set_bytes(std::move(capture.bytes()));
    output.set_cut(capture.cut());
    if (capture.trouble().empty()) return;
    outcome.set_why(fmt::format("{}{}its output could not be kept: {}", outcome.why(),
                                outcome.why().empty() ? "" : "; ", capture.trouble()));
  };
  if (child.out.kept() + child.out.cut() != 0) {
    keep(child.out, *outcome.mutable_out(), finished.out_spool);
  }
  if (child.err.kept() + child.err.cut() != 0) {
    keep(child.err, *outcome.mutable_err(), finished.err_spool);
  }
}

// What is in a pipe now, and no more: whoever is left may write forever.
void Process::read_rest(int pipe, Capture& capture) {
  int bytes = 0;
  if (ioctl(pipe, FIONREAD, &bytes) != 0) return;
  for (size_t left = static_cast<size_t>(bytes); left > 0;) {
    const ssize_t count = read(pipe, buffer_.data(), std::min(left, buffer_.size()));
    if (count <= 0) return;
    capture.add({buffer_.data(), static_cast<size_t>(count)});
    left -= static_cast<size_t>(count);
  }
}

// Sends what is due, and returns when to come again.
int64_t Process::hurry(const Command& command, Child& child) const {
  const Wish wish = wish_;
  const int64_t now = monotonic_us();
  const bool unwanted = wish != go_on && !command.drop_output;
  if (!child.asked && (unwanted || now >= child.end_at)) {
    child.asked = true;
    child.timed_out = !unwanted;
    child.kill_at = now + kGraceUs;
    if (wish != end_now) child.signal(SIGTERM);
  }
  if (!child.killed && (wish == end_now || now >= child.kill_at)) {
    child.killed = true;
    child.signal(SIGKILL);
  }
  if (child.killed) return kNever;
  return child.asked ? child.kill_at : child.end_at;
}

// Ends it if it uses more than it may, and returns when to look again.
int64_t Process::limit(Child& child) {
  if (!child.watch || child.killed) return kNever;
  const int64_t next_us = child.watch->look(monotonic_us());
  if (child.watch->excess().empty()) return next_us;
  child.killed = true;
  child.signal(SIGKILL);
  return kNever;
}

// Until its first process is dead; then all others are killed.
void Process::follow(const Command& command, Child& child) {
  if (command.timeout_ms != 0) {
    const uint64_t timeout_ms = std::min(command.timeout_ms, kTimeoutMaxMs);
    child.end_at = monotonic_us() + static_cast<int64_t>(timeout_ms) * 1000;
  }
  // We hold the pipes' other ends too, so a closed stdout wakes nobody: only the end of the process
  // counts. It is looked at first; what it wrote is then in the pipes.
  enum { death, out, err, wake, count };
  std::array<pollfd, count> polled = {};
  polled[death] = {.fd = child.process.descriptor, .events = POLLIN, .revents = 0};
  polled[out] = {.fd = child.out_pipe.from, .events = POLLIN, .revents = 0};
  polled[err] = {.fd = child.err_pipe.from, .events = POLLIN, .revents = 0};
  polled[wake] = {.fd = wake_, .events = POLLIN, .revents = 0};
  while (polled[death].revents == 0) {
    const int64_t deadline = std::min(hurry(command, child), limit(child));
    if (poll(polled.data(), polled.size(), until(deadline)) <= 0) {
      polled[death].revents = 0;
      continue;
    }
    if (polled[out].revents != 0) read_rest(child.out_pipe.from, child.out);
    if (polled[err].revents != 0) read_rest(child.err_pipe.from, child.err);
    eventfd_t ignored = 0;
    if (polled[wake].revents != 0) eventfd_read(wake_, &ignored);
  }
  child.signal(SIGKILL);
  if (child.watch) child.watch->stop();  // As long as the number is not free.
  while (waitpid(child.process.pid, &child.status, 0) < 0 && errno == EINTR) continue;
  host_.orphans.end(child.process.pid, command.marks);
}

}  // namespace dunlin::worker
