#include "worker/process/rights.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/names.h"

namespace dunlin::worker {
namespace {

constexpr size_t kEntryMax = 64 << 10;
constexpr int kGroupsMax = 65'536;  // The kernel's bound.

struct Capability {
  unsigned number;
  const char* name;
};
constexpr Capability kNeeded[] = {
    {CAP_CHOWN, "CAP_CHOWN"},   {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
    {CAP_FOWNER, "CAP_FOWNER"}, {CAP_KILL, "CAP_KILL"},
    {CAP_SETGID, "CAP_SETGID"}, {CAP_SETUID, "CAP_SETUID"}};

uint64_t capabilities() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data = {};
  if (syscall(SYS_capget, &header, data.data()) != 0) return 0;
  return data[0].effective | (uint64_t{data[1].effective} << 32U);
}

Result<void> check_capabilities(const std::string& name) {
  const uint64_t ours = capabilities();
  const auto has = [ours](unsigned number) { return ((ours >> number) & 1U) != 0; };
  for (const Capability& needed : kNeeded) {
    if (has(needed.number)) continue;
    return Error{Code::denied, fmt::format("tasks cannot run as {}, because the worker lacks the "
                                           "capability {}: start it as root, or as {} itself",
                                           name, needed.name, name)};
  }
  if (!has(CAP_SYS_PTRACE)) {
    log::warning(
        "without the capability CAP_SYS_PTRACE this worker cannot find all processes that its "
        "tasks "
        "leave: some may outlive them");
  }
  return {};
}

// A system that lets users look into processes that have just changed to them would let a task look
// into the worker, whose memory a new task borrows for a moment.
Result<void> check_system() {
  std::ifstream file("/proc/sys/fs/suid_dumpable");
  int value = 0;
  file >> value;
  if (value != 1) return {};
  return Error{Code::denied,
               "tasks cannot run safely as another user while fs.suid_dumpable is 1: run "
               "`sysctl fs.suid_dumpable=0`"};
}

// From the folder up: nobody but root may write there, except into a folder like /tmp, where nobody
// can rename what is another's.
Result<void> check_parents(const std::string& folder) {
  for (std::filesystem::path path = folder;; path = path.parent_path()) {
    struct stat found = {};
    if (stat(path.c_str(), &found) != 0) {
      return Error{Code::denied,
                   fmt::format("cannot look at {}: {}", path.string(), std::strerror(errno))};
    }
    const bool open = (found.st_mode & 0022U) != 0 && (found.st_mode & S_ISVTX) == 0;
    if (found.st_uid != 0 || open) {
      return Error{
          Code::denied,
          fmt::format("users other than root can write to {}, and could use that to gain root's "
                      "rights: name with --folder a folder that only root can write to",
                      path.string())};
    }
    if (path == path.parent_path()) return {};
  }
}

}  // namespace

Result<TaskUser> find_task_user(const std::string& name) {
  std::vector<char> entry(kEntryMax);
  passwd found = {};
  passwd* result = nullptr;
  const int failed = getpwnam_r(name.c_str(), &found, entry.data(), entry.size(), &result);
  if (result == nullptr) {
    return Error{Code::not_found,
                 fmt::format("there is no user {} to run tasks as{}{}", quote(name),
                             failed == 0 ? "" : ": ", failed == 0 ? "" : std::strerror(failed))};
  }
  if (found.pw_uid == 0) {
    return Error{
        Code::invalid,
        fmt::format(
            "tasks cannot run as {}, who has all rights: name a user that nothing else runs as",
            quote(name))};
  }
  TRY(check_capabilities(name));
  TRY(check_system());
  TaskUser user = {.name = name,
                   .uid = found.pw_uid,
                   .gid = found.pw_gid,
                   .home = found.pw_dir,
                   .shell = found.pw_shell};
  int count = 64;
  user.groups.resize(64);
  while (getgrouplist(name.c_str(), user.gid, user.groups.data(), &count) < 0 &&
         count <= kGroupsMax) {
    user.groups.resize(static_cast<size_t>(count));
  }
  user.groups.resize(static_cast<size_t>(count));
  return user;
}

// This thread looks for files as the user does, for a moment.
Result<void> check_place(const TaskUser& user, const std::string& folder) {
  TRY(check_parents(folder));
  const int own_gid = setfsgid(user.gid);
  const int own_uid = setfsuid(user.uid);
  struct stat found = {};
  const int failed = stat((folder + "/.").c_str(), &found) == 0 ? 0 : errno;
  setfsuid(static_cast<uid_t>(own_uid));
  setfsgid(static_cast<gid_t>(own_gid));
  if (failed == 0) return {};
  return Error{Code::denied,
               fmt::format("the tasks' user {} cannot reach the folder {}: {}; name with --folder "
                           "one whose parent folders everybody may enter",
                           user.name, folder, std::strerror(failed))};
}

}  // namespace dunlin::worker
