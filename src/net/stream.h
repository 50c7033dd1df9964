// A connection to a server, plain or through TLS, that sends and receives at the same time: neither
// side can block the other by not reading. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/env.h"
#include "base/result.h"
#include "net/socket.h"
#include "net/tls.h"

namespace dunlin::net {

class Stream {
 public:
  // Connects and, if `tls` is given, shakes hands. `unavailable` may pass; a `denied` certificate
  // and an `invalid` peer that does not speak TLS will not.
  static Result<Stream> connect(const std::string& host, uint16_t port, const TlsContext* tls,
                                Instant deadline, const Clock& clock);

  // Queues bytes, and sends what the connection takes at once if much is queued.
  Result<void> send(std::string_view bytes);

  // Sends what is queued and returns as soon as something arrived, valid until the next call; at
  // the deadline, when more could be sent, or when `also` can be read, it may be empty.
  Result<std::string_view> exchange(Instant deadline, const Clock& clock, int also = -1);

 private:
  explicit Stream(Socket socket) : socket_(std::move(socket)) {}

  Result<void> shake(const TlsContext& tls, const std::string& host, Instant deadline,
                     const Clock& clock);
  Result<void> flush();

  Socket socket_;
  std::optional<TlsSession> tls_;
  std::string out_;  // Not yet sent, from `sent_` on.
  size_t sent_ = 0;
  std::string in_;     // Room for what arrives.
  std::string plain_;  // What it said, with TLS.
};

}  // namespace dunlin::net
