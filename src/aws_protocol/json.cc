#include "aws_protocol/json.h"

#include "base/json.h"

namespace dunlin::aws {
namespace {

constexpr int kDepthMax = 80;             // Of a DynamoDB item: 32 levels, each two deep.
constexpr size_t kValuesMax = 4'000'000;  // Of the largest reply of a service.

}  // namespace

std::optional<json> parse_object(std::string_view text) {
  Result<json> value = parse_json(text, {.values_max = kValuesMax, .depth_max = kDepthMax});
  if (!value.ok() || !value.value().is_object()) return std::nullopt;
  return std::move(value).value();
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

const json* member(const json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const std::string* text_member(const json& object, std::string_view name) {
  const json* found = member(object, name);
  return found ? found->get_ptr<const std::string*>() : nullptr;
}

const json* list_member(const json& object, std::string_view name) {
  const json* found = member(object, name);
  return found && found->is_array() ? found : nullptr;
}

const json* object_member(const json& object, std::string_view name) {
  const json* found = member(object, name);
  return found && found->is_object() ? found : nullptr;
}

json object_or_empty(const json& object, std::string_view name) {
  const json* found = object_member(object, name);
  return found ? *found : json::object();
}

json list_or_empty(const json& object, std::string_view name) {
  const json* found = list_member(object, name);
  return found ? *found : json::array();
}

std::optional<int64_t> number_member(const json& object, std::string_view name) {
  const json* found = member(object, name);
  if (!found || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && *found->get_ptr<const uint64_t*>() > uint64_t{1} << 62U) {
    return std::nullopt;
  }
  return found->get<int64_t>();
}

std::string text_or(const json& object, std::string_view name, std::string_view otherwise) {
  const std::string* found = text_member(object, name);
  return std::string(found ? *found : otherwise);
}

int64_t number_or(const json& object, std::string_view name, int64_t otherwise) {
  return number_member(object, name).value_or(otherwise);
}

bool flag_member(const json& object, std::string_view name, bool otherwise) {
  const json* found = member(object, name);
  return found && found->is_boolean() ? found->get<bool>() : otherwise;
}

}  // namespace dunlin::aws
