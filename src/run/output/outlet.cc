#include "run/output/outlet.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dunlin::run {
namespace {

constexpr size_t kBufferMax = 64 << 10;

bool is_kind(int descriptor, mode_t kind) {
  struct stat about = {};
  return fstat(descriptor, &about) == 0 && (about.st_mode & S_IFMT) == kind;
}

}  // namespace

Error Outlet::failed(int number) {
  broken_ = true;
  reader_gone_ = number == EPIPE;
  return {Code::full,
          fmt::format("cannot write to {}: {}; run the same command again to see what is missing",
                      name_, std::strerror(number))};
}

Result<void> Outlet::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() <= kBufferMax) {
    buffer_ += bytes;
    return {};
  }
  if (Result<void> flushed = flush(); !flushed.ok()) return flushed;
  if (bytes.size() > kBufferMax) return write_now(bytes);
  buffer_ = bytes;
  return {};
}

Result<void> Outlet::flush() {
  if (buffer_.empty()) return {};
  const std::string bytes = std::exchange(buffer_, {});
  return write_now(bytes);
}

// A pipe that nobody empties must not keep us from hearing signals.
Result<void> Outlet::wait_for_room() {
  std::array<pollfd, 2> polled = {{{.fd = descriptor_, .events = POLLOUT, .revents = 0},
                                   {.fd = signals_, .events = POLLIN, .revents = 0}}};
  while (poll(polled.data(), polled.size(), -1) < 0) {
    if (errno != EINTR) return failed(errno);
  }
  if (polled[0].revents != 0 || polled[1].revents == 0) return {};
  broken_ = true;
  interrupted_ = true;
  return Error{Code::unavailable, fmt::format("interrupted while {} took nothing", name_)};
}

Result<void> Outlet::write_now(std::string_view bytes) {
  if (broken_) return Error{Code::full, fmt::format("cannot write to {}", name_)};
  const bool waits = is_kind(descriptor_, S_IFIFO) || is_kind(descriptor_, S_IFSOCK) ||
                     is_kind(descriptor_, S_IFCHR);
  while (!bytes.empty()) {
    if (waits) {
      if (Result<void> room = wait_for_room(); !room.ok()) return room;
    }
    // So much fits into a pipe that has room at all.
    const size_t size = waits ? std::min<size_t>(bytes.size(), PIPE_BUF) : bytes.size();
    const ssize_t count = ::write(descriptor_, bytes.data(), size);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return failed(count == 0 ? EIO : errno);
    written_ += static_cast<uint64_t>(count);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

uint64_t Outlet::taken() const {
  int unread = 0;
  if (!is_kind(descriptor_, S_IFIFO) || ioctl(descriptor_, FIONREAD, &unread) != 0) return written_;
  return written_ - std::min<uint64_t>(written_, static_cast<uint64_t>(unread));
}

bool Outlet::reader_gone() const {
  if (reader_gone_) return true;
  pollfd polled = {.fd = descriptor_, .events = 0, .revents = 0};
  return is_kind(descriptor_, S_IFIFO) && poll(&polled, 1, 0) > 0 &&
         (polled.revents & POLLERR) != 0;
}

Result<void> Outlet::sync() const {
  if (!is_kind(descriptor_, S_IFREG) || fdatasync(descriptor_) == 0) return {};
  return Error{
      Code::full,
      fmt::format(
          "cannot make {} durable: {}; run the same command again to see what may be missing",
          name_, std::strerror(errno))};
}

}  // namespace dunlin::run
