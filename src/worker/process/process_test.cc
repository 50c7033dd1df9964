// What a task sees of the world and what is left of it, through real processes.
#include "worker/process/process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <dirent.h>
#include <filesystem>
#include <set>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "model/keys.h"
#include "testing/slots.h"
#include "testing/temp_folder.h"
#include "worker/process/stamps.h"

namespace dunlin::worker {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// True if the process is gone, soon or, on a busy machine, within a minute.
bool dies(pid_t pid) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) return true;
  pollfd death = {.fd = descriptor, .events = POLLIN, .revents = 0};
  const bool dead = poll(&death, 1, TestSlots::kPatienceMs) == 1;
  close(descriptor);
  return dead;
}

// Runs a task that says "on" when it has made itself ready, with a time limit that it notices only
// then: on a busy machine 100 ms may be over before. Sets `limit_ms`.
Ending run_out_of_time(TestSlots& slots, model::Spec& spec, uint32_t& limit_ms) {
  for (limit_ms = 100;; limit_ms *= 2) {
    spec.set_timeout_ms(limit_ms);
    Ending ending = slots.run(spec);
    const bool was_ready = ending.outcome.out().bytes().starts_with("on\n");
    if (was_ready || limit_ms > 10'000) return ending;
  }
}

constexpr int kKeeper = 1;  // It is one of our children.

int children_of(pid_t parent) {
  int count = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", parent))) {
    std::istringstream pids(read_file(thread.path() / "children"));
    for (pid_t pid = 0; pids >> pid;) ++count;
  }
  return count;
}

TEST(Process, OutputsExitCodeAndStampsAreReported) {
  TestSlots slots;
  const Ending ending = slots.run(slots.shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(ending.outcome.state(), model::STATE_FAILED);
  EXPECT_EQ(ending.outcome.exit(), 3);
  EXPECT_EQ(ending.outcome.why(), "exit code 3");
  EXPECT_EQ(ending.outcome.blame(), model::BLAME_TASK);
  EXPECT_EQ(ending.outcome.attempt(), 2U);
  EXPECT_EQ(ending.outcome.out().bytes(), "out\n");
  EXPECT_EQ(ending.outcome.err().bytes(), "err\n");
  EXPECT_GT(ending.outcome.ran_us(), 0U);
  EXPECT_GT(ending.started_us, 0);
}

TEST(Process, ASignalIsACrashWithItsName) {
  TestSlots slots;
  const Ending ending = slots.run(slots.shell("kill -SEGV $$"));
  EXPECT_EQ(ending.outcome.state(), model::STATE_CRASHED);
  EXPECT_EQ(ending.outcome.signal(), static_cast<uint32_t>(SIGSEGV));
  EXPECT_EQ(ending.outcome.why(), "signal 11 (SIGSEGV)");
}

TEST(Process, WhatCannotBeStartedIsRefusedWithItsName) {
  TestSlots slots;
  const auto why = [](const Ending& ending) {
    EXPECT_EQ(ending.outcome.state(), model::STATE_REFUSED);
    EXPECT_EQ(ending.outcome.blame(), model::BLAME_TASK);
    return ending.outcome.why();
  };
  EXPECT_EQ(why(slots.run(slots.command({"no-such-thing"}))),
            "there is no program \"no-such-thing\": check its name and the PATH of the task");
  EXPECT_EQ(why(slots.run(slots.command({"/etc/passwd"}))),
            "cannot run \"/etc/passwd\": Permission denied");
  EXPECT_EQ(why(slots.run(slots.command({""}))), "the command is empty");
  EXPECT_EQ(why(slots.run(slots.command({"echo", std::string("a\0b", 3)}))),
            "a NUL byte cannot be in a command or in its environment");
  model::Spec& elsewhere = slots.shell("true");
  elsewhere.set_cwd("/no/such/folder");
  EXPECT_EQ(why(slots.run(elsewhere)),
            "cannot enter the folder \"/no/such/folder\": No such file or directory");
}

TEST(Process, ProgramsAreFoundInThePathOfTheTask) {
  TestSlots slots;
  const std::string script = slots.root() + "/greet";
  std::ofstream(script) << "echo hello \"$1\"\n";  // No "#!": for the shell.
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  model::Spec& spec = slots.command({"greet", "you  all"});
  model::Variable& path = *spec.add_env();
  path.set_name("PATH");
  path.set_value("/no/such/folder:" + slots.root());
  EXPECT_EQ(slots.run(spec).outcome.out().bytes(), "hello you  all\n");
}

TEST(Process, TheEnvironmentIsScrubbedAndNamesTheTask) {
  setenv("DUNLIN_TEST_SECRET", "secret", 1);
  setenv("DUNLIN_TASK", "of-another", 1);
  setenv("LC_TEST", "kept", 1);
  TestSlots slots;
  model::Spec& spec = slots.command({"/usr/bin/env"});
  model::Variable& variable = *spec.add_env();
  variable.set_name("COLOUR");
  variable.set_value("a b");
  const std::string text = slots.run(spec).outcome.out().bytes();
  const std::vector<std::string> lines = lines_of(text);
  const std::set<std::string> env(lines.begin(), lines.end());
  EXPECT_EQ(env.size(), lines.size());
  for (const char* line : {"DUNLIN_JOB=job-1", "DUNLIN_TASK=0", "DUNLIN_ATTEMPT=2",
                           "DUNLIN_WORKER=worker-1", "COLOUR=a b", "LC_TEST=kept"}) {
    EXPECT_TRUE(env.contains(line)) << line;
  }
  EXPECT_TRUE(env.contains("TMPDIR=" + slots.folder() + "/slot-0"));
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_EQ(text.find("CUDA"), std::string::npos);

  spec.set_keep_env(true);
  const std::string whole = slots.run(spec).outcome.out().bytes();
  EXPECT_NE(whole.find("DUNLIN_TEST_SECRET=secret"), std::string::npos);
  EXPECT_EQ(whole.find("of-another"), std::string::npos);
  for (const char* name : {"DUNLIN_TEST_SECRET", "DUNLIN_TASK", "LC_TEST"}) unsetenv(name);
}

TEST(Process, AssignedGpusAreTheVisibleOnes) {
  TestSlots slots;
  const model::Spec& spec = slots.shell("echo $CUDA_VISIBLE_DEVICES");
  std::vector<Assignment> one;
  one.push_back(
      {.ticket = 1, .job = std::make_shared<JobText>(JobText{"job", spec}), .gpus = {1, 3}});
  slots->assign(std::move(one), 1);
  EXPECT_EQ(slots.take(1).at(0).outcome.out().bytes(), "1,3\n");
}

TEST(Process, OnlyTheStandardDescriptorsAreOpen) {
  TestSlots slots({.slots = 4});
  const int leaked = open("/dev/null", O_RDONLY);  // Without O_CLOEXEC.
  EXPECT_EQ(slots.out_of("i=0; while test $i -lt 200; do test -e /proc/$$/fd/$i && echo $i; "
                         "i=$((i+1)); done"),
            "0\n1\n2\n");
  close(leaked);
}

TEST(Process, ATaskLeadsItsOwnSessionWithDefaultSignals) {
  signal(SIGPIPE, SIG_IGN);
  TestSlots slots;
  std::istringstream stat(slots.out_of("echo $$ $(cut -d' ' -f5,6 /proc/$$/stat)"));
  pid_t pid = 0;
  pid_t group = 0;
  pid_t session = 0;
  stat >> pid >> group >> session;
  EXPECT_EQ(pid, group);
  EXPECT_EQ(pid, session);
  EXPECT_NE(session, getsid(0));
  const std::string masks =
      slots.run(slots.command({"grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"}))
          .outcome.out()
          .bytes();
  EXPECT_EQ(masks, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  signal(SIGPIPE, SIG_DFL);
}

TEST(Process, ATaskRunsInAnEmptyFolderOfItsOwn) {
  TestSlots slots;
  EXPECT_EQ(slots.out_of("pwd; ls -A; touch left; mkdir -p a/b; touch a/b/c; chmod 0 a/b"),
            slots.folder() + "/slot-0\n");
  EXPECT_EQ(slots.out_of("ls -A; rmdir \"$PWD\""), "");
  EXPECT_EQ(slots.out_of("ls -A; chmod 755 ."), "");
  EXPECT_EQ(slots.out_of("stat -c %a .; mv \"$PWD\" ../moved"), "700\n");
  EXPECT_EQ(slots.out_of("ls -A; pwd"), slots.folder() + "/slot-0\n");
  slots.stop();
  EXPECT_FALSE(std::filesystem::exists(slots.folder() + "/slot-0"));
}

TEST(Process, ATaskRunsWhereItsJobSays) {
  TestSlots slots;
  model::Spec& spec = slots.shell("pwd; touch made");
  spec.set_cwd(slots.root());
  EXPECT_EQ(slots.run(spec).outcome.out().bytes(), slots.root() + "\n");
  EXPECT_TRUE(std::filesystem::exists(slots.root() + "/made"));
}

TEST(Process, StdinIsWhatTheJobGivesOrNothing) {
  TestSlots slots;
  EXPECT_EQ(slots.out_of("cat; echo end"), "end\n");
  model::Spec& spec = slots.command({"/bin/cat"});
  const std::string bytes("binary\0\xff\n", 9);
  spec.set_stdin(bytes);
  EXPECT_EQ(slots.run(spec).outcome.out().bytes(), bytes);
  model::Spec& deaf = slots.command({"/bin/true"});
  deaf.set_stdin(std::string(1 << 20, 'x'));
  EXPECT_EQ(slots.run(deaf).outcome.state(), model::STATE_OK);
}

TEST(Process, StdinMayComeFromABlob) {
  TestSlots slots;
  model::Spec& spec = slots.command({"/bin/cat"});
  spec.set_stdin_blob("blob");
  std::vector<Assignment> one;
  one.push_back({.ticket = 1, .job = std::make_shared<JobText>(JobText{"job", spec, "from afar"})});
  slots->assign(std::move(one), 1);
  EXPECT_EQ(slots.take(1).at(0).outcome.out().bytes(), "from afar");
}

// A task of another slot can write there at any time.
TEST(Process, WhatOthersPutIntoAFolderIsGoneBeforeTheNextTask) {
  TestSlots slots;
  const std::string folder = slots.folder() + "/slot-0";
  EXPECT_EQ(slots.out_of("ls -A"), "");
  for (const char* what : {"touch it", "mkdir -p it/in && chmod 500 it", "ln -s / it"}) {
    ASSERT_EQ(std::system(fmt::format("cd {} && {}", folder, what).c_str()), 0);
    EXPECT_EQ(slots.out_of("ls -A"), "") << what;
  }
  ASSERT_EQ(std::system(fmt::format("rmdir {} && ln -s / {}", folder, folder).c_str()), 0);
  EXPECT_EQ(slots.out_of("ls -A; pwd -P"), folder + "\n");
}

TEST(Process, LimitsAreSet) {
  TestSlots slots;
  EXPECT_EQ(slots.out_of("ulimit -c"), "0\n");
  model::Spec& spec = slots.shell("ulimit -f; head -c 100000 /dev/zero > file");
  spec.set_file_max(4096);
  const Ending ending = slots.run(spec);
  EXPECT_EQ(ending.outcome.out().bytes(), "8\n");
  EXPECT_EQ(ending.outcome.exit(), 128 + SIGXFSZ);
  EXPECT_EQ(ending.outcome.why(),
            "exit code 153: it wrote a file larger than its limit of 4.0 KiB; its fresh folder was "
            "removed with 1 file in it, \"file\": name with --cwd a folder that stays");
}

TEST(Process, ATaskThatUsesMoreMemoryThanItMayIsEndedAndTold) {
  TestSlots slots;
  model::Spec& spec = slots.shell("x=$(head -c 100000000 /dev/zero | tr '\\0' a); sleep 1000");
  spec.set_memory_max(uint64_t{64} << 20U);
  const Ending ending = slots.run(spec);
  EXPECT_EQ(ending.outcome.state(), model::STATE_CRASHED);
  EXPECT_EQ(ending.outcome.blame(), model::BLAME_TASK);
  EXPECT_NE(ending.outcome.why().find("more than its limit of 64.0 MiB"), std::string::npos)
      << ending.outcome.why();
  spec.set_memory_max(uint64_t{1} << 30U);
  spec.mutable_command()->set_argv(2, "true");
  EXPECT_EQ(slots.run(spec).outcome.state(), model::STATE_OK);
}

TEST(Process, WhatAJobOfOthersCallsItsEnvironmentIsNotOurs) {
  setenv("DUNLIN_TEST_SECRET", "hush", 1);
  TestSlots own;
  TestSlots others({.rules = {.may_gain_rights = false, .foreign = true}});
  for (TestSlots* slots : {&own, &others}) {
    model::Spec& spec = slots->shell(
        "echo ${DUNLIN_TEST_SECRET:-none}; sed -n 's/^NoNewPrivs:.1/no gain/p' /proc/self/status");
    spec.set_keep_env(true);
    const std::string out = slots->run(spec).outcome.out().bytes();
    EXPECT_EQ(slots == &own ? out.substr(0, 5) : out, slots == &own ? "hush\n" : "none\nno gain\n");
  }
  unsetenv("DUNLIN_TEST_SECRET");
}

TEST(Process, OutputUpTo64KiBIsInMemory) {
  TestSlots slots;
  const Ending ending = slots.run(slots.command({"head", "-c", "65536", "/dev/zero"}));
  EXPECT_EQ(ending.outcome.out().bytes(), std::string(kOutputRowMax, '\0'));
  EXPECT_TRUE(ending.out_spool.empty());
}

TEST(Process, MoreOutputIsInAFileUpToTheLimit) {
  TestSlots slots;
  const Ending ending = slots.run(slots.shell("seq 1 200000; seq 1 100000 >&2"));
  std::string expected;
  for (int i = 1; i <= 200000; ++i) expected += fmt::format("{}\n", i);
  EXPECT_EQ(ending.outcome.out().bytes(), "");
  EXPECT_EQ(ending.outcome.out().size(), expected.size());
  EXPECT_EQ(ending.outcome.out().cut(), 0U);
  EXPECT_EQ(read_file(ending.out_spool), expected);
  EXPECT_EQ(std::filesystem::file_size(ending.err_spool), ending.outcome.err().size());
  EXPECT_EQ(std::filesystem::path(ending.out_spool).parent_path(), slots.folder());
}

TEST(Process, OutputBeyondTheLimitIsReadAndCounted) {
  TestSlots slots;
  model::Spec& spec = slots.command({"head", "-c", "100000000", "/dev/zero"});
  spec.set_output_max(1'000'000);
  const Ending ending = slots.run(spec);
  EXPECT_EQ(ending.outcome.state(), model::STATE_OK);
  EXPECT_EQ(ending.outcome.out().size(), 1'000'000U);
  EXPECT_EQ(ending.outcome.out().cut(), 99'000'000U);
  EXPECT_EQ(std::filesystem::file_size(ending.out_spool), 1'000'000U);
  spec.set_output_max(10);
  const Ending small = slots.run(spec);
  EXPECT_EQ(small.outcome.out().bytes(), std::string(10, '\0'));
  EXPECT_EQ(small.outcome.out().cut(), 99'999'990U);
}

TEST(Process, AClosedStdoutIsNoEnd) {
  TestSlots slots;
  EXPECT_EQ(slots.out_of("echo before; exec 1>&-; sleep 0.05; exit 0"), "before\n");
  const Ending broken = slots.run(slots.shell("seq 1 100000 | head -n 1; exit 5"));
  EXPECT_EQ(broken.outcome.exit(), 5);
  EXPECT_EQ(broken.outcome.out().bytes(), "1\n");
}

TEST(Process, ADaemonThatHoldsThePipeIsKilledWithItsTask) {
  TestSlots slots;
  const int before = children_of(getpid());
  const int64_t began = monotonic_us();
  for (const char* line :
       {"sleep 1000 & echo $!", "setsid sleep 1000 & echo $!", "set -m; sleep 1000 & echo $!",
        "setsid sh -c 'setsid sleep 1000 & echo $!; touch told; wait' & "
        "until [ -e told ]; do sleep 0.01; done",
        "(trap '' TERM HUP; exec yes > /dev/null) & echo $!", "env -i sleep 1000 & echo $!"}) {
    const std::string out = slots.out_of(line);
    const pid_t pid = std::stoi(out);
    EXPECT_NE(kill(pid, 0), 0) << line;
    EXPECT_EQ(children_of(getpid()), before) << line;
  }
  EXPECT_LT(monotonic_us() - began, 1000 * int64_t{TestSlots::kPatienceMs});
}

TEST(Process, AnEndlessWriterInTheBackgroundDoesNotHoldTheTask) {
  TestSlots slots;
  const Ending ending = slots.run(slots.shell(
      "setsid sh -c 'echo y; touch told; exec yes' & until [ -e told ]; do sleep 0.01; done; "
      "echo done >&2"));
  EXPECT_EQ(ending.outcome.state(), model::STATE_OK);
  EXPECT_EQ(ending.outcome.err().bytes(), "done\n");
  EXPECT_GT(ending.outcome.out().size() + ending.outcome.out().bytes().size(), 0U);
}

TEST(Process, OrphansThatEndByThemselvesAreReaped) {
  TestSlots slots({.slots = 2});
  const std::string fifo = slots.fifo("pid");
  // The daemon's parent dies at once, so the daemon is adopted and ends while the task runs.
  slots.start(
      slots.shell(R"(sh -c '(exec sh -c "echo \$\$ > )" + fifo + R"(") & exit 0'; sleep 1000)"));
  const pid_t daemon = std::stoi(TestSlots::hear(fifo));
  const int64_t patience = monotonic_us() + 1000 * int64_t{TestSlots::kPatienceMs};
  while (kill(daemon, 0) == 0 && monotonic_us() < patience) sched_yield();
  EXPECT_NE(kill(daemon, 0), 0);
  EXPECT_EQ(children_of(getpid()), kKeeper + 1);
}

TEST(Process, ATaskOfAnotherSlotIsLeftAlone) {
  TestSlots slots({.slots = 2});
  const std::string fifo = slots.fifo("pid");
  model::Spec& other = slots.shell("setsid sleep 1000 & echo $! > " + fifo + "; sleep 1000");
  std::vector<Assignment> one;
  one.push_back({.ticket = 100,
                 .job = std::make_shared<JobText>(JobText{"job-1", other}),
                 .task = 1,
                 .attempt = 2});
  slots->assign(std::move(one), 1);
  const pid_t pid = std::stoi(TestSlots::hear(fifo));
  slots.out_of("sleep 1000 & exit 0");
  EXPECT_EQ(kill(pid, 0), 0);
  slots->drop({100});
  EXPECT_TRUE(dies(pid));
}

TEST(Process, ATimeoutAsksFirst) {
  TestSlots slots;
  model::Spec& spec = slots.shell("trap 'echo asked; exit 0' TERM; echo on; sleep 1000 & wait");
  uint32_t limit_ms = 0;
  const Ending ending = run_out_of_time(slots, spec, limit_ms);
  EXPECT_EQ(ending.outcome.state(), model::STATE_TIMEOUT);
  EXPECT_EQ(ending.outcome.blame(), model::BLAME_TASK);
  EXPECT_EQ(ending.outcome.why(), fmt::format("timeout after {} ms", limit_ms));
  EXPECT_EQ(ending.outcome.out().bytes(), "on\nasked\n");
}

TEST(Process, ATaskThatIgnoresSigtermIsKilledASecondLater) {
  TestSlots slots;
  model::Spec& spec = slots.shell("trap '' TERM; echo on; yes");
  spec.set_output_max(100);
  uint32_t limit_ms = 0;
  const Ending ending = run_out_of_time(slots, spec, limit_ms);
  EXPECT_EQ(ending.outcome.state(), model::STATE_TIMEOUT);
  EXPECT_EQ(ending.outcome.signal(), static_cast<uint32_t>(SIGKILL));
  EXPECT_GE(ending.outcome.ran_us(), 1000 * (limit_ms + 1000));
  EXPECT_LT(ending.outcome.ran_us(), 1000 * (limit_ms + 1'950));
}

TEST(Process, ADroppedTaskDiesWithAllItsTree) {
  TestSlots slots;
  const std::string fifo = slots.fifo("pids");
  const uint64_t ticket = slots.start(slots.shell(
      "trap '' TERM; sleep 1000 & a=$!; setsid sleep 1000 & echo $$ $a $! > " + fifo + "; wait"));
  std::istringstream pids(TestSlots::hear(fifo));
  const int64_t began = monotonic_us();
  slots->drop({ticket});
  EXPECT_LT(monotonic_us() - began, 200'000);
  for (pid_t pid = 0; pids >> pid;) EXPECT_TRUE(dies(pid));
  EXPECT_LT(monotonic_us() - began, 2'000'000);
  EXPECT_NE(slots.run(slots.builtin("noop")).ticket, ticket);
  EXPECT_EQ(children_of(getpid()), kKeeper);
}

TEST(Process, CleanupRunsInTheFolderWithTheEnvironmentAndIsOnlyNoted) {
  TestSlots slots;
  model::Spec& spec = slots.shell("echo made > file; exit 0");
  spec.set_cleanup("cp file " + slots.root() + "/$DUNLIN_JOB; echo unseen; exit 4");
  const Ending ending = slots.run(spec);
  EXPECT_EQ(ending.outcome.state(), model::STATE_OK);
  EXPECT_EQ(ending.outcome.why(),
            "cleanup: exit code 4; its fresh folder was removed with 1 file in it, \"file\": "
            "name with --cwd a folder that stays");
  EXPECT_EQ(ending.outcome.out().bytes(), "");
  EXPECT_EQ(read_file(slots.root() + "/job-1"), "made\n");
}

TEST(Process, WhatHasClearedItsEnvironmentEndsWithItsTask) {
  TestSlots slots({.slots = 2, .alone = true});
  const std::string fifo = slots.fifo("pid");
  const Ending ending =
      slots.run(slots.shell("env -i setsid sh -c 'echo $$ > " + fifo +
                            "; exec sleep 1000' & read pid < " + fifo + "; echo $pid"));
  ASSERT_EQ(ending.outcome.state(), model::STATE_OK);
  EXPECT_TRUE(dies(std::stoi(ending.outcome.out().bytes())));
}

TEST(Process, AChildOfSomebodyElseHereIsLeftAlone) {
  TestSlots slots;
  const pid_t other = fork();
  if (other == 0) {
    setsid();
    execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(127);
  }
  EXPECT_EQ(slots.run(slots.shell("exit 0")).outcome.state(), model::STATE_OK);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
  kill(other, SIGKILL);
  EXPECT_EQ(waitpid(other, nullptr, 0), other);
}

TEST(Process, TasksThatRunTogetherHaveSlotsWithDifferentNumbers) {
  TestSlots slots({.slots = 3});
  std::vector<std::string> gates;
  std::set<std::string> numbers;
  for (int i = 0; i < 3; ++i) {
    const std::string here = slots.fifo(fmt::format("here-{}", i));
    gates.push_back(slots.fifo(fmt::format("gate-{}", i)));
    slots.start(slots.shell("echo {%} > " + here + "; read go < " + gates.back()));
    numbers.insert(TestSlots::hear(here));
  }
  EXPECT_EQ(numbers, (std::set<std::string>{"1", "2", "3"}));
  for (const std::string& gate : gates) std::ofstream(gate) << "go\n";
  EXPECT_EQ(slots.take(3).size(), 3U);
  EXPECT_EQ(slots.run(slots.shell("echo {%}")).outcome.out().bytes(), "1\n");
}

TEST(Process, WhatATaskHasStartedDiesWithTheKilledWorker) {
  const TestFolder folder;
  const std::string fifo = folder.path() + "/pids";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const pid_t worker = fork();
  if (worker == 0) {
    TestSlots slots;
    slots.start(
        slots.shell("sleep 1000 & a=$!; setsid sleep 1000 & echo $$ $a $! > " + fifo + "; wait"));
    slots.wait(-1);
    _exit(0);
  }
  std::istringstream pids(TestSlots::hear(fifo));
  kill(worker, SIGKILL);
  int count = 0;
  for (pid_t pid = 0; pids >> pid; ++count) EXPECT_TRUE(dies(pid));
  EXPECT_EQ(count, 3);
  waitpid(worker, nullptr, 0);
}

TEST(Process, ATaskDiesWithItsKilledWorker) {
  const TestFolder folder;
  const std::string fifo = folder.path() + "/pid";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const pid_t worker = fork();
  if (worker == 0) {
    TestSlots slots;
    slots.start(slots.shell("echo $$ > " + fifo + "; exec sleep 1000"));
    slots.wait(-1);
    _exit(0);
  }
  const pid_t task = std::stoi(TestSlots::hear(fifo));
  kill(worker, SIGKILL);
  EXPECT_TRUE(dies(task));
  waitpid(worker, nullptr, 0);
}

TEST(Process, NoZombieAndNoDescriptorIsLeftByManyTasks) {
  TestSlots slots({.slots = 4});
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  slots.run(slots.command({"/bin/true"}));
  const auto before = descriptors();
  const model::Spec& good = slots.command({"/bin/true"});
  const model::Spec& bad = slots.command({"/no/such/program"});
  for (int i = 0; i < 200; ++i) slots.start(i % 2 == 0 ? good : bad);
  EXPECT_EQ(slots.take(200).size(), 200U);
  EXPECT_EQ(children_of(getpid()), kKeeper);
  EXPECT_LE(descriptors(), before + 3);  // Folders of the slots that had no process before.
}

}  // namespace
}  // namespace dunlin::worker
