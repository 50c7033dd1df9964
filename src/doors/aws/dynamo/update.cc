// What updates make of an item.
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <vector>

#include "doors/aws/call/decimal.h"
#include "doors/aws/dynamo/capacity.h"
#include "doors/aws/dynamo/values.h"
#include "store/store.h"

namespace dunlin::aws {
namespace {

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

// What an update makes is bounded while it is made: an expression names a large value hundreds of
// times.
class Room {
 public:
  Result<void> take(uint64_t bytes) {
    if (bytes <= left_) {
      left_ -= bytes;
      return {};
    }
    return wrong(
        fmt::format("the update makes more than {} bytes: the limit of an item", kValueMax));
  }

 private:
  uint64_t left_ = kValueMax;
};

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
  if (!x || !y) return wrong("an operand is not a number");
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
      TRY(Room().take(value_size(first) + value_size(second)));
      for (const json& element : *typed(second).content) first["L"].push_back(element);
      return first;
    }
    case Operand::Kind::plus:
    case Operand::Kind::minus: {
      const json a = TRY(set_value(operand.args[0], item));
      const json b = TRY(set_value(operand.args[1], item));
      return sum(a, b, operand.kind == Operand::Kind::minus);
    }
    case Operand::Kind::path:
    case Operand::Kind::value:
    case Operand::Kind::size:
      break;
  }
  json made;
  if (const json* value = value_of(operand, item, made)) return *value;
  return wrong("the provided expression refers to an attribute that does not exist in the item");
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
  std::vector<json> elements;  // Both are sorted.
  std::ranges::set_difference(*before->begin(), *typed(value).content,
                              std::back_inserter(elements));
  if (!elements.empty()) return put_at(item, path, json{{type, elements}});
  remove_at(item, path);
  return {};
}

}  // namespace

Result<json> apply(const Update& update, const json& item) {
  json made = item;
  Room room;
  for (const Update::Set& set : update.sets) {
    json value = TRY(set_value(set.value, item));
    TRY(room.take(value_size(value)));
    TRY(put_at(made, set.path, std::move(value)));
  }
  for (const auto& [path, value] : update.adds) {
    TRY(room.take(value_size(*value)));
    TRY(add_to(made, path, *value));
  }
  for (const auto& [path, value] : update.deletes) TRY(delete_from(made, path, *value));
  for (const Path& path : update.removes) remove_at(made, path);
  drop_marked(made);
  return made;
}

}  // namespace dunlin::aws
