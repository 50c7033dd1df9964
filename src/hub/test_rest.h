// The REST service for tests: on a free port of 127.0.0.1, over a hub of its own, with a clock that
// can be moved; and a client that says what a test wants.
#pragma once

#include <atomic>
#include <charconv>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/open.h"
#include "base/check.h"
#include "base/env_posix.h"
#include "hub/test_hub.h"
#include "rest/api.h"
#include "rest/service.h"

namespace dunlin {

// For people the time stands still until it is moved, from any thread.
class MovedClock final : public Clock {
 public:
  Instant now() const override { return posix_clock().now(); }
  WallTime wall() const override { return began_ + Millis(moved_.load()); }
  void move(Millis time) { moved_ += time.count(); }

 private:
  const WallTime began_ = posix_clock().wall();
  std::atomic<int64_t> moved_ = 0;
};

struct HttpAnswer {
  int status = 0;  // 0: the connection ended first.
  std::string head = {};
  std::string body = {};

  std::string header(const std::string& name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class HttpClient {
 public:
  explicit HttpClient(const Address& address)
      : socket_(::socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto* name = reinterpret_cast<const sockaddr*>(&address.socket);
    CHECK(connect(socket_, name, address.size) == 0);
  }
  ~HttpClient() { close(socket_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }

  // The next reply, without one that only says to go on.
  HttpAnswer receive() {
    HttpAnswer answer;
    while (unread_.find("\r\n\r\n") == std::string::npos) {
      if (!more()) return answer;
    }
    const size_t end = unread_.find("\r\n\r\n") + 2;
    answer.head = unread_.substr(0, end);
    unread_.erase(0, end + 2);
    const std::string number = answer.head.substr(9, 3);
    std::from_chars(number.data(), number.data() + 3, answer.status);
    if (answer.status == 100) return answer;
    if (answer.header("transfer-encoding") == "chunked") {
      while (unread_.find("0\r\n\r\n") == std::string::npos && more()) continue;
      std::swap(answer.body, unread_);
      return answer;
    }
    const std::string length = answer.header("content-length");
    size_t size = 0;
    std::from_chars(length.data(), length.data() + length.size(), size);
    while (unread_.size() < size && more()) continue;
    answer.body = unread_.substr(0, size);
    unread_.erase(0, size);
    return answer;
  }

  // Reads until that was seen; it stays to be received.
  void until(std::string_view text) {
    while (unread_.find(text) == std::string::npos && more()) continue;
  }

  HttpAnswer ask(std::string_view method, std::string_view target, std::string_view headers = "",
                 std::string_view body = "") {
    std::string request(method);
    request.append(" ").append(target).append(" HTTP/1.1\r\nhost: test\r\n").append(headers);
    if (!body.empty())
      request.append("content-length: ").append(std::to_string(body.size())).append("\r\n");
    request.append("\r\n").append(body);
    send(request);
    return receive();
  }
  HttpAnswer get(std::string_view target, std::string_view headers = "") {
    return ask("GET", target, headers);
  }

 private:
  bool more() {
    std::array<char, 64 << 10> bytes{};
    const ssize_t size = recv(socket_, bytes.data(), bytes.size(), 0);
    if (size <= 0) return false;
    unread_.append(bytes.data(), static_cast<size_t>(size));
    return true;
  }

  int socket_;
  std::string unread_;
};

class TestRest {
 public:
  // Beside the hub of another one if it is given.
  explicit TestRest(rest::ServiceOptions options = {}, TestRest* beside = nullptr,
                    std::vector<rest::Family> families = rest::all_families())
      : own_hub_(beside ? nullptr : std::make_unique<TestHub>()),
        hub_(beside ? beside->hub_ : own_hub_.get()),
        clock_(beside ? beside->clock_ : &own_clock_),
        families_(std::move(families)),
        stores_([this](const std::string& token) { return open(token); }, std::nullopt, *clock_),
        service_(*clock_, stores_, families_, options) {
    stores_.set_own(std::string(TestHub::kToken));
    address_ = service_.listen(resolve("127.0.0.1:0").value().front()).value();
    service_.start();
  }

  const Address& address() const { return address_; }
  rest::Service& service() { return service_; }
  MovedClock& clock() { return *clock_; }

  Result<std::unique_ptr<CallStore>> open(const std::string& token) const {
    return open_store("dunlin://" + hub_->address().text(), {.token = token});
  }
  std::unique_ptr<CallStore> store() const { return open(std::string(TestHub::kToken)).value(); }

  // Over a connection of its own.
  HttpAnswer get(std::string_view target, std::string_view headers = "") const {
    return HttpClient(address_).get(target, headers);
  }

 private:
  MovedClock own_clock_;
  std::unique_ptr<TestHub> own_hub_;
  TestHub* hub_;
  MovedClock* clock_;
  std::vector<rest::Family> families_;
  rest::Stores stores_;
  rest::Service service_;
  Address address_;
};

}  // namespace dunlin
