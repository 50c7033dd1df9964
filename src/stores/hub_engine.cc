#include "stores/hub_engine.h"

#include <fmt/format.h>
#include <utility>

#include "base/env_posix.h"
#include "stores/engines.h"
#include "url/url.h"

namespace dunlin::stores {
namespace {

constexpr std::string_view kPlain = "dunlin://";
constexpr std::string_view kTls = "dunlin+tls://";

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
  const Result<Url> parsed = parse_url(url);
  if (!parsed.ok()) return bad_url(url, parsed.error().what);
  const Url& parts = parsed.value();
  if (parts.user) {
    return bad_url(url, "has an '@' before its host (the token goes into a file, --token-file)");
  }
  if (parts.hosts.size() != 1) return bad_url(url, "names several hosts");
  if (!parts.path.empty() || !parts.query.empty() || parts.fragment) {
    return bad_url(url, "has something after its port");
  }
  if (!parts.hosts[0].port) return bad_url(url, "has no port");
  address.host = parts.hosts[0].name;
  address.port = *parts.hosts[0].port;
  return address;
}

}  // namespace dunlin::stores
