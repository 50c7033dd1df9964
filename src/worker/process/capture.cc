#include "worker/process/capture.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "base/log.h"
#include "model/keys.h"

namespace dunlin::worker {

Capture::~Capture() {
  if (!release().empty()) unlink(path_.c_str());
}

std::string Capture::release() {
  if (file_ < 0) return {};
  close(std::exchange(file_, -1));
  return path_;
}

void Capture::add(std::string_view bytes) {
  const size_t room = !trouble_.empty() ? 0 : std::min<uint64_t>(bytes.size(), max_ - kept_);
  cut_ += bytes.size() - room;
  bytes = bytes.substr(0, room);
  if (bytes.empty()) return;
  if (file_ < 0 && bytes_.size() + bytes.size() <= kOutputRowMax) {
    bytes_ += bytes;
    kept_ += bytes.size();
    return;
  }
  if (!spool(bytes)) {
    trouble_ = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
    log::warning("the output of a task is incomplete: {}", trouble_);
    cut_ += bytes.size();
  }
}

// All or nothing, so that what is kept has no half of a piece.
bool Capture::spool(std::string_view bytes) {
  if (file_ < 0) {
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file_ < 0) return false;
    const std::string first = std::exchange(bytes_, {});
    kept_ = 0;
    if (!spool(first)) {
      close(std::exchange(file_, -1));
      unlink(path_.c_str());
      bytes_ = first;
      kept_ = first.size();
      return false;
    }
  }
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = write(file_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int number = std::exchange(errno, 0);
      if (ftruncate(file_, static_cast<off_t>(kept_)) != 0) return false;
      errno = number;
      return false;
    }
    done += static_cast<size_t>(count);
  }
  kept_ += bytes.size();
  return true;
}

}  // namespace dunlin::worker
