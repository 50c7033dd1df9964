// URLs that carry a right of their own: to get or to put one file of a tenant, until a time. Bound
// to the method, the tenant (and when that was made) and the key by HMAC-SHA256. Pure: time and key
// are handed in.
//
//   BASE/signed/TENANT/KEY?expires=UNIX_SECONDS&signature=HEX
#pragma once

#include <string>
#include <string_view>

#include "base/env.h"

namespace dunlin::rest {

struct Permit {
  std::string method;  // GET or PUT.
  std::string tenant;
  std::string key;
  int64_t since_ms = 0;  // When the tenant was made: one that is made again is another one.
};

std::string signed_url(std::string_view base, const Permit& permit, std::string_view signing_key,
                       WallTime now, Millis life);

enum class Signature { good, expired, wrong };
// What the query of such a URL says, as it came.
Signature check_signature(const Permit& permit, std::string_view expires,
                          std::string_view signature, std::string_view signing_key, WallTime now);

}  // namespace dunlin::rest
