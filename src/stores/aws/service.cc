#include "stores/aws/service.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "aws_protocol/xml.h"
#include "base/digest.h"
#include "base/env_posix.h"
#include "base/wait.h"

namespace dunlin::cloud {
namespace {

constexpr size_t kMessageMax = 300;
constexpr size_t kLateErrorMax = 4 << 10;
constexpr size_t kBytesPerMs = 128;  // The slowest line on which bodies pass.
constexpr std::array<std::string_view, 3> kExpired = {"ExpiredToken", "ExpiredTokenException",
                                                      "RequestExpired"};
constexpr std::array<std::string_view, 11> kUnknownKey = {"UnrecognizedClientException",
                                                          "UnrecognizedClient",
                                                          "InvalidClientTokenId",
                                                          "InvalidAccessKeyId",
                                                          "SignatureDoesNotMatch",
                                                          "InvalidSignatureException",
                                                          "IncompleteSignature",
                                                          "IncompleteSignatureException",
                                                          "MissingAuthenticationToken",
                                                          "MissingAuthenticationTokenException",
                                                          "InvalidToken"};
constexpr std::array<std::string_view, 4> kForbidden = {"AccessDenied", "AccessDeniedException",
                                                        "AllAccessDisabled", "OptInRequired"};

template <size_t size>
bool one_of(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string short_of(std::string_view message) {
  return std::string(message.substr(0, kMessageMax));
}

// How far the service's clock is from ours, if it says what time it is.
std::optional<std::chrono::seconds> skew(const HttpAnswer& answer, WallTime now) {
  const std::string* date = http::find_header(answer.headers, "date");
  const time_t theirs = date == nullptr ? -1 : curl_getdate(date->c_str(), nullptr);
  if (theirs < 0) return std::nullopt;
  return std::chrono::seconds(theirs) -
         std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
}

// The body stays null if it is no object, nor rightly empty. The name of an error stands in the
// body or in a header.
void read_json(Reply& reply) {
  const std::string* length = http::find_header(reply.http.headers, "content-length");
  const bool empty = reply.status < 300 && length != nullptr && *length == "0";
  reply.body = empty ? json::object() : aws::parse_object(reply.http.body).value_or(json());
  if (reply.status < 300) return;
  const std::string* header = http::find_header(reply.http.headers, "x-amzn-errortype");
  const std::string type =
      aws::text_or(reply.body, "__type", header == nullptr ? "" : std::string_view(*header));
  reply.error = bare_error(type);
  reply.message = aws::text_or(reply.body, "message", aws::text_or(reply.body, "Message", ""));
}

void read_s3(Reply& reply) {
  // S3 may find out that it failed after it has said 200.
  const bool may_be_late =
      reply.http.body.size() < kLateErrorMax && reply.http.body.find("Error") != std::string::npos;
  if (reply.status < 300 && !may_be_late) return;
  const auto document = aws::read_xml(reply.http.body);
  const aws::XmlElement* error = document ? document->find("Error") : nullptr;
  if (reply.status < 300 && error == nullptr) return;
  if (error != nullptr) {
    reply.error = error->text_of("Code").value_or("");
    reply.message = error->text_of("Message").value_or("");
  }
  if (reply.status < 300) reply.status = 500;
}

std::string reasons_of(const Reply& reply) {
  std::string text;
  for (const json& reason : aws::list_or_empty(reply.body, "CancellationReasons")) {
    text += aws::text_or(reason, "Code", "None") + " ";
  }
  return text.empty() ? reply.message : text;
}

std::string host_of(const std::string& endpoint) {
  return endpoint.substr(endpoint.find("//") + 2);
}

}  // namespace

Error refused(const Reply& reply, std::string_view what) {
  const Code code = reply.status == 404 ? Code::not_found : Code::invalid;
  return {code, fmt::format("{}: {}{}{}", what, reply.error, reply.message.empty() ? "" : " ",
                            short_of(reply.message))};
}

CloudLink::CloudLink(CloudAddress address, const CloudOptions& options, const Clock& clock,
                     const Disk& disk)
    : address_(std::move(address)),
      options_(options),
      clock_(clock),
      http_(address_.ca_file.empty() ? environment_variable("AWS_CA_BUNDLE").value_or("")
                                     : address_.ca_file),
      keys_(http_, clock, disk, &environment_variable),
      random_(random_seed()) {}

Result<Reply> CloudLink::call(Service service, std::string_view operation, const json& in,
                              Millis wait) {
  const bool sqs = service == Service::sqs;
  Try what;
  what.service = service;
  what.path = "/";
  what.wait = wait;
  what.request.method = "POST";
  what.request.url = address_.endpoint(service) + "/";
  what.request.headers = {
      {"content-type", "application/x-amz-json-1.0"},
      {"x-amz-target", fmt::format("{}.{}", sqs ? "AmazonSQS" : "DynamoDB_20120810", operation)}};
  what.request.body = aws::dump(in);
  what.request.stoppable = wait > Millis(0);
  return insist(what);
}

Result<Reply> CloudLink::s3(const S3Call& call) {
  Try what;
  what.service = Service::s3;
  what.path = call.path;
  what.query = call.query;
  what.request.method = call.method;
  what.request.url = address_.endpoint(Service::s3) + call.path;
  char mark = '?';
  for (const auto& [name, value] : call.query) {
    what.request.url += fmt::format("{}{}={}", mark, percent_encode(name), percent_encode(value));
    mark = '&';
  }
  what.request.headers = call.headers;
  what.request.body = call.body;
  what.request.answer_max = call.answer_max;
  // Large bodies take their time on slow lines; one that stands still is given up by then.
  what.wait = Millis(static_cast<int64_t>((call.body.size() + call.expected) / kBytesPerMs));
  what.request.headers.emplace_back("x-amz-content-sha256", hex(sha256(call.body)));
  return insist(what);
}

Result<void> CloudLink::sign(const Try& what, HttpRequest& request) {
  const Keys keys = TRY(keys_.keys());
  request.headers.emplace_back("host", host_of(address_.endpoint(what.service)));
  request.headers.emplace_back("x-amz-date", aws::amz_time(clock_.wall()));
  if (!keys.token.empty()) request.headers.emplace_back("x-amz-security-token", keys.token);
  const aws::Signable signable = {request.method, what.path, what.query, request.headers,
                                  hex(sha256(request.body))};
  request.headers.emplace_back(
      "authorization",
      aws::authorize(signable, keys.credentials, address_.region, service_name(what.service)));
  return {};
}

Result<Reply> CloudLink::once(const Try& what, Millis timeout) {
  HttpRequest request = what.request;
  request.timeout = timeout;
  request.told = true;
  TRY(sign(what, request));
  count_request(what.service);
  Reply reply;
  reply.http = TRY(http_.send(request));
  reply.status = reply.http.status;
  what.service == Service::s3 ? read_s3(reply) : read_json(reply);
  if (what.service != Service::s3 && reply.body.is_null() && reply.status < 500) {
    return Error{Code::unavailable,
                 fmt::format("{} answered {} and nothing that {} would say: check the endpoint",
                             host_of(address_.endpoint(what.service)), reply.status,
                             service_name(what.service))};
  }
  if (reply.status >= 300 && reply.error.empty()) {
    reply.error = fmt::format("status {}", reply.status);
  }
  return reply;
}

// Errors about the caller, whatever it asked for.
Error CloudLink::refusal(Service service, const Reply& reply) const {
  const std::string where = host_of(address_.endpoint(service));
  const auto apart = skew(reply.http, clock_.wall());
  if (apart && (*apart > std::chrono::minutes(4) || *apart < std::chrono::minutes(-4))) {
    return {Code::denied, fmt::format("the clock of this machine is {} s {} that of {}: set it",
                                      std::abs(apart->count()),
                                      apart->count() > 0 ? "behind" : "ahead of", where)};
  }
  if (one_of(kForbidden, reply.error)) {
    return {Code::denied,
            fmt::format("{} does not allow this key to do that: {}; the policy of its user or role "
                        "must allow the store's queues, table and bucket ({}...)",
                        where, short_of(reply.message), address_.prefix)};
  }
  if (one_of(kExpired, reply.error)) {
    return {Code::denied, fmt::format("{}: the session of the AWS credentials has expired: get new "
                                      "ones",
                                      where)};
  }
  // An answer to HEAD has no body to say it in.
  if (reply.message.empty()) {
    return {Code::denied,
            fmt::format("{} refuses this AWS key and does not say why ({}): check the key and its "
                        "secret, and that the policy of its user or role allows the store's "
                        "queues, table and bucket ({}...), listing it, too",
                        where, reply.error, address_.prefix)};
  }
  return {Code::denied, fmt::format("{} does not know these AWS credentials: {}; check the key and "
                                    "its secret (AWS_ACCESS_KEY_ID or the profile), and that they "
                                    "are for this region ({})",
                                    where, short_of(reply.message), address_.region)};
}

Result<Reply> CloudLink::insist(const Try& what) {
  const Millis first = std::min(options_.connect_wait, options_.deadline);
  const Millis patience = met_ ? options_.deadline : first;
  Instant deadline = clock_.now() + patience + what.wait;
  Pace& pace = pace_[static_cast<size_t>(what.service)];
  bool fresh_keys = false;
  for (int tries = 1;; ++tries) {
    if (const Millis pause = pace.next(clock_.now()); pause > Millis(0)) {
      wait_until(std::min(clock_.now() + pause, deadline), clock_);
    }
    const Millis left = std::max(deadline - clock_.now(), Millis(1));
    Result<Reply> got = once(what, std::min(left, options_.try_max + what.wait));
    Error error = {Code::unavailable, ""};
    if (got.ok()) {
      if (!met_) deadline += options_.deadline - patience;
      met_ = true;
      const Reply& reply = got.value();
      const Verdict verdict = judge(reply.status, reply.error, reasons_of(reply));
      if (one_of(kExpired, reply.error) && !fresh_keys) {
        keys_.forget();
        fresh_keys = true;
        continue;
      }
      // HEAD has no body that could say why.
      const bool denied = one_of(kForbidden, reply.error) || one_of(kUnknownKey, reply.error) ||
                          one_of(kExpired, reply.error) || reply.error == "RequestTimeTooSkewed" ||
                          reply.error == "status 403";
      if (denied) return refusal(what.service, reply);
      if (verdict == Verdict::done || verdict == Verdict::refused) return got;
      if (verdict == Verdict::throttled) pace.throttled(clock_.now());
      error.what = fmt::format("{} is busy: {} {}", host_of(address_.endpoint(what.service)),
                               reply.error, short_of(reply.message));
    } else {
      error = got.error();
      if (error.code != Code::unavailable || (what.request.stoppable && stopped())) return error;
      // A service that never answered is not waited for.
      if (!met_ && http_.nobody_there()) return error;
    }
    const Millis pause = backoff(tries, random_);
    if (clock_.now() + pause >= deadline) return error;
    wait_until(clock_.now() + pause, clock_);
  }
}

}  // namespace dunlin::cloud
