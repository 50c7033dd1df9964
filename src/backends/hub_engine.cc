#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "backends/engines.h"
#include "backends/hub_engine.h"
#include "base/env_posix.h"
#include "base/names.h"
#include "base/printable.h"

namespace dunlin {
namespace {

constexpr std::string_view kPlain = "dunlin://";
constexpr std::string_view kTls = "dunlin+tls://";
constexpr size_t kHostMax = 253;

bool is_host(std::string_view host) {
  return is_visible(host, kHostMax) && host.find_first_of("/@?#[]\\") == std::string_view::npos;
}

Result<std::string> token_of(const OpenOptions& options) {
  if (!options.token.empty() || options.token_file.empty()) return options.token;
  return read_token(options.token_file);
}

Result<std::unique_ptr<HubStore>> open_hub_url(const std::string& url, const OpenOptions& options) {
  const HubAddress address = TRY(parse_hub_url(url));
  const HubOptions hub{.token = TRY(token_of(options)),
                       .tls_ca = options.tls_ca,
                       .deadline = options.deadline,
                       .connect_wait = options.connect_wait};
  return open_hub(address, hub, posix_clock());
}

}  // namespace

Result<std::unique_ptr<RequestStore>> open_hub_engine(const std::string& url,
                                                      const OpenOptions& options) {
  std::unique_ptr<RequestStore> store = TRY(open_hub_url(url, options));
  return store;
}

Result<StoreAccess> access_hub_engine(const std::string& url, const OpenOptions& options) {
  StoreAccess access;
  access.async_store = async_hub_store(TRY(open_hub_url(url, options)));
  access.connect = [url, options] { return open_hub_engine(url, options); };
  return access;
}

Result<HubAddress> parse_hub_url(std::string_view url) {
  HubAddress address{.host = {}, .port = 0, .tls = url.starts_with(kTls)};
  if (!address.tls && !url.starts_with(kPlain)) {
    if (!is_hub_url(url)) return bad_url(url, "is not that of a hub");
    return bad_url(url, "lacks the '//' after its scheme");
  }
  const std::string_view rest = url.substr(address.tls ? kTls.size() : kPlain.size());
  const size_t colon = rest.rfind(':');
  const size_t bracket = rest.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && bracket > colon)) {
    return bad_url(url, "has no port");
  }
  std::string_view host = rest.substr(0, colon);
  const std::string_view port = rest.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad_url(url, "has more than one ':' in its host (an IPv6 address goes in brackets)");
  }
  if (host.empty()) return bad_url(url, "has no host");
  if (host.find('@') != std::string_view::npos) {
    return bad_url(url, "has an '@' before its host (the token goes into a file, --token-file)");
  }
  if (!is_host(host)) return bad_url(url, fmt::format("has the bad host {}", quote(host)));
  address.host = host;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || address.port == 0) {
    return bad_url(url, fmt::format("has the bad port {} (1 to 65535)", quote(port)));
  }
  return address;
}

}  // namespace dunlin
