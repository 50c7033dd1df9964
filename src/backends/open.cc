#include "backends/open.h"

#include <charconv>
#include <fmt/format.h>
#include <span>
#include <utility>

#include "backends/mixed.h"
#include "backends/pg_async_store.h"
#include "base/env_posix.h"
#include "base/names.h"
#include "base/printable.h"
#include "engine/file_store.h"
#include "postgres/pg_store.h"
#include "postgres/schema.h"
#include "store/memory.h"

namespace dunlin {
namespace {

constexpr std::string_view kForms =
    "memory:, file:FOLDER, dunlin://HOST:PORT, dunlin+tls://HOST:PORT, "
    "postgres://USER@HOST/DATABASE, aws:REGION/PREFIX or queue=URL,table=URL";
constexpr std::string_view kFile = "file:";
constexpr std::string_view kPlain = "dunlin://";
constexpr std::string_view kTls = "dunlin+tls://";
constexpr std::string_view kPostgres = "postgres://";
constexpr std::string_view kPostgresToo = "postgresql://";
constexpr Millis kSetUpMax = std::chrono::minutes(1);
constexpr size_t kHostMax = 253;
constexpr size_t kTokenMax = 2 << 10;  // With room to spare in a hello.

Error bad_url(std::string_view url, std::string_view why) {
  return Error{Code::invalid,
               fmt::format("the store URL {} {}: use {}", quote_url(url), why, kForms)};
}

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

bool is_postgres(std::string_view url) {
  return url.starts_with(kPostgres) || url.starts_with(kPostgresToo);
}

// Looking must not make a store where someone mistyped its name.
Result<void> find_file_store(const std::string& folder) {
  const auto log = posix_disk().list(folder + "/log");
  if (log.ok() || log.error().code != Code::not_found) return {};
  return Error{Code::not_found, fmt::format("there is no store in {}: the first write makes one, "
                                            "or name another one",
                                            folder)};
}

}  // namespace

Result<std::unique_ptr<RequestStore>> open_store(const std::string& url,
                                                 const OpenOptions& options) {
  const std::string_view text = url;
  if (text.starts_with("memory:")) {
    if (text != "memory:") return bad_url(url, "has something after 'memory:'");
    return memory_store(posix_clock());
  }
  if (text.starts_with(kFile)) {
    const std::string folder(text.substr(kFile.size()));
    if (folder.empty()) return bad_url(url, "names no folder");
    if (!options.make) TRY(find_file_store(folder));
    std::unique_ptr<RequestStore> store = TRY(open_file_store(folder));
    return store;
  }
  if (text.starts_with(kPlain) || text.starts_with(kTls)) {
    std::unique_ptr<RequestStore> store = TRY(open_hub_url(url, options));
    return store;
  }
  if (is_postgres(text)) {
    const PgOptions pg{.deadline = options.deadline, .connect_wait = options.connect_wait};
    std::unique_ptr<RequestStore> store = TRY(open_postgres(url, pg, posix_clock()));
    return store;
  }
  if (is_mixed(text)) return TRY(mixed_engines(url, options)).connect();
  if (text.starts_with("dunlin:") || text.starts_with("dunlin+tls:")) {
    return bad_url(url, "lacks the '//' after its scheme");
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return bad_url(url, "has no scheme");
  return bad_url(url, fmt::format("has the unknown scheme {}", quote(text.substr(0, colon))));
}

Result<StoreAccess> open_access(const std::string& url, const OpenOptions& options) {
  if (url.starts_with(kPlain) || url.starts_with(kTls)) {
    StoreAccess access;
    access.async_store = async_hub_store(TRY(open_hub_url(url, options)));
    access.connect = [url, options] { return open_store(url, options); };
    return access;
  }
  if (is_postgres(url)) {
    TRY(open_store(url, options));  // It is there, and has a schema.
    StoreAccess access;
    access.async_store = async_pg_store(TRY(parse_postgres_url(url)), posix_clock());
    access.connect = [url, options] { return open_store(url, options); };
    return access;
  }
  if (is_mixed(url)) return mixed_access(url, options);
  // The engine is in this process: every lane has a store of its own on it.
  std::unique_ptr<RequestStore> store = TRY(open_store(url, options));
  auto* file = dynamic_cast<FileStore*>(store.get());
  if (file == nullptr) {
    return Error{
        Code::unsupported,
        fmt::format("workers cannot use the store {}: give the URL of a hub", quote_url(url))};
  }
  Connect connect = [first = std::shared_ptr<FileStore>(file->connect())] {
    std::unique_ptr<RequestStore> next = first->connect();
    return Result<std::unique_ptr<RequestStore>>(std::move(next));
  };
  StoreAccess access;
  access.async_store = async_lane_store(connect);
  access.connect = std::move(connect);
  return access;
}

Result<bool> init_store(const std::string& url, const OpenOptions& options) {
  if (is_mixed(url)) return init_mixed(url, options);
  if (!is_postgres(url)) return bad_url(url, "needs no init, only a database does");
  PgLink link(TRY(parse_postgres_url(url)), posix_clock());
  return init_schema(link, posix_clock().now() + kSetUpMax);
}

Result<std::vector<Made>> list_made(const std::string& url, const OpenOptions& options) {
  if (is_mixed(url)) return list_mixed(url, options);
  return std::vector<Made>();
}

Result<void> destroy_store(const std::string& url, const OpenOptions& options) {
  if (is_mixed(url)) return destroy_mixed(url, options);
  if (!is_postgres(url)) {
    return bad_url(url, "cannot be destroyed like this: stop its hub and remove the folder");
  }
  PgLink link(TRY(parse_postgres_url(url)), posix_clock());
  return destroy_schema(link, posix_clock().now() + kSetUpMax);
}

Result<HubAddress> parse_hub_url(std::string_view url) {
  HubAddress address{.host = {}, .port = 0, .tls = url.starts_with(kTls)};
  if (!address.tls && !url.starts_with(kPlain)) return bad_url(url, "is not that of a hub");
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

Result<std::string> read_token(const std::string& file) {
  const auto refuse = [&](std::string_view why) {
    return Error{Code::invalid,
                 fmt::format("cannot use the token file {}: {}; --token-file (DUNLIN_TOKEN_FILE) "
                             "names the file that holds the hub's token",
                             file, why)};
  };
  const auto opened = posix_disk().open_to_read(file);
  if (!opened.ok()) return refuse(opened.error().what);
  std::string bytes(kTokenMax + 1, '\0');
  const auto size = opened.value()->read(0, std::span(bytes));
  if (!size.ok()) return refuse(size.error().what);
  if (size.value() > kTokenMax) return refuse(fmt::format("longer than {} bytes", kTokenMax));
  bytes.resize(size.value());
  constexpr const char* kSpace = " \t\r\n";
  const size_t first = bytes.find_first_not_of(kSpace);
  if (first == std::string::npos) return refuse("it is empty");
  std::string token = bytes.substr(first, bytes.find_last_not_of(kSpace) - first + 1);
  if (!is_visible(token, kTokenMax)) return refuse("a token is one word of visible characters");
  return token;
}

}  // namespace dunlin
