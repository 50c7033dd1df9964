// The three services behind the door. Each takes a call whose signature was checked and replies to
// it, at once or in a later turn of the loop. One thread, the door's.
#pragma once

#include <string_view>

#include "aws_protocol/json.h"
#include "doors/aws/auth.h"
#include "doors/aws/call.h"

namespace dunlin::aws {

// SQS and DynamoDB: the operation is in the header x-amz-target.
void serve_json(Call& call, Kind service, std::string_view body);

// SQS's Query protocol; its operation is a parameter.
void serve_sqs_query(Call& call, std::string_view body);

void serve_sqs(Call& call, std::string_view operation, const json& in);
void serve_dynamo(Call& call, std::string_view operation, const json& in);

// Whether a request of S3 has a body that is kept whole: all but uploads.
bool s3_keeps_body(const HttpHead& head);
void serve_s3(Call& call, std::string_view body);

}  // namespace dunlin::aws
