// TLS 1.2 and later as a filter between plain bytes and the bytes of a connection. No sockets: the
// owner moves the bytes. Nothing is kept but an unfinished record, so the bounds are the owner's.
//
//   TlsContext   certificates and rules; one for many sessions, which it must outlive
//   TlsSession   one connection; one thread at a time
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssl_st;  // OpenSSL's SSL and SSL_CTX.
struct ssl_ctx_st;

namespace dunlin::net {

class TlsSession {
 public:
  // Takes bytes from the connection: appends what they say to `plain`, and to `wire` what must be
  // sent in return. After an error send `wire`, which tells the peer, and close.
  Result<void> receive(std::string_view bytes, std::string& plain, std::string& wire);

  // Appends `plain` to `wire`, encrypted. REQUIRES: ready()
  Result<void> send(std::string_view plain, std::string& wire);

  // Begins the handshake of a client; a server waits for it. finish() tells the peer that no more
  // comes.
  Result<void> start(std::string& wire);
  void finish(std::string& wire);

  bool ready() const;     // The handshake is done.
  bool finished() const;  // The peer ended it properly; if it did not, the last bytes may be lost.

 private:
  friend class TlsContext;
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  TlsSession(ssl_st* ssl, std::string host) : ssl_(ssl), host_(std::move(host)) {}

  void drain(std::string& wire);
  Result<void> handshake();
  Error explain(const char* doing) const;

  std::unique_ptr<ssl_st, Free> ssl_;
  std::string host_;  // Empty for a server.
};

class TlsContext {
 public:
  // PEM files: the certificate with its chain, and its private key.
  static Result<TlsContext> server(const std::string& cert_file, const std::string& key_file);

  // The same; none if neither is given. `invalid` if only one is.
  static Result<std::optional<TlsContext>> server_if(const std::string& cert_file,
                                                     const std::string& key_file);

  // Trusts the authorities in a PEM file, or those of the system if it is empty.
  static Result<TlsContext> client(const std::string& ca_file);

  TlsSession accept() const;

  // Wants a certificate for `host`, a name or an address.
  Result<TlsSession> connect(const std::string& host) const;

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace dunlin::net
