// Where to listen or connect: "host:port", "[::1]:port". Resolving a name may block. From any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

#include "base/result.h"

namespace dunlin::net {

struct Address {
  sockaddr_storage socket{};
  socklen_t size = 0;

  uint16_t port() const;
  void set_port(uint16_t port);
  bool loopback() const;  // Reached only from this machine.
  std::string text() const;
};

// All that a name stands for, at least one. `invalid` if it is not host:port, `not_found` if there
// is no such host.
Result<std::vector<Address>> resolve(std::string_view host_and_port);

}  // namespace dunlin::net
