// How a connection of AmqpLink comes about.

#include <algorithm>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <arpa/inet.h>
#include <array>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "base/text.h"
#include "stores/amqp/link.h"

namespace dunlin::amqp {
namespace {

constexpr int kHeartbeatS = 30;
constexpr int kFrameMax = 128 << 10;
constexpr Millis kHostMin = std::chrono::seconds(1);
constexpr unsigned kUnackedMs = 10'000;  // Else a write to a server that takes nothing has no end.

// A certificate for `host`, a name or an address, from an authority that we trust.
Result<void> trust(amqp_socket_t* socket, const std::string& host, const std::string& ca_file) {
  auto* const context = static_cast<SSL_CTX*>(amqp_ssl_socket_get_context(socket));
  const bool trusts = ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(context) == 1
                          : amqp_ssl_socket_set_cacert(socket, ca_file.c_str()) == AMQP_STATUS_OK;
  ERR_clear_error();
  if (!trusts) {
    return Error{Code::invalid, fmt::format("cannot use the authorities in {}: it must be a PEM "
                                            "file; it is named by ca=FILE in the URL",
                                            ca_file.empty() ? "the system's folder" : ca_file)};
  }
  amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
  // librabbitmq's own check of names knows no addresses; OpenSSL's does.
  amqp_ssl_socket_set_verify_peer(socket, 1);
  amqp_ssl_socket_set_verify_hostname(socket, 0);
  X509_VERIFY_PARAM* const want = SSL_CTX_get0_param(context);
  if (X509_VERIFY_PARAM_set1_ip_asc(want, host.c_str()) == 1 ||
      X509_VERIFY_PARAM_set1_host(want, host.c_str(), host.size()) == 1) {
    return {};
  }
  return Error{Code::invalid, fmt::format("no certificate can be for the host {}", host)};
}

Error not_opened(const std::string& where, int status) {
  if (status == AMQP_STATUS_SSL_PEER_VERIFY_FAILED ||
      ERR_GET_REASON(ERR_peek_error()) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    ERR_clear_error();
    return {Code::denied, fmt::format("the certificate of {} is not one that is trusted for this "
                                      "host: name its authority with ca=FILE in the URL",
                                      where)};
  }
  ERR_clear_error();
  return {Code::unavailable, fmt::format("cannot reach {}: {}", where, amqp_error_string2(status))};
}

}  // namespace

Result<amqp_socket_t*> AmqpLink::make_socket(const AmqpHost& host) {
  amqp_socket_t* const socket = address_.tls ? amqp_ssl_socket_new(connection_.get())
                                             : amqp_tcp_socket_new(connection_.get());
  if (socket == nullptr) return Error{Code::full, "out of memory"};
  if (address_.tls) TRY(trust(socket, host.name, address_.ca_file));
  return socket;
}

Result<void> AmqpLink::login(const AmqpHost& host) {
  std::array<amqp_table_entry_t, 1> able{};
  able[0].key = amqp_cstring_bytes("consumer_cancel_notify");  // When its queue is deleted.
  able[0].value.kind = AMQP_FIELD_KIND_BOOLEAN;
  able[0].value.value.boolean = 1;
  std::array<amqp_table_entry_t, 2> who{};
  who[0].key = amqp_cstring_bytes("capabilities");
  who[0].value.kind = AMQP_FIELD_KIND_TABLE;
  who[0].value.value.table = {able.size(), able.data()};
  who[1].key = amqp_cstring_bytes("connection_name");
  who[1].value.kind = AMQP_FIELD_KIND_UTF8;
  who[1].value.value.bytes = amqp_cstring_bytes("dunlin");
  const amqp_table_t properties = {who.size(), who.data()};
  const amqp_rpc_reply_t reply = amqp_login_with_properties(
      connection_.get(), address_.vhost.c_str(), 0, kFrameMax, kHeartbeatS, &properties,
      AMQP_SASL_METHOD_PLAIN, address_.user.c_str(), address_.password.c_str());
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION ||
      reply.reply.id != AMQP_CONNECTION_CLOSE_METHOD) {
    return Error{Code::unavailable,
                 fmt::format("{} did not let us log in: {}; is it a RabbitMQ, and is the port that "
                             "of {}?",
                             host.text(), amqp_error_string2(reply.library_error),
                             address_.tls ? "AMQP with TLS" : "AMQP without TLS")};
  }
  const auto* const close = static_cast<const amqp_connection_close_t*>(reply.reply.decoded);
  const std::string why =
      escape({static_cast<const char*>(close->reply_text.bytes), close->reply_text.len});
  if (close->reply_code == AMQP_ACCESS_REFUSED) {
    return Error{Code::denied, fmt::format("{} refused the user {}: check user and password in the "
                                           "URL ({})",
                                           host.text(), address_.user, why)};
  }
  if (close->reply_code == AMQP_NOT_ALLOWED && why.find("not found") != std::string::npos) {
    return Error{Code::invalid,
                 fmt::format("{} has no vhost {}: `rabbitmqctl add_vhost {}` makes it, or name "
                             "another one after the last '/' of the URL",
                             host.text(), address_.vhost, address_.vhost)};
  }
  if (close->reply_code == AMQP_NOT_ALLOWED) {
    return Error{Code::denied,
                 fmt::format("{} does not let the user {} into the vhost {}: `rabbitmqctl "
                             "set_permissions -p {} {}` grants it ({})",
                             host.text(), address_.user, address_.vhost, address_.vhost,
                             address_.user, why)};
  }
  return Error{Code::unavailable, fmt::format("{}: {}", host.text(), why)};
}

Result<void> AmqpLink::connect_to(const AmqpHost& host, Instant deadline) {
  connection_.reset(amqp_new_connection());
  if (connection_ == nullptr) return Error{Code::full, "out of memory"};
  amqp_socket_t* const socket = TRY(make_socket(host));
  const int64_t left = std::max<int64_t>((deadline - clock_.now()).count(), 1);
  timeval time = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
  amqp_set_handshake_timeout(connection_.get(), &time);
  ERR_clear_error();
  const int status = amqp_socket_open_noblock(socket, host.name.c_str(), host.port, &time);
  if (status != AMQP_STATUS_OK) return not_opened(host.text(), status);
  const int fd = amqp_socket_get_sockfd(socket);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnackedMs, sizeof(kUnackedMs));
  TRY(login(host));
  return open_channel(deadline);
}

Result<void> AmqpLink::connect(Instant deadline) {
  if (channel_open_) return {};
  if (connection_ != nullptr) {
    const Result<void> opened = open_channel(deadline);
    if (opened.ok()) return {};
  }
  std::string failures;
  const size_t count = address_.hosts.size();
  for (size_t tried = 0; tried < count; ++tried) {
    const Instant now = clock_.now();
    if (tried > 0 && now >= deadline) break;
    // Each of those that are left has its share of the time.
    const auto share = (deadline - now) / static_cast<int64_t>(count - tried);
    const size_t at = (host_ + tried) % count;
    const Result<void> connected = connect_to(address_.hosts[at], now + std::max(share, kHostMin));
    if (connected.ok()) {
      host_ = at;
      return {};
    }
    connection_.reset();
    if (connected.error().code != Code::unavailable) return connected.error();
    failures += (failures.empty() ? "" : "; ") + connected.error().what;
  }
  return Error{Code::unavailable, failures};
}

}  // namespace dunlin::amqp
