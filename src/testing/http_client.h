// A client of HTTP for tests and benchmarks, which says what they want. Calls block. One thread at
// a time.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"

namespace dunlin {

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
  // To a port of 127.0.0.1.
  explicit HttpClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    CHECK(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  ~HttpClient() { close(socket_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // False if the server has ended the connection.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
    return true;
  }

  // It sends no more.
  void finish() const { shutdown(socket_, SHUT_WR); }

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
    if (!body.empty()) {
      request.append("content-length: ").append(std::to_string(body.size())).append("\r\n");
    }
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

}  // namespace dunlin
