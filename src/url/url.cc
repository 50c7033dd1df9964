#include "url/url.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/names.h"

namespace dunlin {
namespace {

constexpr std::string_view kSlashes = "://";
constexpr size_t kSchemeMax = 32;

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

bool is_scheme(std::string_view text) {
  return !text.empty() && text.size() <= kSchemeMax && text[0] >= 'a' && text[0] <= 'z' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
                  c == '.';
         });
}

// Takes away and returns what stands in front of the first of `marks`, which stays.
std::string_view take_to(std::string_view& text, std::string_view marks) {
  const std::string_view taken = text.substr(0, text.find_first_of(marks));
  text.remove_prefix(taken.size());
  return taken;
}

// `what` names the part; the part itself may be a secret.
Result<std::string> decoded(std::string_view text, std::string_view what) {
  std::optional<std::string> plain = percent_decode(text);
  if (!plain) {
    return wrong(fmt::format("has a '%' without two hexadecimal digits in {}", what));
  }
  if (plain->find('\0') != std::string::npos) {
    return wrong(fmt::format("has a zero byte in {}", what));
  }
  return *std::move(plain);
}

bool is_ipv6(std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  // What follows '%' says on which link the address is.
  return inet_pton(AF_INET6, std::string(text.substr(0, text.find('%'))).c_str(), bytes.data()) ==
         1;
}

Result<std::vector<UrlHost>> parse_hosts(std::string_view text) {
  std::vector<UrlHost> hosts;
  while (true) {
    const size_t comma = text.find(',');
    hosts.push_back(TRY(parse_host(text.substr(0, comma))));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
    if (text.empty()) return wrong("has a ',' without a host after it");
  }
}

Result<void> parse_user(std::string_view text, Url& url) {
  const size_t colon = text.find(':');
  url.user = TRY(decoded(text.substr(0, colon), "the user"));
  if (colon != std::string_view::npos) {
    url.password = TRY(decoded(text.substr(colon + 1), "the password"));
  }
  return {};
}

}  // namespace

Result<UrlHost> parse_host(std::string_view text, uint16_t port_min) {
  UrlHost host;
  std::string_view rest = text;
  const bool brackets = rest.starts_with('[');
  if (brackets) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) {
      return wrong(fmt::format("has no ']' after the host {}", quote(text)));
    }
    host.name = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) {
      return wrong(fmt::format("has {} after the host's ']'", quote(rest)));
    }
  } else {
    host.name = take_to(rest, ":");
    if (rest.find(':', 1) != std::string_view::npos) {
      return wrong("has more than one ':' in its host (an IPv6 address goes in brackets)");
    }
  }
  if (host.name.empty()) return wrong("has no host");
  const bool good = brackets ? is_visible(host.name, kHostNameMax) && is_ipv6(host.name)
                             : is_visible(host.name, kHostNameMax) &&
                                   host.name.find_first_of("/@?#[]\\,%\"<>") == std::string::npos;
  if (!good) return wrong(fmt::format("has the bad host {}", quote(host.name)));
  if (rest.empty()) return host;
  const std::string_view digits = rest.substr(1);
  if (digits.empty()) return wrong(fmt::format("has no port after {}", quote(text)));
  uint16_t port = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end || port < port_min) {
    // Where a URL lacks HOST and '@', this is its password.
    const bool shown = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    return wrong(shown ? fmt::format("has the bad port {} ({} to 65535)", quote(digits), port_min)
                       : fmt::format("has a port that is not a number of {} to 65535", port_min));
  }
  host.port = port;
  return host;
}

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kUrlBytesMax) {
    return wrong(fmt::format("has more than {} bytes", kUrlBytesMax));
  }
  Url url;
  const size_t slashes = text.find(kSlashes);
  if (slashes == std::string_view::npos || !is_scheme(text.substr(0, slashes))) {
    return wrong("does not begin with a scheme and '://'");
  }
  url.scheme = text.substr(0, slashes);
  std::string_view rest = text.substr(slashes + kSlashes.size());
  std::string_view authority = take_to(rest, "/?#");
  // One further on is that of a user or password with a '/' or '?', of which the rest would be
  // taken for a host, and shown.
  if (rest.find('@') != std::string_view::npos) {
    return wrong(
        "has an '@' after the host: write '/' as %2F, '?' as %3F, '#' as %23 and '@' as %40 in "
        "user, password and path");
  }
  // The last one, as a password may have one that should have been written %40.
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    TRY(parse_user(authority.substr(0, at), url));
    authority.remove_prefix(at + 1);
  }
  url.hosts = TRY(parse_hosts(authority));
  url.path = TRY(decoded(take_to(rest, "?#"), "the path"));
  if (rest.starts_with('?')) {
    const std::string_view query = take_to(rest, "#").substr(1);
    TRY(decoded(query, "the query"));
    url.query = parse_query(query).value_or(Query());
  }
  if (rest.starts_with('#')) url.fragment = TRY(decoded(rest.substr(1), "the fragment"));
  return url;
}

}  // namespace dunlin
