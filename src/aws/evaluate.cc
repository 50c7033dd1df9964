// What expressions say about an item, and what updates make of it.
#include <algorithm>
#include <array>
#include <compare>
#include <fmt/format.h>

#include "aws/decimal.h"
#include "aws/digest.h"
#include "aws/expression.h"
#include "base/text.h"

namespace dunlin::aws {
namespace {

constexpr int kDepthMax = 32;

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

// The type and content of a value: {"S": "x"} is "S" and "x".
struct Typed {
  std::string type;
  const json* content = nullptr;
};
Typed typed(const json& value) {
  if (!value.is_object() || value.size() != 1) return {};
  return {value.begin().key(), &*value.begin()};
}

const std::string* text_of(const json& value) { return value.get_ptr<const std::string*>(); }

Result<json> normal_scalar(const std::string& type, const json& content) {
  const std::string* text = text_of(content);
  if (!text) return wrong(fmt::format("a value of type {} is a text in JSON", type));
  if (type == "N") {
    const std::optional<Decimal> number = parse_decimal(*text);
    if (!number) return wrong(fmt::format("'{}' is no number of at most 38 digits", *text));
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

json number_value(uint64_t number) { return {{"N", std::to_string(number)}}; }

// Nothing for a path at which there is nothing.
std::optional<json> value_of(const Operand& operand, const json& item) {
  if (operand.kind == Operand::Kind::value) return operand.value;
  const json* found = look_up(item, operand.path);
  if (!found) return std::nullopt;
  if (operand.kind == Operand::Kind::path) return *found;
  const Typed it = typed(*found);
  if (it.type == "S") return number_value(text_of(*it.content)->size());
  if (it.type == "B") return number_value(from_base64(*text_of(*it.content)).value_or("").size());
  if (it.content && it.content->is_structured()) return number_value(it.content->size());
  return std::nullopt;
}

bool compares(Comparison comparison, const json& a, const json& b) {
  if (comparison == Comparison::equal) return a == b;
  if (comparison == Comparison::not_equal) return a != b;
  const auto ordered = order(a, b);
  if (!ordered) return false;
  switch (comparison) {
    case Comparison::less:
      return *ordered < 0;
    case Comparison::less_equal:
      return *ordered <= 0;
    case Comparison::greater:
      return *ordered > 0;
    default:
      return *ordered >= 0;
  }
}

bool begins_with(const json& value, const json& prefix) {
  const Typed whole = typed(value);
  const Typed begin = typed(prefix);
  if (whole.type != begin.type || (whole.type != "S" && whole.type != "B")) return false;
  if (whole.type == "S") return text_of(*whole.content)->starts_with(*text_of(*begin.content));
  return from_base64(*text_of(*whole.content))
      .value_or("")
      .starts_with(from_base64(*text_of(*begin.content)).value_or(""));
}

bool contains(const json& value, const json& part) {
  const Typed whole = typed(value);
  const Typed one = typed(part);
  if (!whole.content || !one.content) return false;
  if (whole.type == "S" && one.type == "S") {
    return text_of(*whole.content)->find(*text_of(*one.content)) != std::string::npos;
  }
  if (whole.type == "L") return std::ranges::find(*whole.content, part) != whole.content->end();
  if (whole.type.size() == 2 && whole.type == one.type + "S") {
    return std::ranges::find(*whole.content, *one.content) != whole.content->end();
  }
  return false;
}

bool holds_for(const Condition& condition, const std::vector<json>& values) {
  switch (condition.kind) {
    case Condition::Kind::comparison:
      return compares(condition.comparison, values[0], values[1]);
    case Condition::Kind::between:
      return compares(Comparison::less_equal, values[1], values[0]) &&
             compares(Comparison::less_equal, values[0], values[2]);
    case Condition::Kind::in:
      return std::find(values.begin() + 1, values.end(), values[0]) != values.end();
    case Condition::Kind::of_type:
      return values[1] == json{{"S", typed(values[0]).type}};
    case Condition::Kind::begins_with:
      return begins_with(values[0], values[1]);
    default:
      return contains(values[0], values[1]);
  }
}

// --- Updates ---

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

// What holds the last step of a path: the item itself, or a map or list in it.
json* parent_of(json& item, const Path& path) {
  json* at = nullptr;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (i == 0) {
      const auto found = item.find(std::get<std::string>(path[0]));
      at = found == item.end() ? nullptr : &*found;
    } else {
      at = step_into(*at, path[i]);
    }
    if (!at) return nullptr;
  }
  return at;
}

Result<void> put_at(json& item, const Path& path, json value) {
  const Error missing =
      wrong("the document path provided in the update expression is invalid for update");
  if (path.size() == 1) {
    item[std::get<std::string>(path[0])] = std::move(value);
    return {};
  }
  json* parent = parent_of(item, path);
  if (!parent || !parent->is_object() || parent->size() != 1) return missing;
  json& content = *parent->begin();
  if (const auto* name = std::get_if<std::string>(&path.back())) {
    if (!content.is_object() || parent->begin().key() != "M") return missing;
    content[*name] = std::move(value);
    return {};
  }
  if (!content.is_array() || parent->begin().key() != "L") return missing;
  const size_t place = std::get<size_t>(path.back());
  if (place < content.size()) {
    content[place] = std::move(value);
  } else {
    content.push_back(std::move(value));
  }
  return {};
}

// Elements of lists are only marked, so that the places of others stay what they were.
void remove_at(json& item, const Path& path) {
  if (path.size() == 1) {
    item.erase(std::get<std::string>(path[0]));
    return;
  }
  json* parent = parent_of(item, path);
  if (!parent || !parent->is_object() || parent->size() != 1) return;
  json& content = *parent->begin();
  const auto* name = std::get_if<std::string>(&path.back());
  if (name && content.is_object()) content.erase(*name);
  if (!name && content.is_array() && std::get<size_t>(path.back()) < content.size()) {
    content[std::get<size_t>(path.back())] = nullptr;
  }
}

void drop_marked(json& value) {
  if (value.is_array()) {
    value.erase(std::remove(value.begin(), value.end(), json(nullptr)), value.end());
  }
  if (value.is_structured()) {
    for (json& inside : value) drop_marked(inside);
  }
}

Result<json> sum(const json& a, const json& b, bool minus) {
  const Typed left = typed(a);
  const Typed right = typed(b);
  if (left.type != "N" || right.type != "N") {
    return wrong(
        "an operand in the update expression has an incorrect data type: + and - need "
        "numbers");
  }
  const std::optional<Decimal> x = parse_decimal(*text_of(*left.content));
  std::optional<Decimal> y = parse_decimal(*text_of(*right.content));
  if (!x || !y) return wrong("an operand is no number");
  if (minus && !y->digits.empty()) y->negative = !y->negative;
  const std::optional<Decimal> total = add(*x, *y);
  if (!total) return wrong("the sum has more than 38 digits");
  return json{{"N", to_text(*total)}};
}

Result<json> set_value(const Operand& operand, const json& item) {
  switch (operand.kind) {
    case Operand::Kind::if_not_exists:
      if (const json* found = look_up(item, operand.path)) return *found;
      return set_value(operand.args[0], item);
    case Operand::Kind::list_append: {
      json first = TRY(set_value(operand.args[0], item));
      const json second = TRY(set_value(operand.args[1], item));
      if (typed(first).type != "L" || typed(second).type != "L") {
        return wrong("list_append needs two lists");
      }
      for (const json& element : *typed(second).content) first["L"].push_back(element);
      return first;
    }
    case Operand::Kind::plus:
    case Operand::Kind::minus: {
      const json a = TRY(set_value(operand.args[0], item));
      const json b = TRY(set_value(operand.args[1], item));
      return sum(a, b, operand.kind == Operand::Kind::minus);
    }
    default: {
      std::optional<json> value = value_of(operand, item);
      if (value) return std::move(*value);
      return wrong(
          "the provided expression refers to an attribute that does not exist in the item");
    }
  }
}

Result<void> add_to(json& item, const Path& path, const json& value) {
  const json* before = look_up(item, path);
  const std::string type = typed(value).type;
  if (type == "N") {
    return put_at(item, path, before ? TRY(sum(*before, value, false)) : value);
  }
  if (type.size() != 2 || (before && typed(*before).type != type)) {
    return wrong("ADD needs a number or a set, and one of the same type in the item");
  }
  std::vector<json> elements;
  if (before) elements = before->begin()->get<std::vector<json>>();
  for (const json& element : *typed(value).content) elements.push_back(element);
  std::ranges::sort(elements);
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return put_at(item, path, json{{type, elements}});
}

Result<void> delete_from(json& item, const Path& path, const json& value) {
  const json* before = look_up(item, path);
  const std::string type = typed(value).type;
  if (!before) return {};
  if (type.size() != 2 || typed(*before).type != type) {
    return wrong("DELETE needs a set, and one of the same type in the item");
  }
  std::vector<json> elements = before->begin()->get<std::vector<json>>();
  for (const json& element : *typed(value).content) std::erase(elements, element);
  if (!elements.empty()) return put_at(item, path, json{{type, elements}});
  remove_at(item, path);
  return {};
}

}  // namespace

Result<json> normal_value(const json& value) { return normal_at(value, 1); }

Result<json> normal_item(const json& item) {
  if (!item.is_object()) return wrong("an item is a map of attribute values");
  json made = json::object();
  for (const auto& [name, value] : item.items()) made[name] = TRY(normal_value(value));
  return made;
}

const json* look_up(const json& item, const Path& path) {
  if (path.empty() || !std::holds_alternative<std::string>(path[0])) return nullptr;
  const auto found = item.find(std::get<std::string>(path[0]));
  const json* at = found == item.end() ? nullptr : &*found;
  for (size_t i = 1; at && i < path.size(); ++i) at = step_into(const_cast<json&>(*at), path[i]);
  return at;
}

bool holds(const Condition& condition, const json& item) {
  const auto inside = [&item](const Condition& part) { return holds(part, item); };
  switch (condition.kind) {
    case Condition::Kind::all:
      return std::ranges::all_of(condition.parts, inside);
    case Condition::Kind::any:
      return std::ranges::any_of(condition.parts, inside);
    case Condition::Kind::negation:
      return !inside(condition.parts[0]);
    case Condition::Kind::exists:
      return look_up(item, condition.operands[0].path) != nullptr;
    case Condition::Kind::not_exists:
      return look_up(item, condition.operands[0].path) == nullptr;
    default:
      break;
  }
  std::vector<json> values;
  for (const Operand& operand : condition.operands) {
    std::optional<json> value = value_of(operand, item);
    // What is not there differs from everything and is otherwise unlike anything.
    if (!value) {
      return condition.kind == Condition::Kind::comparison &&
             condition.comparison == Comparison::not_equal;
    }
    values.push_back(std::move(*value));
  }
  return holds_for(condition, values);
}

Result<json> apply(const Update& update, const json& item) {
  json made = item;
  for (const Update::Set& set : update.sets) {
    json value = TRY(set_value(set.value, item));
    TRY(put_at(made, set.path, std::move(value)));
  }
  for (const auto& [path, value] : update.adds) TRY(add_to(made, path, value));
  for (const auto& [path, value] : update.deletes) TRY(delete_from(made, path, value));
  for (const Path& path : update.removes) remove_at(made, path);
  drop_marked(made);
  return made;
}

json project(const json& item, const std::vector<Path>& paths) {
  json made = json::object();
  for (const Path& path : paths) {
    const json* found = look_up(item, path);
    if (!found) continue;
    // Builds the maps and lists on the way; elements of lists move up.
    json* at = &made[std::get<std::string>(path[0])];
    for (size_t i = 1; i < path.size(); ++i) {
      if (const auto* name = std::get_if<std::string>(&path[i])) {
        if (!at->is_object()) *at = {{"M", json::object()}};
        at = &(*at)["M"][*name];
      } else {
        if (!at->is_object()) *at = {{"L", json::array()}};
        (*at)["L"].push_back(nullptr);
        at = &(*at)["L"].back();
      }
    }
    *at = *found;
  }
  return made;
}

}  // namespace dunlin::aws
