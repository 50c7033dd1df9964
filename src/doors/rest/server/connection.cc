#include "doors/rest/server/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/address.h"

namespace dunlin::rest {
namespace {

constexpr size_t kReadSize = 64 << 10;

Error broken(const char* what) { return {Code::unavailable, std::string("the client ") + what}; }

// The events of the socket; 0 at the deadline, or when only `also` can be read.
int wait_for(int socket, short events, Instant deadline, const Clock& clock, int also = -1) {
  while (true) {
    const auto left = std::clamp<int64_t>((deadline - clock.now()).count(), 0, 3'600'000);
    pollfd both[] = {{.fd = socket, .events = events, .revents = 0},
                     {.fd = also, .events = POLLIN, .revents = 0}};
    const int count = poll(both, 2, static_cast<int>(left));
    if (count > 0) return both[0].revents;
    if (count == 0 && clock.now() >= deadline) return 0;
    CHECK(count == 0 || errno == EINTR);
  }
}

}  // namespace

Connection::Connection(int socket, const net::TlsContext* tls, const Clock& clock)
    : socket_(socket), clock_(clock), in_(kReadSize, '\0') {
  if (tls != nullptr) tls_.emplace(tls->accept());
}

Connection::~Connection() { close(socket_); }

Result<Connection::Got> Connection::receive(std::string& into, Instant deadline, int also) {
  const size_t before = into.size();
  while (into.size() == before) {
    if (wait_for(socket_, POLLIN, deadline, clock_, also) == 0) {
      if (clock_.now() < deadline) return Got::interrupt;
      return broken("says nothing");
    }
    const ssize_t size = recv(socket_, in_.data(), in_.size(), 0);
    if (size == 0) return Got::end;
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size < 0) return broken("is gone");
    const std::string_view bytes(in_.data(), static_cast<size_t>(size));
    if (!tls_) {
      into += bytes;
      continue;
    }
    const Result<void> received = tls_->receive(bytes, into, wire_);
    TRY(send_wire(std::max(deadline - clock_.now(), Millis(1))));
    TRY(received);
    if (tls_->finished()) return into.size() == before ? Got::end : Got::bytes;
  }
  return Got::bytes;
}

Result<void> Connection::send(std::string_view bytes, Millis stall) {
  if (tls_) {
    if (!tls_->ready()) return broken("has not finished the TLS handshake");
    TRY(tls_->send(bytes, wire_));
    return send_wire(stall);
  }
  while (!bytes.empty()) {
    const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size >= 0) {
      bytes.remove_prefix(static_cast<size_t>(size));
    } else if (errno != EAGAIN && errno != EINTR) {
      return broken("is gone");
    } else if (wait_for(socket_, POLLOUT, clock_.now() + stall, clock_) == 0) {
      return broken("does not take its answer");
    }
  }
  return {};
}

Result<void> Connection::send_wire(Millis stall) {
  size_t sent = 0;
  while (sent < wire_.size()) {
    const ssize_t size = ::send(socket_, wire_.data() + sent, wire_.size() - sent, MSG_NOSIGNAL);
    if (size >= 0) {
      sent += static_cast<size_t>(size);
    } else if (errno != EAGAIN && errno != EINTR) {
      return broken("is gone");
    } else if (wait_for(socket_, POLLOUT, clock_.now() + stall, clock_) == 0) {
      return broken("does not take its answer");
    }
  }
  wire_.clear();
  return {};
}

std::string Connection::local() const {
  net::Address address;
  address.size = sizeof(address.socket);
  auto* const socket = reinterpret_cast<sockaddr*>(&address.socket);
  const bool known = getsockname(socket_, socket, &address.size) == 0;
  const auto family = address.socket.ss_family;
  if (!known || (family != AF_INET && family != AF_INET6)) return "localhost";
  return address.text();
}

bool Connection::gone() const {
  char byte = 0;
  const ssize_t size = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
}

void Connection::finish(Millis linger) {
  if (tls_ && tls_->ready()) {
    tls_->finish(wire_);
    if (!send_wire(linger).ok()) return;
  }
  shutdown(socket_, SHUT_WR);
  // Closing with bytes unread would make the system drop what the client has not read yet.
  const Instant deadline = clock_.now() + linger;
  while (wait_for(socket_, POLLIN, deadline, clock_) != 0) {
    if (recv(socket_, in_.data(), in_.size(), 0) <= 0 && errno != EINTR) return;
  }
}

}  // namespace dunlin::rest
