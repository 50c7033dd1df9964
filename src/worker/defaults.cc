#include "worker/defaults.h"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "base/env_posix.h"
#include "base/names.h"
#include "base/who.h"
#include "model/jobs/submit.h"

namespace dunlin::worker {
uint32_t default_slots() {
  return static_cast<uint32_t>(std::clamp<long>(sysconf(_SC_NPROCESSORS_ONLN), 1, kSlotsMax));
}

Result<WorkerOptions> with_defaults(WorkerOptions options) {
  options.host = host_name();
  options.pid = static_cast<uint32_t>(getpid());
  options.seed = random_seed();
  if (options.id.empty()) {
    options.id = fmt::format("{}-{}-{:04x}", options.host, options.pid, options.seed & 0xffffU);
  }
  if (!is_name(options.id)) {
    return Error{Code::invalid, fmt::format("the name {} is not 1 to 64 characters of A-Z a-z 0-9 "
                                            ". _ -",
                                            quote(options.id))};
  }
  if (options.slots == 0) options.slots = default_slots();
  if (options.slots > kSlotsMax) {
    return Error{
        Code::invalid,
        fmt::format(
            "{} slots are too many for one worker, which can have {}: start several workers",
            options.slots, kSlotsMax)};
  }
  for (const std::string& tag : options.tags) {
    if (!is_tag(tag)) return Error{Code::invalid, fmt::format("{} is not a tag", quote(tag))};
  }
  if (options.mem_bytes == 0) {
    options.mem_bytes =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(getpagesize());
  }
  if (options.hold < std::chrono::seconds(1) || options.hold > std::chrono::hours(1)) {
    return Error{Code::invalid, fmt::format("a hold of {} ms is out of range: give 1s to 1h",
                                            options.hold.count())};
  }
  return options;
}

Result<void> check_user(bool allow_root) {
  if (geteuid() != 0 || allow_root) return {};
  return Error{
      Code::denied,
      "a worker does not run as root, because its tasks would have all rights: start it as another "
      "user, name a user for the tasks with --run-as, or allow it with --allow-root"};
}

}  // namespace dunlin::worker
