// A hub for tests: the real loop on a free port of 127.0.0.1, in a thread of its own, over the
// memory core; and a client that speaks as strangely as a test wants.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/check.h"
#include "base/env_posix.h"
#include "hub/sessions.h"
#include "net/server.h"
#include "store/memory.h"

namespace dunlin {

class TestHub {
 public:
  static constexpr std::string_view kToken =
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

  explicit TestHub(net::ServerLimits limits = {}, const net::TlsContext* tls = nullptr,
                   std::unique_ptr<Core> core = memory_core())
      : core_(std::move(core)),
        server_(clock_, tls, limits),
        sessions_(server_, *core_, clock_, std::string(kToken)) {
    Result<net::Address> bound = server_.listen(net::resolve("127.0.0.1:0").value().front());
    CHECK(bound.ok());
    address_ = bound.value();
    thread_ = std::thread([this] { server_.run(sessions_); });
  }
  ~TestHub() { stop(); }
  TestHub(const TestHub&) = delete;
  TestHub& operator=(const TestHub&) = delete;

  const net::Address& address() const { return address_; }

  // For the hub, not for its peers.
  void skip(Millis time) { clock_.skip(time); }

  // Returns when the loop has ended.
  void stop() {
    if (!thread_.joinable()) return;
    server_.stop();
    thread_.join();
  }

 private:
  // The real clock, but time can be skipped from another thread.
  class SkippingClock final : public Clock {
   public:
    Instant now() const override { return posix_clock().now() + Millis(skipped_.load()); }
    WallTime wall() const override { return posix_clock().wall() + Millis(skipped_.load()); }
    void skip(Millis time) { skipped_ += time.count(); }

   private:
    std::atomic<int64_t> skipped_ = 0;
  };

  SkippingClock clock_;
  std::unique_ptr<Core> core_;
  net::Server server_;
  hub::Sessions sessions_;
  net::Address address_;
  std::thread thread_;
};

class TestClient {
 public:
  explicit TestClient(const TestHub& hub)
      : socket_(::socket(hub.address().socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto* name = reinterpret_cast<const sockaddr*>(&hub.address().socket);
    CHECK(connect(socket_, name, hub.address().size) == 0);
  }
  ~TestClient() { close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  int socket() const { return socket_; }

  // A peer that is gone does not matter here.
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }
  // How many bytes there was room for, at once.
  size_t send_some(std::string_view bytes) const {
    const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return size < 0 ? 0 : static_cast<size_t>(size);
  }

  void say_hello(std::string_view token = TestHub::kToken) {
    std::string bytes;
    append_preface(bytes);
    codec_.encode_hello({std::string(token), "test"}, bytes);
    send(bytes);
  }
  void ask(uint64_t id, const Request& request) {
    std::string bytes;
    codec_.encode_request(id, request, bytes);
    send(bytes);
  }

  // False at the end of the connection. Stops the test if nothing comes for long.
  bool receive() {
    pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
    CHECK(poll(&one, 1, 60'000) == 1);
    CHECK(unread_.empty());
    const ssize_t size = recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (size <= 0) return false;
    reader_.feed(unread_ = std::string_view(buffer_.data(), static_cast<size_t>(size)));
    return true;
  }

  // Nothing at the end of the connection.
  std::optional<std::string> next_frame() {
    while (true) {
      const auto frame = reader_.next();
      CHECK(frame.ok());
      if (frame.value()) return std::string(*frame.value());
      unread_ = {};
      if (!receive()) return std::nullopt;
    }
  }
  std::optional<Greeting> next_greeting() {
    const std::optional<std::string> frame = next_frame();
    if (!frame) return std::nullopt;
    reader_.set_limit(kFrameMax);
    return codec_.decode_greeting(*frame).value();
  }
  std::optional<NumberedAnswer> next_answer() {
    const std::optional<std::string> frame = next_frame();
    if (!frame) return std::nullopt;
    return codec_.decode_answer(*frame).value();
  }

  // Connects as an honest client does.
  void join() {
    say_hello();
    const std::optional<Greeting> greeting = next_greeting();
    CHECK(greeting && std::holds_alternative<Welcome>(*greeting));
  }

 private:
  int socket_;
  Codec codec_;
  FrameReader reader_{FrameReader::From::hub};
  std::array<char, 64 << 10> buffer_{};
  std::string_view unread_;  // In `buffer_`, given to `reader_`.
};

}  // namespace dunlin
