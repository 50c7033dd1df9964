#include "base/folder_marks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/digest.h"
#include "base/who.h"

namespace dunlin {
namespace {

// Numbers that every file system of a kind gives its first folders say nothing.
constexpr uint64_t kInodesCommon = 1024;

// File systems that several machines mount: NFS, SMB and CIFS, Ceph, Lustre, GPFS, BeeGFS, OCFS2,
// GFS2, AFS, 9p, FUSE (GlusterFS and others).
constexpr std::array<uint64_t, 14> kShared = {
    0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x00c36400, 0x0bd00bd0, 0x47504653,
    0x19830326, 0x7461636f, 0x01161970, 0x5346414f, 0x6b414653, 0x01021997, 0x65735546};

std::string line_of(const char* file) {
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

constexpr uint32_t kOverlay = 0x794c7630;

// An image of a system has none, or "uninitialized".
bool is_machine_id(const std::string& text) {
  return text.size() == 32 &&
         std::ranges::all_of(text, [](unsigned char c) { return isxdigit(c) != 0; });
}

std::string mark(const std::string& text) { return hex(sha256("folder " + text)).substr(0, 16); }

}  // namespace

std::vector<std::string> folder_marks(const std::string& path) {
  static const std::string boot = line_of("/proc/sys/kernel/random/boot_id");
  static const std::string machine = line_of("/etc/machine-id");
  struct statx seen = {};
  struct statfs system = {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_UID | STATX_BTIME;
  if (statx(AT_FDCWD, path.c_str(), 0, kWanted, &seen) != 0 || !S_ISDIR(seen.stx_mode) ||
      statfs(path.c_str(), &system) != 0) {
    return {};
  }
  std::vector<std::string> marks;
  if (!boot.empty()) {
    marks.push_back(mark(fmt::format("kernel {} {}:{} {}", boot, seen.stx_dev_major,
                                     seen.stx_dev_minor, seen.stx_ino)));
  }
  const std::string number = fmt::format("{} {}", seen.stx_ino, seen.stx_uid);
  const auto type = static_cast<uint32_t>(system.f_type);
  const bool born = (seen.stx_mask & STATX_BTIME) != 0 && seen.stx_btime.tv_sec > 0;
  // Two that lie over the same folder, of containers for example, show its number and birth.
  if (is_machine_id(machine) && born && type != kOverlay) {
    marks.push_back(mark(fmt::format("machine {} {} {} {}.{}", machine, host_name(), number,
                                     seen.stx_btime.tv_sec, seen.stx_btime.tv_nsec)));
  }
  if (seen.stx_ino > kInodesCommon && std::ranges::find(kShared, type) != kShared.end()) {
    marks.push_back(mark(fmt::format("shared {} {}", type, number)));
  }
  return marks;
}

}  // namespace dunlin
