#include "worker/slots/slots.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/check.h"
#include "worker/process/orphans.h"
#include "worker/process/private_folder.h"
#include "worker/slots/attempt.h"
#include "worker/slots/keeper.h"
#include "worker/slots/slot.h"

namespace dunlin::worker {
namespace {

constexpr std::chrono::seconds kReapEvery(1);

Error failure(std::string_view action, const std::string& what, const std::error_code& error) {
  return {Code::invalid, fmt::format("cannot {} {}: {}", action, what, error.message())};
}

// Absolute, because tasks run elsewhere.
Result<std::string> prepare_folder(const std::string& name, bool& used) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(name, error).lexically_normal();
  if (!error) used = !std::filesystem::create_directories(path, error);
  if (error) return failure("make the worker's folder", name, error);
  if (access(path.c_str(), W_OK | X_OK) != 0) {
    return failure("use the worker's folder", name, {errno, std::system_category()});
  }
  return path.string();
}

// The tasks of another user may pass through.
Result<void> open_to(const TaskUser& user, const std::string& folder) {
  constexpr mode_t kPass = 0011;
  struct stat found = {};
  const bool known = stat(folder.c_str(), &found) == 0;
  if (!known || chmod(folder.c_str(), (found.st_mode & 07777U) | kPass) != 0) {
    return failure("open to tasks the worker's folder", folder, {errno, std::system_category()});
  }
  return check_place(user, folder);
}

// Without what an earlier worker left when it was killed. False if something of its tasks stays.
bool tidy_folder(const std::string& path) {
  bool all = true;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string file = entry->path().filename();
    if (!file.starts_with("slot-") && !file.starts_with("spool-")) continue;
    all = remove_tree(entry->path()) && all;
  }
  return all;
}

// While it lives, threads are born with all signals blocked: handlers are the owner's business, and
// must not run in a child that borrows our memory.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    // A thread that blocks this one makes the kernel wake another for each child that dies.
    sigdelset(&all, SIGCHLD);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

class ThreadedSlots final : public Slots {
 public:
  explicit ThreadedSlots(SlotOptions options) : options_(std::move(options)) {
    exchange_.slots = exchange_.limit = options_.slots;
  }
  ~ThreadedSlots() override;

  Result<void> start(bool used);  // The folder, before.
  void assign(std::vector<Assignment> assignments, size_t grab) override;
  std::vector<Ending> take() override;
  int descriptor() const override { return exchange_.event; }
  void drop(const std::vector<uint64_t>& tickets) override;
  void limit(size_t slots) override;
  size_t running() const override { return exchange_.inside; }

 private:
  void reap();

  SlotOptions options_;
  std::unique_ptr<Keeper> keeper_;  // Goes after all that it keeps.
  Surroundings around_;
  Orphans orphans_;
  Census census_;
  const ProcessHost host_ = {orphans_, census_, options_.rules, options_.slots};
  Exchange exchange_;
  std::condition_variable stop_reaping_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::thread> threads_;
};

Result<void> ThreadedSlots::start(bool used) {
  if (options_.rules.user) TRY(open_to(*options_.rules.user, options_.folder));
  keeper_ = TRY(Keeper::start(options_.folder, used));
  tidy_folder(options_.folder);
  around_ = Surroundings::ours(keeper_->mark());
  orphans_.keep_out(keeper_->pid());
  orphans_.set_alone(options_.alone);
  exchange_.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (exchange_.event < 0) {
    return failure("make", "an eventfd", {errno, std::system_category()});
  }
  // Ignored, it would reap our children before we can ask how they ended.
  struct sigaction action = {};
  if (sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
    signal(SIGCHLD, SIG_DFL);
  }
  for (uint32_t number = 0; number < options_.slots; ++number) {
    const std::string spools = fmt::format("{}/spool-{}-", options_.folder, number);
    slots_.push_back(std::make_unique<Slot>(exchange_, options_, around_,
                                            fmt::format("{}/slot-{}", options_.folder, number),
                                            TRY(Process::make(spools, host_))));
  }
  const SignalsBlocked blocked;
  try {
    for (const auto& slot : slots_) threads_.emplace_back([&slot] { slot->work(); });
    threads_.emplace_back([this] { reap(); });
  } catch (const std::system_error& error) {
    return failure("start", fmt::format("{} slots", options_.slots), error.code());
  }
  return {};
}

ThreadedSlots::~ThreadedSlots() {
  {
    const std::lock_guard lock(exchange_.mutex);
    exchange_.stopping = true;
    exchange_.work.notify_all();
    stop_reaping_.notify_all();
  }
  for (const auto& slot : slots_) slot->stop();
  for (std::thread& thread : threads_) thread.join();
  for (const Ending& ending : exchange_.endings) remove_spools(ending);
  if (exchange_.event >= 0) close(exchange_.event);
}

void ThreadedSlots::reap() {
  std::unique_lock lock(exchange_.mutex);
  while (!stop_reaping_.wait_for(lock, kReapEvery, [this] { return exchange_.stopping; })) {
    lock.unlock();
    orphans_.reap();
    lock.lock();
  }
}

void ThreadedSlots::assign(std::vector<Assignment> assignments, size_t grab) {
  CHECK(grab > 0);
  size_t wanted = 0;
  {
    const std::lock_guard lock(exchange_.mutex);
    exchange_.grab = grab;
    wanted = std::min(exchange_.idle, (assignments.size() + grab - 1) / grab);
    std::move(assignments.begin(), assignments.end(), std::back_inserter(exchange_.waiting));
  }
  for (; wanted > 0; --wanted) exchange_.work.notify_one();
}

std::vector<Ending> ThreadedSlots::take() {
  eventfd_t ignored = 0;
  eventfd_read(exchange_.event, &ignored);
  const std::lock_guard lock(exchange_.mutex);
  return std::exchange(exchange_.endings, {});
}

void ThreadedSlots::drop(const std::vector<uint64_t>& tickets) {
  const Tickets unwanted(tickets.begin(), tickets.end());
  {
    const std::lock_guard lock(exchange_.mutex);
    std::erase_if(exchange_.waiting, [&](const Assignment& assignment) {
      return unwanted.contains(assignment.ticket);
    });
  }
  for (const auto& slot : slots_) slot->drop(unwanted);
  const std::lock_guard lock(exchange_.mutex);
  std::erase_if(exchange_.endings, [&](const Ending& ending) {
    if (!unwanted.contains(ending.ticket)) return false;
    remove_spools(ending);
    return true;
  });
}

void ThreadedSlots::limit(size_t slots) {
  const std::lock_guard lock(exchange_.mutex);
  exchange_.limit = slots;
  exchange_.work.notify_all();
}

}  // namespace

void remove_slots_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  // Each task's folder by itself first: of what its user could not remove nothing goes.
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && tidy_folder(folder)) remove_tree(folder);
  close(descriptor);
}

Result<std::unique_ptr<Slots>> Slots::start(SlotOptions options) {
  bool used = false;
  options.folder = TRY(prepare_folder(options.folder, used));
  auto slots = std::make_unique<ThreadedSlots>(std::move(options));
  TRY(slots->start(used));
  return std::unique_ptr<Slots>(std::move(slots));
}

}  // namespace dunlin::worker
