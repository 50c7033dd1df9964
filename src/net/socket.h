// A TCP connection to a server. Nothing here blocks for longer than its deadline. Errors are
// `unavailable`, name the peer and say what to look at. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/result.h"

namespace dunlin::net {

class Socket {
 public:
  // Tries every address of `host` until one answers. A name is looked up by the system, which has
  // time limits of its own. Delays are off; a silent peer is noticed within a minute.
  static Result<Socket> connect(const std::string& host, uint16_t port, Instant deadline,
                                const Clock& clock);

  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  struct Ready {
    bool to_read = false;
    bool to_write = false;
  };
  // Returns when there is something to read (or the end), when there is room to write if
  // `want_write`, or with neither at the deadline or when the descriptor `also` can be read.
  Ready wait(bool want_write, Instant deadline, const Clock& clock, int also = -1) const;

  // As much as is there now, or as there is room for: 0 if nothing. A connection that the peer
  // ended is an error.
  Result<size_t> read_some(std::span<char> into);
  Result<size_t> write_some(std::string_view bytes);

  const std::string& peer() const { return peer_; }  // host:port

 private:
  Socket(int fd, std::string peer) : fd_(fd), peer_(std::move(peer)) {}

  int fd_;
  std::string peer_;
};

// host:port, with brackets around an IPv6 address.
std::string host_port(const std::string& host, uint16_t port);

}  // namespace dunlin::net
