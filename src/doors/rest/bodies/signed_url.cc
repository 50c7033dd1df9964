#include "doors/rest/bodies/signed_url.h"

#include <charconv>
#include <fmt/format.h>

#include "base/digest.h"
#include "url/percent.h"

namespace dunlin::rest {
namespace {

// No part can be mistaken for another: lengths stand in front.
std::string sign(const Permit& permit, std::string_view expires, std::string_view key) {
  std::string text = "dunlin signed url 2";
  const std::string since = std::to_string(permit.since_ms);
  for (const std::string_view part :
       {std::string_view(permit.method), std::string_view(permit.tenant), std::string_view(since),
        std::string_view(permit.key), expires}) {
    text += fmt::format("\n{}:{}", part.size(), part);
  }
  return hex(hmac_sha256(key, text));
}

int64_t to_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

}  // namespace

std::string signed_url(std::string_view base, const Permit& permit, std::string_view signing_key,
                       WallTime now, Millis life) {
  const std::string expires = std::to_string(to_seconds(now + life));
  return fmt::format("{}/signed/{}/{}?expires={}&signature={}", base, percent_encode(permit.tenant),
                     percent_encode(permit.key, true), expires, sign(permit, expires, signing_key));
}

Signature check_signature(const Permit& permit, std::string_view expires,
                          std::string_view signature, std::string_view signing_key, WallTime now) {
  if (!equal(sign(permit, expires, signing_key), signature)) return Signature::wrong;
  int64_t until = 0;
  const auto parsed = std::from_chars(expires.data(), expires.data() + expires.size(), until);
  if (parsed.ec != std::errc()) return Signature::wrong;
  return to_seconds(now) < until ? Signature::good : Signature::expired;
}

}  // namespace dunlin::rest
