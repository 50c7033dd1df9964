#include "doors/aws/dynamo/values.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/digest.h"
#include "doors/aws/call/decimal.h"

namespace dunlin::aws {
namespace {

constexpr int kDepthMax = 32;

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

Result<json> normal_scalar(const std::string& type, const json& content) {
  const std::string* text = text_of(content);
  if (!text) return wrong(fmt::format("a value of type {} is a text in JSON", type));
  if (type == "N") {
    const std::optional<Decimal> number = parse_decimal(*text);
    if (!number) return wrong(fmt::format("'{}' is not a number of at most 38 digits", *text));
    return json(to_text(*number));
  }
  if (type == "B" && !from_base64(*text)) return wrong("a value of type B is not base64");
  return content;
}

Result<json> normal_set(const std::string& type, const json& content) {
  if (!content.is_array() || content.empty()) return wrong("a set has at least one element");
  std::vector<json> elements;
  for (const json& element : content) {
    elements.push_back(TRY(normal_scalar(type.substr(0, 1), element)));
  }
  std::ranges::sort(elements);
  if (std::ranges::adjacent_find(elements) != elements.end()) {
    return wrong("a set has an element twice");
  }
  return json(std::move(elements));
}

Result<json> normal_at(const json& value, int depth);

Result<json> normal_content(const std::string& type, const json& content, int depth) {
  if (type == "S" || type == "N" || type == "B") return normal_scalar(type, content);
  if (type == "SS" || type == "NS" || type == "BS") return normal_set(type, content);
  if (type == "NULL") return json(true);
  if (type == "BOOL" && content.is_boolean()) return content;
  if (type == "L" && content.is_array()) {
    json list = json::array();
    for (const json& element : content) list.push_back(TRY(normal_at(element, depth + 1)));
    return list;
  }
  if (type == "M" && content.is_object()) {
    json map = json::object();
    for (const auto& [name, element] : content.items()) {
      map[name] = TRY(normal_at(element, depth + 1));
    }
    return map;
  }
  return wrong(fmt::format("there is no attribute type '{}' with such a content", type));
}

Result<json> normal_at(const json& value, int depth) {
  const Typed given = typed(value);
  if (!given.content || depth > kDepthMax) {
    return wrong("an attribute value is an object with one type, nested at most 32 deep");
  }
  json made = json::object();
  made[given.type] = TRY(normal_content(given.type, *given.content, depth));
  return made;
}

}  // namespace

Typed typed(const json& value) {
  if (!value.is_object() || value.size() != 1) return {};
  return {value.begin().key(), &*value.begin()};
}

const std::string* text_of(const json& value) { return value.get_ptr<const std::string*>(); }

std::optional<std::partial_ordering> order(const json& a, const json& b) {
  const Typed left = typed(a);
  const Typed right = typed(b);
  if (!left.content || left.type != right.type) return std::nullopt;
  const std::string* x = text_of(*left.content);
  const std::string* y = text_of(*right.content);
  if (!x || !y) return std::nullopt;
  if (left.type == "N") {
    const std::optional<Decimal> m = parse_decimal(*x);
    const std::optional<Decimal> n = parse_decimal(*y);
    if (!m || !n) return std::nullopt;
    return compare(*m, *n);
  }
  if (left.type == "S") return *x <=> *y;
  if (left.type == "B") return from_base64(*x).value_or("") <=> from_base64(*y).value_or("");
  return std::nullopt;
}

json* step_into(json& value, const PathStep& step) {
  const bool by_name = std::holds_alternative<std::string>(step);
  if (!value.is_object() || value.size() != 1) return nullptr;
  json& content = *value.begin();
  if (by_name && value.begin().key() == "M") {
    const auto found = content.find(std::get<std::string>(step));
    return found == content.end() ? nullptr : &*found;
  }
  if (!by_name && value.begin().key() == "L") {
    const size_t place = std::get<size_t>(step);
    return place < content.size() ? &content[place] : nullptr;
  }
  return nullptr;
}

Result<json> normal_value(const json& value) { return normal_at(value, 1); }

Result<json> normal_item(const json& item) {
  if (!item.is_object()) return wrong("an item is a map of attribute values");
  json made = json::object();
  for (const auto& [name, value] : item.items()) made[name] = TRY(normal_value(value));
  return made;
}

}  // namespace dunlin::aws
