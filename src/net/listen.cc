#include "net/listen.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dunlin::net {
namespace {

void set_option(int socket, int level, int name, int value) {
  // These only tune: a kernel that does not know one serves all the same.
  setsockopt(socket, level, name, &value, sizeof(value));
}

Error refused_by_system(std::string_view doing, const Address& address) {
  const Code code = errno == EADDRINUSE || errno == EACCES ? Code::denied : Code::invalid;
  const char* next = errno == EADDRINUSE      ? ": another program has it, choose another port"
                     : errno == EACCES        ? ": choose a port above 1023"
                     : errno == EADDRNOTAVAIL ? ": it is not an address of this machine"
                                              : "";
  return Error{
      code, fmt::format("cannot {} {}: {}{}", doing, address.text(), std::strerror(errno), next)};
}

Result<Address> listen_with(int socket, const Address& address) {
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.socket.ss_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  const auto* name = reinterpret_cast<const sockaddr*>(&address.socket);
  if (bind(socket, name, address.size) != 0 || listen(socket, SOMAXCONN) != 0) {
    return refused_by_system("listen on", address);
  }
  Address bound;
  bound.size = sizeof(bound.socket);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound.socket), &bound.size) != 0) {
    return refused_by_system("listen on", address);
  }
  return bound;
}

}  // namespace

Result<std::vector<Address>> resolve_to_listen(const std::vector<std::string>& texts, bool tls,
                                               bool insecure) {
  std::vector<Address> addresses;
  for (const std::string& text : texts) {
    for (const Address& address : TRY(resolve(text))) {
      if (!tls && !insecure && !address.loopback()) {
        return Error{Code::denied,
                     fmt::format("refusing to listen on {} ({}) without TLS, as tokens and data "
                                 "would be readable on the network: give --tls-cert and --tls-key, "
                                 "or accept that with --insecure",
                                 text, address.text())};
      }
      addresses.push_back(address);
      if (address.port() == 0) break;  // Two of one name would get different ports.
    }
  }
  return addresses;
}

Result<Listening> open_listener(const Address& address) {
  const int socket =
      ::socket(address.socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return refused_by_system("open a socket for", address);
  Result<Address> bound = listen_with(socket, address);
  if (bound.ok()) return Listening{socket, bound.value()};
  close(socket);
  return bound.error();
}

void tune_connection(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace dunlin::net
