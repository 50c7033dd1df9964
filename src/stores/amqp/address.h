// Where a RabbitMQ is: amqp://USER:PASSWORD@HOST:PORT[,HOST:PORT...]/VHOST[?OPTION=VALUE&...], or
// amqps://… for TLS. Pure; from any thread.
//
//   prefix=NAME  queues are NAME.QUEUE; "dunlin" if it is not said
//   ca=FILE      trust these authorities (PEM) instead of the system's; only with amqps://
//   insecure=1   without TLS although the host is another machine; only with amqp://
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace dunlin::amqp {

struct AmqpHost {
  std::string name;  // IPv6 without brackets.
  uint16_t port = 0;

  std::string text() const;
};

struct AmqpAddress {
  std::vector<AmqpHost> hosts;  // At least one; the next is tried when one fails.
  bool tls = false;
  std::string user;
  std::string password;
  std::string vhost = "/";
  std::string prefix = "dunlin";
  std::string ca_file;  // Empty: the system's authorities.

  std::string text() const;  // For people: without the password.
};

// `invalid` names the part that is wrong and shows no password.
Result<AmqpAddress> parse_amqp_url(const std::string& url);

}  // namespace dunlin::amqp
