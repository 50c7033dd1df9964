#include "stores/amqp/address.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

#include "base/names.h"
#include "net/socket.h"
#include "url/loopback.h"
#include "url/url.h"

namespace dunlin::amqp {
namespace {

constexpr uint16_t kPort = 5672;
constexpr uint16_t kTlsPort = 5671;
constexpr size_t kHostsMax = 64;
constexpr size_t kTextMax = 255;  // AMQP has no longer names.
constexpr std::string_view kForm = "amqp://USER:PASSWORD@HOST:PORT/VHOST";

Error invalid(std::string_view what) {
  return {Code::invalid, fmt::format("the RabbitMQ URL {}; its form is {}", what, kForm)};
}

// `what` names the part; the part itself may be a secret.
Result<void> check_text(std::string_view text, std::string_view what) {
  if (text.size() <= kTextMax) return {};
  return invalid(fmt::format("has more than {} bytes in {}", kTextMax, what));
}

Result<void> set_user(const Url& url, AmqpAddress& address) {
  if (!url.user) return {};
  address.user = *url.user;
  address.password = url.password.value_or("");
  TRY(check_text(address.user, "the user"));
  TRY(check_text(address.password, "the password"));
  if (address.user.empty()) return invalid("has no user before '@'");
  if (!url.password) return invalid(fmt::format("has no password for {}", quote(address.user)));
  return {};
}

// Says whether it is insecure=1.
Result<bool> take_option(const std::string& name, const std::string& value, AmqpAddress& address) {
  TRY(check_text(value, fmt::format("the option {}", quote(name))));
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
                             quote(name + "=" + value)));
}

}  // namespace

std::string AmqpHost::text() const { return net::host_port(name, port); }

std::string AmqpAddress::text() const {
  std::vector<std::string> each;
  for (const AmqpHost& host : hosts) each.push_back(host.text());
  return fmt::format("{}://{}@{}/{}", tls ? "amqps" : "amqp", user, fmt::join(each, ","),
                     vhost == "/" ? "" : vhost);
}

Result<AmqpAddress> parse_amqp_url(const std::string& url) {
  AmqpAddress address;
  address.tls = url.starts_with("amqps://");
  if (!address.tls && !url.starts_with("amqp://")) {
    return invalid("begins neither with amqp:// nor with amqps://");
  }
  const Result<Url> parsed = parse_url(url);
  if (!parsed.ok()) return invalid(parsed.error().what);
  const Url& parts = parsed.value();
  if (parts.fragment) return invalid("has a '#': write it as %23");
  TRY(set_user(parts, address));
  const uint16_t port = address.tls ? kTlsPort : kPort;
  if (parts.hosts.size() > kHostsMax) return invalid("names too many hosts");
  for (const UrlHost& host : parts.hosts) {
    address.hosts.push_back({host.name, host.port.value_or(port)});
  }
  const std::string vhost = parts.path.substr(parts.path.empty() ? 0 : 1);
  TRY(check_text(vhost, "the vhost"));
  if (!vhost.empty()) address.vhost = vhost;
  bool insecure = false;
  for (const auto& [name, value] : parts.query) insecure |= TRY(take_option(name, value, address));

  const bool near = std::all_of(address.hosts.begin(), address.hosts.end(),
                                [](const AmqpHost& host) { return is_loopback_host(host.name); });
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

}  // namespace dunlin::amqp
