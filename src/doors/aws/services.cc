#include "doors/aws/services.h"

#include <fmt/format.h>

#include "base/json.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/dynamo/dynamo.h"
#include "doors/aws/sqs/sqs.h"

namespace dunlin::aws {
namespace {

// A DynamoDB item is 32 levels deep at most, each two of JSON.
constexpr JsonLimits kLimits{.values_max = 100'000, .depth_max = 80};

}  // namespace

void serve_json(Call& call, Kind service, std::string_view body) {
  const std::string target = call.head().header_or("x-amz-target", "");
  const size_t dot = std::min(target.find('.'), target.size());
  const std::string service_name = target.substr(0, dot);
  const bool known = service_name == (service == Kind::sqs ? "AmazonSQS" : "DynamoDB_20120810");
  if (!known || call.head().method != "POST") {
    return call.reply(json_error(
        400, fmt::format("{}UnknownOperationException", kCommonErrors),
        fmt::format("there is no operation '{}' here: docs/AWS_DOOR.md lists them", target)));
  }
  const Result<json> in = parse_json(body.empty() ? "{}" : body, kLimits);
  if (!in.ok() || !in.value().is_object()) {
    return call.reply(json_error(
        400, fmt::format("{}SerializationException", kCommonErrors),
        fmt::format("the body: {}", in.ok() ? "it is not a JSON object" : in.error().what)));
  }
  const std::string operation = target.substr(std::min(target.size(), dot + 1));
  if (service == Kind::sqs) return serve_sqs(call, operation, in.value());
  serve_dynamo(call, operation, in.value());
}

}  // namespace dunlin::aws
