#include "stores/aws/address.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/names.h"
#include "base/printable.h"
#include "url/loopback.h"
#include "url/url.h"

namespace dunlin::cloud {
namespace {

constexpr std::string_view kScheme = "aws:";
constexpr std::string_view kBucketScheme = "s3://";
constexpr size_t kBucketMin = 3;  // S3's.
constexpr size_t kBucketMax = 63;
constexpr size_t kRegionMax = 32;
constexpr size_t kPrefixMax = 31;
constexpr size_t kQueueNameMax = 80;  // SQS's.
constexpr size_t kHashDigits = 12;
constexpr size_t kEndpointMax = 300;

bool is_word(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

bool is_region(std::string_view text) {
  return !text.empty() && text.size() <= kRegionMax && is_word(text);
}

bool is_prefix(std::string_view text) {
  return text.size() >= 2 && text.size() <= kPrefixMax && is_word(text) && !text.starts_with('-');
}

bool is_bucket(std::string_view text) {
  const auto taken = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return text.size() >= kBucketMin && text.size() <= kBucketMax && std::ranges::all_of(text, taken);
}

constexpr std::string_view kPrefixRule =
    "a prefix has 2 to 31 of a-z 0-9 -, and does not begin with '-'";

Result<CloudAddress> parse_bucket(std::string_view url, std::string_view region) {
  const auto wrong = [&](std::string_view why) {
    return Error{Code::invalid,
                 fmt::format("{} is no s3://BUCKET/PREFIX: {}", quote_url(url), why)};
  };
  const std::string_view rest = url.substr(kBucketScheme.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) {
    return wrong("there is no prefix, under which the store has the bucket's objects to itself");
  }
  CloudAddress address;
  address.bucket = rest.substr(0, slash);
  address.prefix = rest.substr(slash + 1);
  address.region = region;
  if (!is_bucket(address.bucket)) return wrong("a bucket has 3 to 63 of a-z 0-9 - .");
  if (!is_prefix(address.prefix)) return wrong(kPrefixRule);
  if (!is_region(region)) {
    return wrong(fmt::format("AWS_REGION is {}, a region is like eu-north-1", quote(region)));
  }
  return address;
}

Result<CloudAddress> parse_place(std::string_view url) {
  const auto wrong = [&](std::string_view why) {
    return Error{Code::invalid, fmt::format("{} is no aws:REGION/PREFIX: {}", quote_url(url), why)};
  };
  if (!url.starts_with(kScheme)) return wrong("it begins with aws:");
  const std::string_view rest = url.substr(kScheme.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) {
    return wrong("there is no '/' between region and prefix, as in aws:eu-north-1/lab");
  }
  CloudAddress address;
  address.region = rest.substr(0, slash);
  address.prefix = rest.substr(slash + 1);
  if (!is_region(address.region)) return wrong("a region is like eu-north-1");
  if (!is_prefix(address.prefix)) return wrong(kPrefixRule);
  return address;
}

Result<std::string> parse_endpoint(std::string_view url) {
  const auto wrong = [&](std::string_view why) {
    return Error{Code::invalid, fmt::format("the endpoint {} {}", quote_url(url), why)};
  };
  const bool plain = url.starts_with("http://");
  if (!plain && !url.starts_with("https://")) return wrong("does not begin with https://");
  if (!is_visible(url, kEndpointMax)) return wrong("is too long or has odd characters");
  const Result<Url> parsed = parse_url(url);
  if (!parsed.ok()) {
    return wrong(fmt::format("{}: it is http(s)://HOST[:PORT]", parsed.error().what));
  }
  const Url& parts = parsed.value();
  const bool place = parts.path.empty() || parts.path == "/";
  if (parts.user || parts.hosts.size() != 1 || !place || url.find_first_of("?#") != url.npos) {
    return wrong("is not http(s)://HOST[:PORT]");
  }
  if (plain && !is_loopback_host(parts.hosts[0].name)) {
    return wrong("is not on this machine, so it must begin with https://");
  }
  return std::string(url.substr(0, url.size() - parts.path.size()));
}

Result<void> parse_endpoints(CloudAddress& address, std::string_view text) {
  if (text.empty()) return {};
  if (text.starts_with("http")) {
    address.sqs = TRY(parse_endpoint(text));
    address.dynamodb = address.s3 = address.sqs;
    return {};
  }
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::string_view name = part.substr(0, part.find('='));
    std::string* const endpoint = name == "sqs"        ? &address.sqs
                                  : name == "dynamodb" ? &address.dynamodb
                                  : name == "s3"       ? &address.s3
                                                       : nullptr;
    if (endpoint == nullptr || name.size() == part.size()) {
      return Error{Code::invalid,
                   fmt::format("{} is no endpoint: one URL, or sqs=URL,dynamodb=URL,s3=URL",
                               quote_url(part))};
    }
    *endpoint = TRY(parse_endpoint(part.substr(name.size() + 1)));
  }
  return {};
}

}  // namespace

std::string_view service_name(Service service) {
  return service == Service::sqs ? "sqs" : service == Service::dynamodb ? "dynamodb" : "s3";
}

std::string CloudAddress::endpoint(Service service) const {
  const std::string& given = service == Service::sqs        ? sqs
                             : service == Service::dynamodb ? dynamodb
                                                            : s3;
  if (!given.empty()) return given;
  return fmt::format("https://{}.{}.amazonaws.com{}", service_name(service), region,
                     region.starts_with("cn-") ? ".cn" : "");
}

// What SQS does not take in a name becomes '_'; then a hash keeps different names apart.
std::string CloudAddress::queue_name(std::string_view queue) const {
  std::string name = queues_start();
  for (const char c : queue) {
    const bool taken = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    name += taken ? c : '_';
  }
  const bool same = name.size() <= kQueueNameMax && std::string_view(name).ends_with(queue);
  if (same) return name;
  name.resize(std::min(name.size(), kQueueNameMax - kHashDigits - 1));
  return name + "-" + hex(sha256(queue)).substr(0, kHashDigits);
}

bool is_bucket_url(std::string_view url) { return url.starts_with(kBucketScheme); }

Result<CloudAddress> parse_cloud_address(std::string_view url, std::string_view endpoints,
                                         std::string_view region) {
  CloudAddress address = TRY(is_bucket_url(url) ? parse_bucket(url, region) : parse_place(url));
  TRY(parse_endpoints(address, endpoints));
  return address;
}

}  // namespace dunlin::cloud
