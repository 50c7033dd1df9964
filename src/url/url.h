// URLs taken apart: SCHEME://USER:PASSWORD@HOST:PORT,HOST:PORT/PATH?NAME=VALUE&...#FRAGMENT. What a
// scheme allows of it is for the scheme's owner to say. An error is `invalid` and goes on from "the
// URL ": "has no host". It shows neither user nor password, nor a part of them that was not
// encoded. Pure; from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "url/percent.h"

namespace dunlin {

inline constexpr size_t kUrlBytesMax = 32 << 10;
inline constexpr size_t kHostNameMax = 253;  // DNS's.

struct UrlHost {
  std::string name;  // Visible characters; an IPv6 address without brackets.
  std::optional<uint16_t> port = {};
};

// Parts are decoded.
struct Url {
  std::string scheme = {};
  std::optional<std::string> user = {};      // None: there is no '@'.
  std::optional<std::string> password = {};  // None: there is no ':' in front of the '@'.
  std::vector<UrlHost> hosts = {};           // At least one.
  std::string path = {};                     // Empty, or with the '/' in front.
  Query query = {};
  std::optional<std::string> fragment = {};
};

Result<Url> parse_url(std::string_view text);

// HOST or HOST:PORT, with an IPv6 address in brackets. A server that listens may take port 0.
Result<UrlHost> parse_host(std::string_view text, uint16_t port_min = 1);

}  // namespace dunlin
