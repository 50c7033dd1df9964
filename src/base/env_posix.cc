#include "base/env_posix.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dunlin {
namespace {

std::atomic<uint64_t> syncs = 0;

class PosixClock final : public Clock {
 public:
  Instant now() const override {
    return std::chrono::time_point_cast<Millis>(std::chrono::steady_clock::now());
  }
  WallTime wall() const override {
    return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  }
};

Error failure(const char* action, const std::string& path) {
  const int number = errno;
  const auto code = [number] {
    switch (number) {
      case ENOENT:
      case ENOTDIR:
        return Code::not_found;
      case EACCES:
      case EPERM:
      case EROFS:
        return Code::denied;
      case ENOSPC:
      case EDQUOT:
      case EMFILE:
      case ENFILE:
        return Code::full;
      case ENAMETOOLONG:
      case EISDIR:
        return Code::invalid;
      default:
        return Code::unavailable;
    }
  }();
  return {code, std::string("cannot ") + action + " " + path + ": " + std::strerror(number)};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

class PosixFile final : public File {
 public:
  PosixFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<void> write(uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written =
          ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0) {
        if (errno == EINTR) continue;
        return failure("write", path_);
      }
      bytes.remove_prefix(static_cast<size_t>(written));
      offset += static_cast<uint64_t>(written);
    }
    return {};
  }

  Result<void> sync() override {
    ++syncs;
    if (::fdatasync(fd_.get()) != 0) return failure("sync", path_);
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return failure("truncate", path_);
    return {};
  }

  Result<size_t> read(uint64_t offset, std::span<char> into) const override {
    size_t done = 0;
    while (done < into.size()) {
      const ssize_t got = ::pread(fd_.get(), into.data() + done, into.size() - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0) {
        if (errno == EINTR) continue;
        return failure("read", path_);
      }
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  Result<uint64_t> size() const override {
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) return failure("look at", path_);
    return static_cast<uint64_t>(status.st_size);
  }

 private:
  Descriptor fd_;
  std::string path_;
};

class PosixLock final : public FolderLock {
 public:
  explicit PosixLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

// "process 4711 (dunlin hub --data d)" as well as it can be known.
std::string describe_holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid = size > 0 ? text.data() : "";
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  if (pid.empty()) return "another process";

  const Descriptor command(::open(("/proc/" + pid + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> line{};
  const ssize_t got = command.get() < 0 ? 0 : ::read(command.get(), line.data(), line.size());
  std::string shown(line.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  std::ranges::replace(shown, '\0', ' ');
  while (!shown.empty() && shown.back() == ' ') shown.pop_back();
  return "process " + pid + (shown.empty() ? "" : " (" + shown + ")");
}

class PosixDisk final : public Disk {
 public:
  Result<std::unique_ptr<File>> create(const std::string& path) override {
    return open_file(path, O_CREAT | O_TRUNC | O_RDWR, "create");
  }
  Result<std::unique_ptr<File>> open(const std::string& path) override {
    return open_file(path, O_RDWR, "open");
  }
  Result<std::unique_ptr<File>> open_to_read(const std::string& path) const override {
    return open_file(path, O_RDONLY, "open");
  }

  Result<void> remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failure("remove", path);
    return {};
  }

  Result<std::vector<std::string>> list(const std::string& folder) const override {
    DIR* const stream = ::opendir(folder.c_str());
    if (stream == nullptr) return failure("list", folder);
    std::vector<std::string> names;
    while (const dirent* const entry = ::readdir(stream)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(stream);
    std::ranges::sort(names);
    return names;
  }

  Result<void> make_folder(const std::string& folder) override {
    for (size_t at = 1; at <= folder.size(); ++at) {
      if (at != folder.size() && folder[at] != '/') continue;
      const std::string part = folder.substr(0, at);
      if (::mkdir(part.c_str(), 0700) == 0) {
        const size_t slash = part.rfind('/');
        TRY(sync_folder(slash == std::string::npos ? "." : part.substr(0, slash + 1)));
      } else if (errno != EEXIST) {
        return failure("make", part);
      }
    }
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) return failure("look at", folder);
    if (!S_ISDIR(status.st_mode)) return Error{Code::invalid, folder + " is not a folder"};
    return {};
  }

  Result<void> sync_folder(const std::string& folder) override {
    ++syncs;
    const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0 || ::fsync(fd.get()) != 0) return failure("sync", folder);
    return {};
  }

  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override {
    const std::string path = folder + "/lock";
    Descriptor fd(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (fd.get() < 0) return failure("open", path);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return failure("lock", path);
      return Error{Code::denied, folder + " is in use by " + describe_holder(fd.get()) +
                                     ": stop it first, or name another folder"};
    }
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(fd.get(), 0) != 0 ||
        ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
      // A full disk must not keep the owner out: the lock holds all the same, without its name.
    }
    return std::unique_ptr<FolderLock>(std::make_unique<PosixLock>(std::move(fd)));
  }

 private:
  static Result<std::unique_ptr<File>> open_file(const std::string& path, int flags,
                                                 const char* action) {
    Descriptor fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    if (fd.get() < 0) return failure(action, path);
    return std::unique_ptr<File>(std::make_unique<PosixFile>(std::move(fd), path));
  }
};

}  // namespace

Clock& posix_clock() {
  static PosixClock clock;
  return clock;
}

Disk& posix_disk() {
  static PosixDisk disk;
  return disk;
}

uint64_t posix_syncs() { return syncs; }

uint64_t random_seed() {
  uint64_t seed = 0;
  CHECK(::getrandom(&seed, sizeof(seed), 0) == sizeof(seed));
  return seed;
}

}  // namespace dunlin
