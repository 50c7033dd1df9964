// One client's connection as the thread that serves it sees it: bytes in and out, plain or through
// TLS. Every call ends at its deadline. Errors are `unavailable`: the client is gone, or too slow.
// One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/result.h"
#include "net/tls.h"

namespace dunlin::rest {

class Connection {
 public:
  // Owns the socket, which must not block. Speaks TLS if there is a context, which must outlive it,
  // as must the clock.
  Connection(int socket, const net::TlsContext* tls, const Clock& clock);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class Got { bytes, end, interrupt };
  // Appends to `into` what comes first. `end`: the client sends no more; `interrupt`: nothing came
  // until the descriptor `also` could be read.
  Result<Got> receive(std::string& into, Instant deadline, int also = -1);

  // Returns when the system has taken all of it. `stall`: without taking a byte.
  Result<void> send(std::string_view bytes, Millis stall);

  // Our end of it: "127.0.0.1:7071".
  std::string local() const;

  // Whether the client has closed its end, as far as is known now.
  bool gone() const;

  // Ends the connection in a way that lets the client read what was sent, for a moment.
  void finish(Millis linger);

 private:
  Result<void> send_wire(Millis stall);

  const int socket_;
  const Clock& clock_;
  std::optional<net::TlsSession> tls_;
  std::string in_;
  std::string wire_;  // Waits to be sent.
};

}  // namespace dunlin::rest
