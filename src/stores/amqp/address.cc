#include "stores/amqp/address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <optional>
#include <string_view>

#include "base/names.h"
#include "net/socket.h"

namespace dunlin {
namespace {

constexpr uint16_t kPort = 5672;
constexpr uint16_t kTlsPort = 5671;
constexpr size_t kHostsMax = 64;
constexpr size_t kTextMax = 255;  // AMQP has no longer names.
constexpr std::string_view kForm = "amqp://USER:PASSWORD@HOST:PORT/VHOST";

Error invalid(std::string_view what) {
  return {Code::invalid, fmt::format("the RabbitMQ URL {}; its form is {}", what, kForm)};
}

// What stands before `mark`; takes both away. All of it if there is no mark.
std::string_view take(std::string_view& text, char mark) {
  const size_t at = text.find(mark);
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return before;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at];
      continue;
    }
    const std::string_view digits = text.substr(at + 1, 2);
    uint8_t byte = 0;
    const auto [end, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || failed != std::errc() || end != digits.data() + 2) return {};
    plain += static_cast<char>(byte);
    at += 2;
  }
  return plain;
}

// `what` names the part; the part itself may be a secret.
Result<std::string> plain(std::string_view text, std::string_view what) {
  const std::optional<std::string> plain = unescape(text);
  if (!plain) return invalid(fmt::format("has a '%' without two hexadecimal digits in {}", what));
  if (plain->size() > kTextMax || plain->find('\0') != std::string::npos) {
    return invalid(fmt::format("has too long a text, or a zero byte, in {}", what));
  }
  return *plain;
}

// Without a look-up: what a name stands for may change.
bool loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24U == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

Result<AmqpHost> parse_host(std::string_view text, uint16_t port) {
  AmqpHost host{.name = {}, .port = port};
  std::string_view rest = text;
  if (rest.starts_with('[')) {
    rest.remove_prefix(1);
    if (rest.find(']') == std::string_view::npos) {
      return invalid(fmt::format("has no ']' after the host {}", quote(text)));
    }
    host.name = take(rest, ']');
    if (!rest.empty() && !rest.starts_with(':')) {
      return invalid(fmt::format("has {} after the host's ']'", quote(rest)));
    }
    if (!rest.empty()) rest.remove_prefix(1);
  } else {
    host.name = take(rest, ':');
  }
  if (!is_visible(host.name, kTextMax)) return invalid("names no host, or an empty one");
  if (rest.empty()) {
    if (text.ends_with(':')) return invalid(fmt::format("has no port after {}", quote(text)));
    return host;
  }
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), host.port);
  if (failed != std::errc() || end != rest.data() + rest.size() || host.port == 0) {
    return invalid(fmt::format("has the port {}, which is not 1 to 65535", quote(rest)));
  }
  return host;
}

Result<void> parse_user(std::string_view text, AmqpAddress& address) {
  const bool has_password = text.find(':') != std::string_view::npos;
  address.user = TRY(plain(take(text, ':'), "the user"));
  address.password = TRY(plain(text, "the password"));
  if (address.user.empty()) return invalid("has no user before '@'");
  if (!has_password) return invalid(fmt::format("has no password for {}", quote(address.user)));
  return {};
}

Result<bool> parse_option(std::string_view option, AmqpAddress& address) {
  std::string_view rest = option;
  const std::string_view name = take(rest, '=');
  const std::string value = TRY(plain(rest, fmt::format("the option {}", quote(name))));
  if (name == "prefix") {
    // RabbitMQ keeps names that begin with "amq." for itself.
    if (!is_name(value) || value == "amq" || value.starts_with("amq.")) {
      return invalid(
          fmt::format("has the prefix {}, which is not 1 to 64 of A-Z a-z 0-9 . _ -, or "
                      "is amq",
                      quote(value)));
    }
    address.prefix = value;
    return false;
  }
  if (name == "ca") {
    if (!address.tls) return invalid("has the option ca, which needs amqps://");
    if (value.empty()) return invalid("names no file in the option ca");
    address.ca_file = value;
    return false;
  }
  if (name == "insecure" && value == "1") {
    if (address.tls) return invalid("has the option insecure, which is not for amqps://");
    return true;
  }
  return invalid(fmt::format("has the option {}; there are prefix=NAME, ca=FILE and insecure=1",
                             quote(option)));
}

// An '@' further on is that of a user or password with a '/' or '?', which would be shown as host.
Result<void> check_marks(std::string_view after_authority) {
  if (after_authority.find('@') == std::string_view::npos) return {};
  return invalid(
      "has an '@' after the hosts: write '/' as %2F, '?' as %3F and '@' as %40 in user, "
      "password and vhost");
}

}  // namespace

std::string AmqpHost::text() const { return host_port(name, port); }

std::string AmqpAddress::text() const {
  std::vector<std::string> each;
  for (const AmqpHost& host : hosts) each.push_back(host.text());
  return fmt::format("{}://{}@{}/{}", tls ? "amqps" : "amqp", user, fmt::join(each, ","),
                     vhost == "/" ? "" : vhost);
}

Result<AmqpAddress> parse_amqp_url(const std::string& url) {
  AmqpAddress address;
  std::string_view rest = url;
  address.tls = rest.starts_with("amqps://");
  if (!address.tls && !rest.starts_with("amqp://")) {
    return invalid("begins neither with amqp:// nor with amqps://");
  }
  rest.remove_prefix(address.tls ? 8 : 7);
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  rest.remove_prefix(authority.size());
  TRY(check_marks(rest));
  if (rest.find('#') != std::string_view::npos) return invalid("has a '#': write it as %23");
  const size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    TRY(parse_user(authority.substr(0, at), address));
    authority.remove_prefix(at + 1);
  }
  if (authority.empty()) return invalid("names no host");
  if (authority.ends_with(',')) return invalid("has a ',' without a host after it");
  while (!authority.empty()) {
    const uint16_t port = address.tls ? kTlsPort : kPort;
    address.hosts.push_back(TRY(parse_host(take(authority, ','), port)));
    if (address.hosts.size() > kHostsMax) return invalid("names too many hosts");
  }

  const std::string_view path = take(rest, '?');
  const std::string vhost = TRY(plain(path.substr(path.empty() ? 0 : 1), "the vhost"));
  if (!vhost.empty()) address.vhost = vhost;
  bool insecure = false;
  while (!rest.empty()) insecure |= TRY(parse_option(take(rest, '&'), address));

  const bool near = std::all_of(address.hosts.begin(), address.hosts.end(),
                                [](const AmqpHost& host) { return loopback(host.name); });
  if (!address.tls && !near && !insecure) {
    return invalid(
        "names another machine without TLS: use amqps://, or add ?insecure=1 where the "
        "network is safe");
  }
  if (address.user.empty()) {
    if (!near) return invalid("has no USER:PASSWORD@ before the host");
    address.user = address.password = "guest";  // Let in from its own machine by default.
  }
  return address;
}

}  // namespace dunlin
