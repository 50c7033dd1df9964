// Attribute values of DynamoDB as JSON has them, {"S": "x"}: what is in them, and their order.
// Pure.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "aws_protocol/json.h"
#include "doors/aws/dynamo/expression.h"

namespace dunlin::aws {

// {"S": "x"} is "S" and "x". Without a content it is no value.
struct Typed {
  std::string type;
  const json* content = nullptr;
};
Typed typed(const json& value);

// Null if it is no text; in their normal form texts, numbers and bytes are.
const std::string* text_of(const json& content);

// Of texts, numbers and bytes of the same type; nothing for all others.
std::optional<std::partial_ordering> order(const json& a, const json& b);

// One step into a map or list; null if there is nothing.
json* step_into(json& value, const PathStep& step);

// What an operand is without functions of updates; null for a path at which there is nothing. What
// is neither in the operand nor in the item is put into `made`.
const json* value_of(const Operand& operand, const json& item, json& made);

}  // namespace dunlin::aws
