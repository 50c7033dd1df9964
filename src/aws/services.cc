#include "aws/services.h"

#include <fmt/format.h>

#include "aws/xml.h"

namespace dunlin::aws {

void serve_json(Call& call, Kind service, std::string_view body) {
  if (!call.head().header("x-amz-target")) {
    Xml xml;
    xml.open("ErrorResponse").open("Error").leaf("Type", "Sender").leaf("Code", "InvalidAction");
    xml.leaf("Message", "this hub speaks SQS's JSON protocol only: use a newer SDK");
    return call.reply(xml_reply(400, xml.close("Error").close("ErrorResponse")));
  }
  const std::string target = call.head().header_or("x-amz-target", "");
  const size_t dot = std::min(target.find('.'), target.size());
  const std::string service_name = target.substr(0, dot);
  const bool known = service_name == (service == Kind::sqs ? "AmazonSQS" : "DynamoDB_20120810");
  if (!known || call.head().method != "POST") {
    return call.reply(json_error(
        400, fmt::format("{}UnknownOperationException", kCommonErrors),
        fmt::format("there is no operation '{}' here: docs/AWS_DOOR.md lists them", target)));
  }
  const std::optional<json> in = parse_object(body.empty() ? "{}" : body);
  if (!in) {
    return call.reply(json_error(400, fmt::format("{}SerializationException", kCommonErrors),
                                 "the body is not a JSON object, or nested too deep"));
  }
  const std::string operation = target.substr(std::min(target.size(), dot + 1));
  if (service == Kind::sqs) return serve_sqs(call, operation, *in);
  serve_dynamo(call, operation, *in);
}

}  // namespace dunlin::aws
