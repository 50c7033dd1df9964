// The protocol that SQS and DynamoDB share: JSON, and the operation in a header. One thread, the
// door's.
#pragma once

#include <string_view>

#include "aws_protocol/json.h"
#include "doors/aws/call/auth.h"
#include "doors/aws/call/call.h"

namespace dunlin::aws {

// SQS and DynamoDB: the operation is in the header x-amz-target.
void serve_json(Call& call, Kind service, std::string_view body);

}  // namespace dunlin::aws
