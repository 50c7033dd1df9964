#include "worker/process/watch.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/text.h"
#include "worker/process/stamps.h"

namespace dunlin::worker {
namespace {

constexpr int64_t kLookEveryUs = 200'000;
constexpr int64_t kWalkEveryUs = 1'000'000;  // Through the folder; less often if that takes long:
constexpr int64_t kWalkShare = 20;           // a twentieth of the time at most.

}  // namespace

Watch::Watch(Census& census, Bounds bounds, pid_t session, std::vector<std::string> marks)
    : census_(census),
      bounds_(std::move(bounds)),
      session_(session),
      look_at_(monotonic_us() + kLookEveryUs) {
  census_.begin(session, std::move(marks));
}

void Watch::stop() {
  if (!std::exchange(stopped_, true)) census_.end(session_);
}

int64_t Watch::look(int64_t now_us) {
  if (now_us < look_at_ || !excess_.empty()) return look_at_;
  if (bounds_.procs != 0 || bounds_.memory != 0) look_at_processes();
  if (bounds_.folder != 0 && !bounds_.path.empty() && now_us >= walk_at_) look_at_folder();
  look_at_ = monotonic_us() + kLookEveryUs;
  return look_at_;
}

void Watch::look_at_processes() {
  const Usage usage = census_.of(session_);
  if (bounds_.procs != 0 && usage.procs > bounds_.procs) {
    excess_ = fmt::format("it had {} processes and threads, more than its limit of {}", usage.procs,
                          bounds_.procs);
    return;
  }
  if (bounds_.memory == 0 || usage.memory <= bounds_.memory) return;
  const uint64_t memory = shared_memory_once(usage.pids);
  if (memory <= bounds_.memory) return;
  excess_ = fmt::format("it used {} of memory, more than its limit of {}", human_size(memory),
                        human_size(bounds_.memory));
}

void Watch::look_at_folder() {
  const int64_t begin_us = monotonic_us();
  const FolderUsage folder = folder_usage(bounds_.path, bounds_.folder);
  const int64_t end_us = monotonic_us();
  walk_at_ = end_us + std::max(kWalkEveryUs, kWalkShare * (end_us - begin_us));
  if (folder.bytes > bounds_.folder) {
    excess_ = fmt::format("it had {} in its folder, more than its limit of {}",
                          human_size(folder.bytes), human_size(bounds_.folder));
  } else if (!folder.complete) {
    excess_ = fmt::format(
        "its folder cannot be checked against its limit of {}: it has too many files, or folders "
        "that are too deep or locked",
        human_size(bounds_.folder));
  }
}

}  // namespace dunlin::worker
