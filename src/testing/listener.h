// A listening TCP socket on a free port of 127.0.0.1, and the server's end of a connection, for
// tests that need a real peer. Calls block; they stop the test if they wait for long. One thread at
// a time.
#pragma once

#include <array>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"

namespace dunlin {

class TestConnection {
 public:
  explicit TestConnection(int fd) : fd_(fd) {}
  TestConnection(TestConnection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TestConnection& operator=(TestConnection&&) = delete;
  ~TestConnection() {
    if (fd_ >= 0) close(fd_);
  }

  // Some bytes, or none at the end of the connection.
  std::string read() const {
    pollfd one{.fd = fd_, .events = POLLIN, .revents = 0};
    CHECK(poll(&one, 1, 60'000) == 1);
    std::array<char, 64 << 10> bytes{};
    const ssize_t size = recv(fd_, bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<size_t>(size < 0 ? 0 : size)};
  }
  // A peer that is gone does not matter here.
  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }

 private:
  int fd_;
};

class TestListener {
 public:
  TestListener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    CHECK(listen(fd_, 16) == 0);
    socklen_t size = sizeof(address);
    CHECK(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  TestListener(const TestListener&) = delete;
  TestListener& operator=(const TestListener&) = delete;
  ~TestListener() { close(fd_); }

  uint16_t port() const { return port_; }

  TestConnection accept() const {
    pollfd one{.fd = fd_, .events = POLLIN, .revents = 0};
    CHECK(poll(&one, 1, 60'000) == 1);
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    return TestConnection(fd);
  }

 private:
  int fd_;
  uint16_t port_ = 0;
};

}  // namespace dunlin
