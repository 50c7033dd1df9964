#include "worker/process/launch.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sched.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"

// The C library's other name for clone(), which the sanitizers do not take for a fork.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): its name, not ours.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace dunlin::worker {
namespace {

enum class Step { start, become, enter, exec };

// Shared with the child, which writes where it failed.
struct Handover {
  const Launch* launch = nullptr;
  pid_t parent = -1;
  char** argv = nullptr;
  char** script_argv = nullptr;  // "/bin/sh", a place for the program, and the rest of argv.
  const char** programs = nullptr;
  Step step = Step::start;
  int error = 0;
  bool elsewhere = false;
};

// The sanitizers believe that a child has its own memory, so they are kept out: no instrumentation,
// and system calls without the C library.
#define BORROWS_MEMORY __attribute__((no_sanitize("address", "thread", "undefined")))

BORROWS_MEMORY void limit(int what, uint64_t value) {
  const rlimit64 both = {.rlim_cur = value, .rlim_max = value};
  syscall(SYS_prlimit64, 0, what, &both, nullptr);
}

// A task of the same user could stop this process while it still borrows our memory, and so a slot
// for ever. The kernel forgets the timer when this is another program.
constexpr time_t kExecSecondsMax = 60;
BORROWS_MEMORY void die_if_stopped() {
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  int timer = 0;
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return;
  const itimerspec once = {.it_interval = {},
                           .it_value = {.tv_sec = kExecSecondsMax, .tv_nsec = 0}};
  syscall(SYS_timer_settime, timer, 0, &once, nullptr);
}

// Nothing of ours can be reached any more: a process that changed its user is not one that others
// of that user may look into, until it is another program.
BORROWS_MEMORY int change_user(const TaskUser& user) {
  die_if_stopped();
  if (syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0) return errno;
  if (syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0) return errno;
  if (syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0) return errno;
  return 0;
}

BORROWS_MEMORY void die_with_parent(const Handover& handover) {
  syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (syscall(SYS_getppid) != handover.parent) syscall(SYS_exit_group, 127);
}

// With the rights that the task will have, which may be fewer than the worker's. Returns why not.
BORROWS_MEMORY int enter(Handover& handover) {
  const Launch& launch = *handover.launch;
  if (syscall(SYS_chdir, launch.cwd) == 0) return 0;
  const int error = errno;
  if (launch.cwd_else == nullptr || syscall(SYS_chdir, launch.cwd_else) != 0) return error;
  handover.elsewhere = true;
  return 0;
}

// Returns why there is no such program; does not return otherwise.
BORROWS_MEMORY int become(Handover& handover) {
  char* const* env = handover.launch->env.data();
  int error = ENOENT;
  for (const char** program = handover.programs; *program != nullptr; ++program) {
    syscall(SYS_execve, *program, handover.argv, env);
    if (errno == ENOEXEC) {
      handover.script_argv[1] = const_cast<char*>(*program);
      syscall(SYS_execve, handover.script_argv[0], handover.script_argv, env);
    }
    if (errno == ENOENT || errno == ENOTDIR) continue;
    error = errno;
    if (error != EACCES) break;
  }
  return error;
}

BORROWS_MEMORY int child(void* argument) {
  Handover& handover = *static_cast<Handover*>(argument);
  const Launch& launch = *handover.launch;
  syscall(SYS_setsid);
  die_with_parent(handover);
  const uint64_t zero[4] = {};  // The kernel's struct sigaction: the default.
  for (const int signal : launch.ignored) {
    syscall(SYS_rt_sigaction, signal, zero, nullptr, sizeof(uint64_t));
  }
  syscall(SYS_dup3, launch.in, 0, 0);
  syscall(SYS_dup3, launch.out, 1, 0);
  syscall(SYS_dup3, launch.err, 2, 0);
  unsigned own = 3;
  if (launch.channel >= 0) {
    if (launch.channel == 3) {
      syscall(SYS_fcntl, 3, F_SETFD, 0);
    } else {
      syscall(SYS_dup3, launch.channel, 3, 0);
    }
    own = 4;
  }
  syscall(SYS_close_range, own, ~0U, 0);
  limit(RLIMIT_CORE, 0);
  if (launch.file_max != 0) limit(RLIMIT_FSIZE, launch.file_max);
  if (launch.procs_max != 0) limit(RLIMIT_NPROC, launch.procs_max);
  if (launch.user != nullptr) {
    handover.step = Step::become;
    handover.error = change_user(*launch.user);
    if (handover.error != 0) syscall(SYS_exit_group, 127);
    die_with_parent(handover);  // The kernel has forgotten that, too.
  }
  if (!launch.may_gain_rights) syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  handover.step = Step::enter;
  handover.error = enter(handover);
  if (handover.error != 0) syscall(SYS_exit_group, 127);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, zero, nullptr, sizeof(uint64_t));
  handover.step = Step::exec;
  handover.error = become(handover);
  syscall(SYS_exit_group, 127);
  return 127;
}

// Where execvp would look.
std::vector<std::string> programs_of(const std::string& name, const std::vector<char*>& env) {
  if (name.find('/') != std::string::npos) return {name};
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const char* variable : env) {
    if (variable != nullptr && std::strncmp(variable, "PATH=", 5) == 0) path = variable + 5;
  }
  std::vector<std::string> programs;
  while (!name.empty()) {
    const size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    programs.push_back(fmt::format("{}/{}", folder.empty() ? "." : folder, name));
    if (colon == std::string_view::npos) break;
    path.remove_prefix(colon + 1);
  }
  return programs;
}

Error explain(const Handover& handover) {
  const char* why = std::strerror(handover.error);
  if (handover.step == Step::become) {
    return {Code::unavailable,
            fmt::format("cannot run a task as {}: {}", handover.launch->user->name, why)};
  }
  if (handover.step == Step::enter) {
    return {Code::not_found,
            fmt::format("cannot enter the folder {}: {}", quote_path(handover.launch->cwd), why)};
  }
  const std::string program = quote(handover.argv[0]);
  if (handover.error == ENOENT) {
    return {
        Code::not_found,
        fmt::format("there is no program {}: check its name and the PATH of the task", program)};
  }
  const bool ours =
      handover.error == ENOMEM || handover.error == EAGAIN || handover.error == ENFILE;
  return {ours ? Code::unavailable : Code::denied, fmt::format("cannot run {}: {}", program, why)};
}

}  // namespace

Result<Launched> launch(const Launch& launch, std::span<char> stack) {
  const std::vector<std::string>& words = *launch.argv;
  if (words.empty() || words[0].empty()) return Error{Code::invalid, "the command is empty"};
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::string shell = "/bin/sh";
  std::vector<char*> script_argv = {shell.data(), nullptr};
  script_argv.insert(script_argv.end(), argv.begin() + 1, argv.end());
  const std::vector<std::string> programs = programs_of(words[0], launch.env);
  std::vector<const char*> places;
  places.reserve(programs.size() + 1);
  for (const std::string& program : programs) places.push_back(program.c_str());
  places.push_back(nullptr);

  Handover handover = {.launch = &launch,
                       .parent = getpid(),
                       .argv = argv.data(),
                       .script_argv = script_argv.data(),
                       .programs = places.data()};
  Launched made;
  char* top = stack.data() + stack.size();
  top -= reinterpret_cast<uintptr_t>(top) % 64;
  made.pid = __clone(child, top, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &handover,
                     &made.descriptor);
  if (made.pid < 0) {
    return Error{Code::unavailable,
                 fmt::format("cannot start a process: {}", std::strerror(errno))};
  }
  made.elsewhere = handover.elsewhere;
  if (handover.error == 0) return made;
  waitpid(made.pid, nullptr, 0);
  close(made.descriptor);
  return explain(handover);
}

}  // namespace dunlin::worker
