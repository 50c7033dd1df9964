#include "net/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/wait.h"

namespace dunlin::net {
namespace {

constexpr int kKeepIdleS = 30;
constexpr int kKeepIntervalS = 10;
constexpr int kKeepProbes = 3;
constexpr unsigned kUnackedMs = 30'000;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Error unavailable(const std::string& peer, std::string_view what) {
  return Error{Code::unavailable, fmt::format("{}: {}", peer, what)};
}

template <typename T>
void set_option(int fd, int level, int name, T value) {
  // Each makes the connection better; none is needed for it to work.
  setsockopt(fd, level, name, &value, sizeof(value));
}

void tune(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleS);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalS);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepProbes);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnackedMs);
}

// Why a connection failed, or 0.
int finish_connect(int fd, Instant deadline, const Clock& clock) {
  if (poll_until(fd, POLLOUT, deadline, clock) == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::string advice(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "connection refused: nothing listens there, is the hub running?";
    case ETIMEDOUT:
      return "timed out: is the machine up, and does a firewall let the port through?";
    case ENETUNREACH:
    case EHOSTUNREACH:
      return "cannot be reached from here: check the network";
    default:
      return std::strerror(error);
  }
}

}  // namespace

std::string host_port(const std::string& host, uint16_t port) {
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Socket> Socket::connect(const std::string& host, uint16_t port, Instant deadline,
                               const Clock& clock) {
  const std::string peer = host_port(host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found)) {
    return unavailable(peer, fmt::format("cannot look up the name '{}' ({}): check its spelling",
                                         host, gai_strerror(code)));
  }
  const Addresses addresses(found);

  int error = ETIMEDOUT;
  int left = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) ++left;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next, --left) {
    const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      error = errno;
      continue;
    }
    Socket socket(fd, peer);
    tune(fd);
    // A dead address gets its share of the time, not all of it.
    const Instant share = clock.now() + (deadline - clock.now()) / left;
    if (::connect(fd, at->ai_addr, at->ai_addrlen) == 0) return socket;
    error = errno == EINPROGRESS ? finish_connect(fd, share, clock) : errno;
    if (error == 0) return socket;
  }
  return unavailable(peer, advice(error));
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), peer_(std::move(other.peer_)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(peer_, other.peer_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket::Ready Socket::wait(bool want_write, Instant deadline, const Clock& clock, int also) const {
  const short events = want_write ? POLLIN | POLLOUT : POLLIN;
  const int got = poll_until(fd_, events, deadline, clock, also);
  // Trouble is found by whoever reads or writes next.
  const bool trouble = (got & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  return Ready{.to_read = trouble || (got & POLLIN) != 0, .to_write = (got & POLLOUT) != 0};
}

Result<size_t> Socket::read_some(std::span<char> into) {
  const ssize_t size = recv(fd_, into.data(), into.size(), 0);
  if (size > 0) return static_cast<size_t>(size);
  if (size == 0) return unavailable(peer_, "the other side closed the connection");
  if (errno == EAGAIN || errno == EINTR) return size_t{0};
  return unavailable(peer_, advice(errno));
}

Result<size_t> Socket::write_some(std::string_view bytes) {
  const ssize_t size = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (size >= 0) return static_cast<size_t>(size);
  if (errno == EAGAIN || errno == EINTR) return size_t{0};
  return unavailable(peer_, advice(errno));
}

}  // namespace dunlin::net
