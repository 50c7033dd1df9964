#include "net/tls.h"

#include <arpa/inet.h>
#include <array>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <utility>

#include "base/log.h"

namespace dunlin::net {
namespace {

constexpr size_t kPiece = 16 << 10;  // The plain bytes of one record.

// What OpenSSL says about its last failure; forgets it.
std::string last_reason() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  if (ERR_SYSTEM_ERROR(code)) return "cannot read the file";
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? fmt::format("error {:x}", code) : reason;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  return inet_pton(AF_INET, host.c_str(), parsed.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), parsed.data()) == 1;
}

SSL_CTX* make_context(const SSL_METHOD* method) {
  SSL_CTX* context = SSL_CTX_new(method);
  CHECK(context != nullptr);
  CHECK(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
  // Of TLS 1.2 only what keeps old conversations secret and knows a forged record; TLS 1.3 has
  // nothing else.
  CHECK(SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  CHECK(SSL_CTX_set_num_tickets(context, 0) == 1);
  return context;
}

// With memory for its two directions.
SSL* make_session(SSL_CTX* context) {
  SSL* ssl = SSL_new(context);
  CHECK(ssl != nullptr);
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  CHECK(in != nullptr && out != nullptr);
  BIO_set_mem_eof_return(in, -1);
  SSL_set_bio(ssl, in, out);
  return ssl;
}

}  // namespace

void TlsSession::Free::operator()(SSL* ssl) const { SSL_free(ssl); }
void TlsContext::Free::operator()(SSL_CTX* context) const { SSL_CTX_free(context); }

Result<TlsContext> TlsContext::server(const std::string& cert_file, const std::string& key_file) {
  ERR_clear_error();
  TlsContext context(make_context(TLS_server_method()));
  SSL_CTX* raw = context.context_.get();
  if (SSL_CTX_use_certificate_chain_file(raw, cert_file.c_str()) != 1) {
    return Error{Code::invalid, fmt::format("cannot use the certificate {}: {}; it must be a PEM "
                                            "file",
                                            cert_file, last_reason())};
  }
  if (SSL_CTX_use_PrivateKey_file(raw, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Error{
        Code::invalid,
        fmt::format("cannot use the private key {}: {}; it must be the PEM file of the key "
                    "of {}",
                    key_file, last_reason(), cert_file)};
  }
  struct stat found = {};
  // A group may be how the key comes to us, as Debian's ssl-cert is.
  if (stat(key_file.c_str(), &found) == 0 && (found.st_mode & 0007U) != 0) {
    log::warning(
        "everybody on this machine can read the TLS key {} (mode {:04o}): run `chmod 600 {}`",
        key_file, found.st_mode & 0777U, key_file);
  }
  return context;
}

Result<std::optional<TlsContext>> TlsContext::server_if(const std::string& cert_file,
                                                        const std::string& key_file) {
  if (cert_file.empty() != key_file.empty()) {
    return Error{Code::invalid, "--tls-cert and --tls-key belong together: give both or none"};
  }
  if (cert_file.empty()) return std::optional<TlsContext>();
  return std::optional(TRY(server(cert_file, key_file)));
}

Result<TlsContext> TlsContext::client(const std::string& ca_file) {
  ERR_clear_error();
  TlsContext context(make_context(TLS_client_method()));
  SSL_CTX* raw = context.context_.get();
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  if (ca_file.empty()) {
    CHECK(SSL_CTX_set_default_verify_paths(raw) == 1);
  } else if (SSL_CTX_load_verify_file(raw, ca_file.c_str()) != 1) {
    return Error{Code::invalid,
                 fmt::format("cannot use the authorities in {} (--tls-ca): {}; it must be a PEM "
                             "file of certificates",
                             ca_file, last_reason())};
  }
  return context;
}

TlsSession TlsContext::accept() const {
  SSL* ssl = make_session(context_.get());
  SSL_set_accept_state(ssl);
  return {ssl, ""};
}

Result<TlsSession> TlsContext::connect(const std::string& host) const {
  ERR_clear_error();
  TlsSession session(make_session(context_.get()), host);
  SSL* ssl = session.ssl_.get();
  SSL_set_connect_state(ssl);
  bool fine = false;
  if (is_address(host)) {
    fine = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  } else {
    fine = !host.empty() && SSL_set1_host(ssl, host.c_str()) == 1 &&
           SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
  }
  if (!fine) {
    return Error{Code::invalid,
                 fmt::format("'{}' cannot be the name in a certificate: {}", host, last_reason())};
  }
  return session;
}

bool TlsSession::ready() const { return SSL_is_init_finished(ssl_.get()) == 1; }

bool TlsSession::finished() const {
  return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

void TlsSession::drain(std::string& wire) {
  BIO* out = SSL_get_wbio(ssl_.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  if (size <= 0) return;
  wire.append(data, static_cast<size_t>(size));
  BIO_reset(out);
}

Result<void> TlsSession::start(std::string& wire) {
  ERR_clear_error();
  auto result = handshake();
  drain(wire);
  return result;
}

Result<void> TlsSession::handshake() {
  if (ready()) return {};
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return {};
  const int why = SSL_get_error(ssl_.get(), result);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return {};
  return explain("the handshake");
}

Result<void> TlsSession::receive(std::string_view bytes, std::string& plain, std::string& wire) {
  ERR_clear_error();
  BIO* in = SSL_get_rbio(ssl_.get());
  std::array<char, kPiece> piece{};
  while (!bytes.empty()) {
    // Little by little, so that what is kept besides `plain` stays small.
    const std::string_view some = bytes.substr(0, kPiece);
    bytes.remove_prefix(some.size());
    CHECK(BIO_write(in, some.data(), static_cast<int>(some.size())) ==
          static_cast<int>(some.size()));
    if (auto shaken = handshake(); !shaken.ok()) {
      drain(wire);
      return shaken;
    }
    if (!ready()) continue;
    int size = 0;
    while ((size = SSL_read(ssl_.get(), piece.data(), kPiece)) > 0) {
      plain.append(piece.data(), static_cast<size_t>(size));
    }
    const int why = SSL_get_error(ssl_.get(), size);
    if (why == SSL_ERROR_ZERO_RETURN) break;
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
      drain(wire);
      return explain("a record");
    }
  }
  drain(wire);
  return {};
}

Result<void> TlsSession::send(std::string_view plain, std::string& wire) {
  CHECK(ready());
  ERR_clear_error();
  while (!plain.empty()) {
    const std::string_view some = plain.substr(0, kPiece);
    const int size = SSL_write(ssl_.get(), some.data(), static_cast<int>(some.size()));
    if (size <= 0) return explain("sending");
    plain.remove_prefix(static_cast<size_t>(size));
    drain(wire);
  }
  return {};
}

void TlsSession::finish(std::string& wire) {
  ERR_clear_error();
  if (ready()) SSL_shutdown(ssl_.get());
  drain(wire);
  ERR_clear_error();
}

Error TlsSession::explain(const char* doing) const {
  const long verified = SSL_get_verify_result(ssl_.get());
  const unsigned long code = ERR_peek_last_error();
  const std::string reason = last_reason();
  if (!host_.empty() && verified != X509_V_OK) {
    const bool other_host =
        verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH;
    return Error{
        Code::denied,
        fmt::format(
            "the certificate of {} was not accepted: {}: {}", host_,
            X509_verify_cert_error_string(verified),
            other_host
                ? "use a name that is in the certificate"
                : "give the certificate of the authority that signed it with --tls-ca FILE")};
  }
  const int number = ERR_GET_REASON(code);
  if (number == SSL_R_WRONG_VERSION_NUMBER || number == SSL_R_HTTP_REQUEST ||
      number == SSL_R_UNKNOWN_PROTOCOL) {
    return Error{Code::invalid,
                 host_.empty() ? "the client does not speak TLS: it needs a dunlin+tls:// address"
                               : fmt::format("{} does not speak TLS: use dunlin:// or start the "
                                             "hub with a certificate",
                                             host_)};
  }
  return Error{Code::invalid, fmt::format("TLS failed in {}{}{}: {}", doing,
                                          host_.empty() ? "" : " with ", host_, reason)};
}

}  // namespace dunlin::net
