// AWS Signature Version 4: what is signed, signing it, and checking what others signed, in the
// Authorization header or in the query of a presigned URL. Pure: the time is handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "http/http.h"
#include "url/percent.h"

namespace dunlin::aws {

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
inline constexpr int64_t kSkewMaxS = 900;
inline constexpr int64_t kExpiresMaxS = 604'800;  // A week.

// What of a request is signed.
struct Signable {
  std::string method;
  std::string path;       // As on the wire, percent-encoded.
  Query query;            // Decoded; without X-Amz-Signature.
  http::Headers headers;  // All; which of them are signed is said apart.
  std::string payload_hash;
};

struct Scope {
  std::string date;  // 20130524
  std::string region;
  std::string service;

  std::string text() const { return date + "/" + region + "/" + service + "/aws4_request"; }
};

struct Credentials {
  std::string key_id;
  std::string secret;
};

// S3 encodes a path once, all other services twice. `signed_headers` is sorted.
std::string canonical_request(const Signable& request,
                              const std::vector<std::string>& signed_headers,
                              std::string_view service);
std::string string_to_sign(std::string_view time, const Scope& scope, std::string_view canonical);
std::string signing_key(std::string_view secret, const Scope& scope);
std::string signature(std::string_view secret, std::string_view time, const Scope& scope,
                      std::string_view canonical);

std::string amz_time(WallTime time);  // 20130524T000000Z
std::optional<WallTime> parse_amz_time(std::string_view text);

// The value of the Authorization header. Signs host, content-type and all x-amz-* of
// `request.headers`, which must have x-amz-date.
std::string authorize(const Signable& request, const Credentials& credentials,
                      std::string_view region, std::string_view service);

// The query of a presigned URL for `request`, whose query may have parameters of its own; signs the
// header host.
std::string presign(Signable request, const Credentials& credentials, std::string_view region,
                    WallTime now, int64_t expires_s);

// What a request says about who signed it and how; nothing is checked yet.
struct Claim {
  std::string key_id;
  Scope scope;
  std::string time;  // 20130524T000000Z
  std::vector<std::string> signed_headers;
  std::string signature;
  int64_t expires_s = 0;  // Of a presigned URL; 0 for a header.
};

enum class Fault {
  unsigned_request,
  malformed,
  skewed,   // Signed at another time than now.
  expired,  // A presigned URL, used too late.
  unsigned_header,
  mismatch,
};
struct ClaimFault {
  Fault fault = Fault::malformed;
  std::string what;
};

// The claim in the Authorization header, else in the query. `now` is only compared. An x-amz-*
// header that is not among the signed ones is a fault: who was given a signature for one thing
// could ask for another with it.
std::variant<Claim, ClaimFault> read_claim(const Query& query, const http::Headers& headers,
                                           WallTime now);

// True if the request was signed with this secret. The time it takes tells nothing about it.
bool verify(const Claim& claim, const Signable& request, std::string_view secret);

}  // namespace dunlin::aws
