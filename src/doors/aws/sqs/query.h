// SQS's Query protocol, which all clients spoke until 2023: a form with an Action comes in, XML
// goes out. Here it becomes the JSON of today's protocol and back; nothing else knows of it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "aws_protocol/json.h"
#include "doors/aws/sqs/sqs.h"
#include "http/http.h"

namespace dunlin::aws {

struct QueryRequest {
  std::string action;
  std::string version;       // Of the interface, a date.
  json in = json::object();  // As the JSON protocol has it.
};

// Reads the parameters in the query and in the body. The queue may also be named by the path.
std::variant<QueryRequest, SqsError> read_query(const http::HttpHead& head, std::string_view body);

http::HttpReply query_answer(const SqsOperation& operation, std::string_view version,
                             const json& out);

}  // namespace dunlin::aws
