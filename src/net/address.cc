#include "net/address.h"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <span>

#include "url/loopback.h"
#include "url/url.h"

namespace dunlin::net {
namespace {

const sockaddr_in& ipv4(const sockaddr_storage& socket) {
  return reinterpret_cast<const sockaddr_in&>(socket);
}
const sockaddr_in6& ipv6(const sockaddr_storage& socket) {
  return reinterpret_cast<const sockaddr_in6&>(socket);
}

}  // namespace

uint16_t Address::port() const {
  return ntohs(socket.ss_family == AF_INET6 ? ipv6(socket).sin6_port : ipv4(socket).sin_port);
}

void Address::set_port(uint16_t port) {
  if (socket.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(socket).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(socket).sin_port = htons(port);
  }
}

bool Address::loopback() const {
  if (socket.ss_family == AF_INET6) return is_loopback(ipv6(socket).sin6_addr.s6_addr);
  const in_addr_t four = ipv4(socket).sin_addr.s_addr;
  return is_loopback(std::span(reinterpret_cast<const uint8_t*>(&four), sizeof(four)));
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (socket.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &ipv6(socket).sin6_addr, host.data(), host.size());
    return fmt::format("[{}]:{}", host.data(), port());
  }
  inet_ntop(AF_INET, &ipv4(socket).sin_addr, host.data(), host.size());
  return fmt::format("{}:{}", host.data(), port());
}

Result<std::vector<Address>> resolve(std::string_view host_and_port) {
  const Error malformed = {
      Code::invalid, fmt::format("'{}' is not an address: write host:port, e.g. 127.0.0.1:7070 or "
                                 "[::1]:7070",
                                 host_and_port)};
  const Result<UrlHost> parsed = parse_host(host_and_port, 0);
  if (!parsed.ok() || !parsed.value().port) return malformed;
  const std::string& host = parsed.value().name;

  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failed != 0) {
    return Error{Code::not_found,
                 fmt::format("cannot find the host '{}': {}", host, gai_strerror(failed))};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    Address& address = addresses.emplace_back();
    std::memcpy(&address.socket, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    address.set_port(*parsed.value().port);
  }
  if (addresses.empty()) {
    return Error{Code::not_found, fmt::format("the host '{}' has no IP address", host)};
  }
  return addresses;
}

}  // namespace dunlin::net
