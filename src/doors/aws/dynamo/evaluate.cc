// What expressions say about an item.
#include <algorithm>
#include <array>
#include <compare>
#include <fmt/format.h>
#include <map>

#include "base/digest.h"
#include "doors/aws/dynamo/values.h"

namespace dunlin::aws {
namespace {

json number_value(uint64_t number) { return {{"N", std::to_string(number)}}; }

bool compares(Comparison comparison, const json& a, const json& b) {
  const auto ordered = [&] { return order(a, b).value_or(std::partial_ordering::unordered); };
  switch (comparison) {
    case Comparison::equal:
      return a == b;
    case Comparison::not_equal:
      return a != b;
    case Comparison::less:
      return std::is_lt(ordered());
    case Comparison::less_equal:
      return std::is_lteq(ordered());
    case Comparison::greater:
      return std::is_gt(ordered());
    case Comparison::greater_equal:
      return std::is_gteq(ordered());
  }
  CHECK(false);
  return false;
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

bool holds_for(const Condition& condition, const std::vector<const json*>& values) {
  const json& first = *values[0];
  switch (condition.kind) {
    case Condition::Kind::comparison:
      return compares(condition.comparison, first, *values[1]);
    case Condition::Kind::between:
      return compares(Comparison::less_equal, *values[1], first) &&
             compares(Comparison::less_equal, first, *values[2]);
    case Condition::Kind::in:
      return std::any_of(values.begin() + 1, values.end(),
                         [&](const json* value) { return *value == first; });
    case Condition::Kind::of_type:
      return *values[1] == json{{"S", typed(first).type}};
    case Condition::Kind::begins_with:
      return begins_with(first, *values[1]);
    case Condition::Kind::contains:
      return contains(first, *values[1]);
    case Condition::Kind::all:
    case Condition::Kind::any:
    case Condition::Kind::negation:
    case Condition::Kind::exists:
    case Condition::Kind::not_exists:
      break;  // holds() has answered these.
  }
  CHECK(false);
  return false;
}

// What paths keep of a value: all of it, or what is kept of things in it. Steps sort as they stand
// in a list.
struct Kept {
  bool whole = false;
  std::map<PathStep, Kept> inside;
};

// Nothing if the value has none of that. Elements of lists move up.
std::optional<json> pick(const json& value, const Kept& kept) {
  if (kept.whole) return value;
  const std::string type = typed(value).type;
  json made = type == "L" ? json::array() : json::object();
  for (const auto& [step, part] : kept.inside) {
    const json* found = step_into(const_cast<json&>(value), step);
    std::optional<json> picked = found ? pick(*found, part) : std::nullopt;
    if (!picked) continue;
    if (const auto* name = std::get_if<std::string>(&step)) {
      made[*name] = std::move(*picked);
    } else {
      made.push_back(std::move(*picked));
    }
  }
  if (made.empty()) return std::nullopt;
  return json{{type, std::move(made)}};
}

}  // namespace

const json* value_of(const Operand& operand, const json& item, json& made) {
  if (operand.kind == Operand::Kind::value) return operand.value.get();
  const json* found = look_up(item, operand.path);
  if (!found || operand.kind == Operand::Kind::path) return found;
  const Typed it = typed(*found);
  if (it.type == "S") {
    made = number_value(text_of(*it.content)->size());
  } else if (it.type == "B") {
    made = number_value(from_base64(*text_of(*it.content)).value_or("").size());
  } else if (it.content && it.content->is_structured()) {
    made = number_value(it.content->size());
  } else {
    return nullptr;
  }
  return &made;
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
    case Condition::Kind::comparison:
    case Condition::Kind::between:
    case Condition::Kind::in:
    case Condition::Kind::of_type:
    case Condition::Kind::begins_with:
    case Condition::Kind::contains:
      break;
  }
  // Pointers: a filter looks at every item with what may be a large value.
  std::vector<const json*> values;
  std::vector<json> made(condition.operands.size());
  for (const Operand& operand : condition.operands) {
    const json* value = value_of(operand, item, made[values.size()]);
    // What is not there differs from everything and is otherwise unlike anything.
    if (!value) {
      return condition.kind == Condition::Kind::comparison &&
             condition.comparison == Comparison::not_equal;
    }
    values.push_back(value);
  }
  return holds_for(condition, values);
}

json project(const json& item, const std::vector<Path>& paths) {
  Kept all;
  for (const Path& path : paths) {
    Kept* at = &all;
    for (const PathStep& step : path) at = &at->inside[step];
    at->whole = true;
  }
  json made = json::object();
  for (const auto& [step, kept] : all.inside) {
    const json* found = look_up(item, {step});
    std::optional<json> part = found ? pick(*found, kept) : std::nullopt;
    if (part) made[std::get<std::string>(step)] = std::move(*part);
  }
  return made;
}

}  // namespace dunlin::aws
