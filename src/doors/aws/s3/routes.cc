// Which operation of S3 a request is. What a request says and nobody here would act on is refused
// by its name: an unknown parameter makes another operation of it in AWS's S3, and an unknown
// header asks for something that would not be done.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/names.h"
#include "doors/aws/s3/s3.h"

namespace dunlin::aws {
namespace {

enum class Level { service, bucket, object };

struct Route {
  Level level;
  std::string_view methods;
  std::string_view selector;  // A parameter that it needs; empty: none.
  std::string_view names;     // Parameters that it knows besides.
  Operation operation;
};

constexpr std::string_view kListNames =
    "list-type prefix delimiter marker start-after continuation-token encoding-type max-keys "
    "fetch-owner";
constexpr std::string_view kGetNames =
    "versionId response-cache-control response-content-disposition response-content-encoding "
    "response-content-language response-content-type response-expires";
constexpr std::string_view kUploadsNames =
    "prefix key-marker upload-id-marker max-uploads encoding-type";

// The first one fits whose selector is there.
constexpr std::array kRoutes = {
    Route{Level::service, "GET", "", "prefix max-buckets continuation-token", list_buckets},

    Route{Level::bucket, "GET", "uploads", kUploadsNames, list_uploads},
    Route{Level::bucket, "GET", "accelerate", "", answer_setting},
    Route{Level::bucket, "GET", "acl", "", answer_setting},
    Route{Level::bucket, "GET", "cors", "", answer_setting},
    Route{Level::bucket, "GET", "encryption", "", answer_setting},
    Route{Level::bucket, "GET", "lifecycle", "", answer_setting},
    Route{Level::bucket, "GET", "location", "", answer_setting},
    Route{Level::bucket, "GET", "logging", "", answer_setting},
    Route{Level::bucket, "GET", "notification", "", answer_setting},
    Route{Level::bucket, "GET", "object-lock", "", answer_setting},
    Route{Level::bucket, "GET", "ownershipControls", "", answer_setting},
    Route{Level::bucket, "GET", "policy", "", answer_setting},
    Route{Level::bucket, "GET", "policyStatus", "", answer_setting},
    Route{Level::bucket, "GET", "publicAccessBlock", "", answer_setting},
    Route{Level::bucket, "GET", "replication", "", answer_setting},
    Route{Level::bucket, "GET", "requestPayment", "", answer_setting},
    Route{Level::bucket, "GET", "tagging", "", answer_setting},
    Route{Level::bucket, "GET", "versioning", "", answer_setting},
    Route{Level::bucket, "GET", "website", "", answer_setting},
    Route{Level::bucket, "GET", "", kListNames, list_objects},
    Route{Level::bucket, "HEAD", "", "", head_bucket},
    Route{Level::bucket, "PUT", "acl", "", keep_private},
    Route{Level::bucket, "PUT", "", "", create_bucket},
    Route{Level::bucket, "DELETE", "", "", remove_bucket},
    Route{Level::bucket, "POST", "delete", "", delete_objects},

    Route{Level::object, "GET", "uploadId", "max-parts part-number-marker encoding-type",
          list_parts},
    Route{Level::object, "GET", "acl", "versionId", answer_setting},
    Route{Level::object, "GET", "tagging", "versionId", answer_setting},
    Route{Level::object, "GET HEAD", "", kGetNames, get_object},
    Route{Level::object, "PUT", "uploadId", "partNumber", upload_part},
    Route{Level::object, "PUT", "acl", "versionId", keep_private},
    Route{Level::object, "PUT", "", "", put_object},
    Route{Level::object, "DELETE", "uploadId", "", abort_upload},
    Route{Level::object, "DELETE", "tagging", "versionId", remove_tags},
    Route{Level::object, "DELETE", "", "versionId", remove_object},
    Route{Level::object, "POST", "uploads", "", create_upload},
    Route{Level::object, "POST", "uploadId", "", complete_upload},
};

// Headers that are acted on, or ask for what is so anyway.
constexpr std::array<std::string_view, 27> kHeaders = {"x-amz-checksum-algorithm",
                                                       "x-amz-checksum-crc32",
                                                       "x-amz-checksum-crc32c",
                                                       "x-amz-checksum-crc64nvme",
                                                       "x-amz-checksum-mode",
                                                       "x-amz-checksum-sha1",
                                                       "x-amz-checksum-sha256",
                                                       "x-amz-checksum-type",
                                                       "x-amz-content-sha256",
                                                       "x-amz-copy-source",
                                                       "x-amz-copy-source-if-match",
                                                       "x-amz-copy-source-if-modified-since",
                                                       "x-amz-copy-source-if-none-match",
                                                       "x-amz-copy-source-if-unmodified-since",
                                                       "x-amz-copy-source-range",
                                                       "x-amz-date",
                                                       "x-amz-decoded-content-length",
                                                       "x-amz-metadata-directive",
                                                       "x-amz-mp-object-size",
                                                       "x-amz-optional-object-attributes",
                                                       "x-amz-request-payer",
                                                       "x-amz-sdk-checksum-algorithm",
                                                       "x-amz-security-token",
                                                       "x-amz-tagging-directive",
                                                       "x-amz-te",
                                                       "x-amz-trailer",
                                                       "x-amz-user-agent"};

// Headers that ask for what is so with these values only.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kHeaderValues = {
    {{"x-amz-acl", "private bucket-owner-full-control bucket-owner-read"},
     {"x-amz-bucket-object-lock-enabled", "false False"},
     {"x-amz-expected-bucket-owner", "000000000000"},
     {"x-amz-object-lock-legal-hold", "OFF"},
     {"x-amz-object-ownership", "BucketOwnerEnforced"},
     {"x-amz-source-expected-bucket-owner", "000000000000"},
     {"x-amz-storage-class", "STANDARD"}}};

// What a presigned URL has as parameters instead of headers.
constexpr std::array<std::string_view, 13> kMoved = {"x-amz-acl",
                                                     "x-amz-checksum-algorithm",
                                                     "x-amz-checksum-type",
                                                     "x-amz-checksum-crc32",
                                                     "x-amz-checksum-crc32c",
                                                     "x-amz-checksum-mode",
                                                     "x-amz-checksum-sha1",
                                                     "x-amz-checksum-sha256",
                                                     "x-amz-content-sha256",
                                                     "x-amz-checksum-crc64nvme",
                                                     "x-amz-sdk-checksum-algorithm",
                                                     "x-amz-storage-class",
                                                     "x-amz-user-agent"};
constexpr std::array<std::string_view, 7> kSignature = {
    "x-amz-algorithm",     "x-amz-credential", "x-amz-date",          "x-amz-expires",
    "x-amz-signedheaders", "x-amz-signature",  "x-amz-security-token"};

constexpr std::string_view kWhere = "docs/AWS_DOOR.md lists what there is";

template <typename List>
bool has(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// Whether the words, with a space between them, have this one.
bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(words.size(), first.size() + 1));
  }
  return false;
}

bool fits(const Route& route, Level level, const http::HttpHead& head) {
  return route.level == level && lists(route.methods, head.method) &&
         (route.selector.empty() || find(head.query, route.selector) != nullptr);
}

void refuse(Call& call, std::string_view what) { s3_fail(call, 501, "NotImplemented", what); }

bool takes_header(Call& call, std::string_view name, std::string_view value) {
  if (has(kHeaders, name) || name.starts_with("x-amz-meta-")) return true;
  const auto* known =
      std::ranges::find(kHeaderValues, name, &std::pair<std::string_view, std::string_view>::first);
  if (known == kHeaderValues.end()) {
    refuse(call, fmt::format("S3 of this hub does not do what the header {} asks for: leave it "
                             "out ({})",
                             quote(name), kWhere));
    return false;
  }
  if (lists(known->second, value)) return true;
  refuse(call, fmt::format("S3 of this hub does not do what the header {} asks for with the value "
                           "{}: leave it out ({})",
                           quote(name), quote(value), kWhere));
  return false;
}

// Of a write it is known with one value.
bool takes_none_match(Call& call) {
  const std::string* none = call.head().header("if-none-match");
  const bool writes = call.head().method == "PUT" || call.head().method == "POST";
  if (!none || !writes || *none == "*") return true;
  refuse(call, fmt::format("S3 of this hub does not do what the header if-none-match asks for with "
                           "the value {}: a write knows only * ({})",
                           quote(*none), kWhere));
  return false;
}

bool takes_headers(Call& call) {
  if (!takes_none_match(call)) return false;
  for (const auto& [name, value] : call.head().headers) {
    if (name.starts_with("x-amz-") && !takes_header(call, name, value)) return false;
  }
  return true;
}

std::string described(Level level, const std::string& method) {
  return fmt::format("{} of {}", method,
                     level == Level::service  ? "the service"
                     : level == Level::bucket ? "a bucket"
                                              : "an object");
}

bool takes_parameter(Call& call, const Route& route, const std::string& name,
                     const std::string& value) {
  const std::string lower = lower_case(name);
  if (has(kSignature, lower) || name == "x-id" || name == route.selector) return true;
  if (has(kMoved, lower)) return takes_header(call, lower, value);
  if (lower.starts_with("x-amz-meta-")) return true;
  // The only version that there is has this name.
  if (name == "versionId" && lists(route.names, name)) {
    if (value == "null") return true;
    s3_fail(call, 404, "NoSuchVersion", "S3 of this hub keeps no versions: leave versionId out");
    return false;
  }
  if (lists(route.names, name)) return true;
  refuse(call, fmt::format("S3 of this hub does not know {} in a query for {}: {}", quote(name),
                           described(route.level, call.head().method), kWhere));
  return false;
}

}  // namespace

Operation route(Call& call, const S3Target& target) {
  const http::HttpHead& head = call.head();
  const Level level = target.bucket.empty() ? Level::service
                      : target.key.empty()  ? Level::bucket
                                            : Level::object;
  const auto found =
      std::ranges::find_if(kRoutes, [&](const Route& each) { return fits(each, level, head); });
  if (found == kRoutes.end()) {
    std::string names;
    for (const auto& [name, value] : head.query) {
      if (!has(kSignature, lower_case(name)) && name != "x-id") names += " " + quote(name);
    }
    refuse(call, fmt::format("S3 of this hub does not know {}{}{}: {}",
                             described(level, quote(head.method)), names.empty() ? "" : " with",
                             names.substr(0, 200), kWhere));
    return nullptr;
  }
  for (const auto& [name, value] : head.query) {
    if (!takes_parameter(call, *found, name, value)) return nullptr;
  }
  return takes_headers(call) ? found->operation : nullptr;
}

}  // namespace dunlin::aws
