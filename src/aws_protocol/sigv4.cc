#include "aws_protocol/sigv4.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/names.h"

namespace dunlin::aws {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr size_t kSignedHeadersMax = 64;

std::string canonical_path(std::string_view path, std::string_view service) {
  if (path.empty()) return "/";
  if (service != "s3") return percent_encode(path, true);
  const std::optional<std::string> decoded = percent_decode(path);
  return percent_encode(decoded ? *decoded : path, true);
}

std::string canonical_query(const Query& query) {
  Query encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(percent_encode(name), percent_encode(value));
  }
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text.append(name).append("=").append(value);
  }
  return text;
}

// Runs of spaces count as one.
std::string squeeze(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == ' ' && (text.empty() || text.back() == ' ')) continue;
    text += c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string header_line(const http::Headers& headers, std::string_view name) {
  std::string line = std::string(name) + ":";
  bool first = true;
  for (const auto& [other, value] : headers) {
    if (other != name) continue;
    if (!first) line += ',';
    line += squeeze(value);
    first = false;
  }
  return line + "\n";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ";") + part;
  return text;
}

// KEY/20130524/REGION/SERVICE/aws4_request; a key id may have slashes of its own.
bool read_credential(std::string_view text, Claim& claim) {
  std::vector<std::string> parts = split(text, '/');
  if (parts.size() < 5 || parts.back() != "aws4_request") return false;
  const size_t n = parts.size();
  claim.scope = {parts[n - 4], parts[n - 3], parts[n - 2]};
  claim.key_id = parts[0];
  for (size_t i = 1; i + 4 < n; ++i) claim.key_id += "/" + parts[i];
  return !claim.key_id.empty();
}

ClaimFault malformed(std::string what) { return {Fault::malformed, std::move(what)}; }

std::optional<ClaimFault> read_header_claim(const std::string& header, Claim& claim) {
  if (!header.starts_with(kAlgorithm)) {
    return malformed(fmt::format("the authorization header does not begin with {}", kAlgorithm));
  }
  std::string_view rest = std::string_view(header).substr(kAlgorithm.size());
  bool credential = false;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    const size_t equals = std::min(one.find('='), one.size());
    const std::string_view name = one.substr(0, equals);
    const std::string_view value = one.substr(std::min(one.size(), equals + 1));
    if (name == "Credential") credential = read_credential(value, claim);
    if (name == "SignedHeaders") claim.signed_headers = split(value, ';');
    if (name == "Signature") claim.signature = value;
  }
  if (!credential || claim.signature.empty() || claim.signed_headers.empty()) {
    return malformed("the authorization header lacks Credential, SignedHeaders or Signature");
  }
  return std::nullopt;
}

std::optional<ClaimFault> read_query_claim(const Query& query, Claim& claim) {
  const std::string* algorithm = find(query, "X-Amz-Algorithm");
  const std::string* credential = find(query, "X-Amz-Credential");
  const std::string* time = find(query, "X-Amz-Date");
  const std::string* expires = find(query, "X-Amz-Expires");
  const std::string* names = find(query, "X-Amz-SignedHeaders");
  const std::string* signed_as = find(query, "X-Amz-Signature");
  if (!algorithm || !credential || !time || !expires || !names || !signed_as) {
    return malformed(
        "a presigned url has X-Amz-Algorithm, -Credential, -Date, -Expires, "
        "-SignedHeaders and -Signature");
  }
  const char* end = expires->data() + expires->size();
  const auto parsed = std::from_chars(expires->data(), end, claim.expires_s);
  if (*algorithm != kAlgorithm || !read_credential(*credential, claim) ||
      parsed.ec != std::errc() || parsed.ptr != end || claim.expires_s < 1 ||
      claim.expires_s > kExpiresMaxS) {
    return malformed(
        fmt::format("a presigned url needs {}, a credential with its scope and "
                    "1 to {} seconds",
                    kAlgorithm, kExpiresMaxS));
  }
  claim.time = *time;
  claim.signed_headers = split(*names, ';');
  claim.signature = *signed_as;
  return std::nullopt;
}

std::optional<ClaimFault> check_time(const Claim& claim, WallTime now) {
  const std::optional<WallTime> signed_at = parse_amz_time(claim.time);
  if (!signed_at || claim.time.substr(0, 8) != claim.scope.date) {
    return malformed(
        fmt::format("the time '{}' is not of the form 20130524T000000Z on the day of "
                    "the credential's scope",
                    claim.time));
  }
  const int64_t age_s = std::chrono::floor<std::chrono::seconds>(now - *signed_at).count();
  if (claim.expires_s > 0 && age_s > claim.expires_s) {
    return ClaimFault{Fault::expired, fmt::format("the presigned url has expired {} s ago",
                                                  age_s - claim.expires_s)};
  }
  if (age_s < -kSkewMaxS || (claim.expires_s == 0 && age_s > kSkewMaxS)) {
    return ClaimFault{Fault::skewed,
                      fmt::format("signature expired or not yet current: the request was signed "
                                  "at {}, it is {} here: set the clock",
                                  claim.time, amz_time(now))};
  }
  return std::nullopt;
}

// What x-amz-* headers ask for must be what the holder of the secret wanted: an x-amz-copy-source
// makes a copy of any object out of a presigned PUT.
std::optional<ClaimFault> check_signed_headers(const Claim& claim, const http::Headers& headers) {
  const std::vector<std::string>& names = claim.signed_headers;
  if (names.size() > kSignedHeadersMax) return malformed("too many signed headers");
  const auto is_signed = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (!is_signed("host")) return malformed("the header host must be signed");
  for (const auto& [name, value] : headers) {
    if (!name.starts_with("x-amz-") || is_signed(name)) continue;
    return ClaimFault{Fault::unsigned_header,
                      fmt::format("There were headers present in the request which were not "
                                  "signed: {}",
                                  quote(name))};
  }
  return std::nullopt;
}

}  // namespace

std::string canonical_request(const Signable& request,
                              const std::vector<std::string>& signed_headers,
                              std::string_view service) {
  std::string text = request.method + "\n" + canonical_path(request.path, service) + "\n" +
                     canonical_query(request.query) + "\n";
  for (const std::string& name : signed_headers) text += header_line(request.headers, name);
  return text + "\n" + join(signed_headers) + "\n" + request.payload_hash;
}

std::string string_to_sign(std::string_view time, const Scope& scope, std::string_view canonical) {
  return fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope.text(), hex(sha256(canonical)));
}

std::string signing_key(std::string_view secret, const Scope& scope) {
  const std::string date = hmac_sha256(fmt::format("AWS4{}", secret), scope.date);
  return hmac_sha256(hmac_sha256(hmac_sha256(date, scope.region), scope.service), "aws4_request");
}

std::string signature(std::string_view secret, std::string_view time, const Scope& scope,
                      std::string_view canonical) {
  return hex(hmac_sha256(signing_key(secret, scope), string_to_sign(time, scope, canonical)));
}

std::string amz_time(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::optional<WallTime> parse_amz_time(std::string_view text) {
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  const auto number = [&](size_t at, size_t size) {
    int value = 0;
    for (const char c : text.substr(at, size)) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value;
  };
  const std::chrono::year_month_day date(std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(4, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(6, 2))));
  const int hour = number(9, 2);
  const int minute = number(11, 2);
  const int second = number(13, 2);
  if (!date.ok() || number(0, 4) < 1970 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 60) {
    return std::nullopt;
  }
  return WallTime(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                  std::chrono::minutes(minute) + std::chrono::seconds(second));
}

std::string authorize(const Signable& request, const Credentials& credentials,
                      std::string_view region, std::string_view service) {
  const std::string* time = http::find_header(request.headers, "x-amz-date");
  CHECK(time != nullptr);
  std::vector<std::string> names;
  for (const auto& [name, value] : request.headers) {
    if (name == "host" || name == "content-type" || name.starts_with("x-amz-")) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const Scope scope = {time->substr(0, 8), std::string(region), std::string(service)};
  return fmt::format(
      "{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm, credentials.key_id,
      scope.text(), join(names),
      signature(credentials.secret, *time, scope, canonical_request(request, names, service)));
}

std::string presign(Signable request, const Credentials& credentials, std::string_view region,
                    WallTime now, int64_t expires_s) {
  const std::string time = amz_time(now);
  const Scope scope = {time.substr(0, 8), std::string(region), "s3"};
  request.query.emplace_back("X-Amz-Algorithm", kAlgorithm);
  request.query.emplace_back("X-Amz-Credential", credentials.key_id + "/" + scope.text());
  request.query.emplace_back("X-Amz-Date", time);
  request.query.emplace_back("X-Amz-Expires", std::to_string(expires_s));
  request.query.emplace_back("X-Amz-SignedHeaders", "host");
  request.payload_hash = kUnsignedPayload;
  const std::string canonical = canonical_request(request, {"host"}, "s3");
  return canonical_query(request.query) +
         "&X-Amz-Signature=" + signature(credentials.secret, time, scope, canonical);
}

std::variant<Claim, ClaimFault> read_claim(const Query& query, const http::Headers& headers,
                                           WallTime now) {
  Claim claim;
  std::optional<ClaimFault> fault;
  if (const std::string* header = http::find_header(headers, "authorization")) {
    fault = read_header_claim(*header, claim);
    if (const std::string* time = http::find_header(headers, "x-amz-date")) claim.time = *time;
  } else if (find(query, "X-Amz-Signature")) {
    fault = read_query_claim(query, claim);
  } else if (find(query, "AWSAccessKeyId") && find(query, "Signature")) {
    return ClaimFault{Fault::unsigned_request,
                      "the url is signed with Signature Version 2, which is not supported: sign it "
                      "with version 4 (presign of the SDKs, `aws s3 presign`, `rclone link`)"};
  } else if (http::find_header(headers, "content-type") != nullptr &&
             http::find_header(headers, "content-type")->starts_with("multipart/form-data")) {
    return ClaimFault{Fault::unsigned_request,
                      "forms with a POST policy are not supported: give the browser a presigned "
                      "url for PUT"};
  } else {
    return ClaimFault{Fault::unsigned_request,
                      "the request is not signed: give the client an access key of this hub "
                      "(DIR/aws-credentials, or `dunlin token --aws`)"};
  }
  if (!fault) fault = check_signed_headers(claim, headers);
  if (!fault) fault = check_time(claim, now);
  if (fault) return *fault;
  return claim;
}

bool verify(const Claim& claim, const Signable& request, std::string_view secret) {
  return equal(signature(secret, claim.time, claim.scope,
                         canonical_request(request, claim.signed_headers, claim.scope.service)),
               claim.signature);
}

}  // namespace dunlin::aws
