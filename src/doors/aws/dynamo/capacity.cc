#include "doors/aws/dynamo/capacity.h"

#include <algorithm>

#include "base/digest.h"
#include "doors/aws/dynamo/values.h"

namespace dunlin::aws {
namespace {

constexpr uint64_t kReadBytes = 4096;
constexpr uint64_t kWriteBytes = 1024;
constexpr uint64_t kListBytes = 3;  // Of a list or map, and one for each element.

uint64_t number_size(const std::string& text) { return (text.size() + 1) / 2 + 1; }

uint64_t scalar_size(const std::string& type, const json& content) {
  const auto* text = content.get_ptr<const std::string*>();
  if (text == nullptr) return 1;  // BOOL and NULL.
  if (type == "N") return number_size(*text);
  return type == "B" ? from_base64(*text).value_or("").size() : text->size();
}

uint64_t blocks(uint64_t bytes, uint64_t block) {
  return std::max<uint64_t>(1, (bytes + block - 1) / block);
}

json capacity_of(const json& in, const std::string& table, double units) {
  json made = {{"TableName", table}, {"CapacityUnits", units}};
  if (text_or(in, "ReturnConsumedCapacity", "") == "INDEXES") {
    made["Table"] = {{"CapacityUnits", units}};
  }
  return made;
}

bool is_asked_for(const json& in) {
  const std::string asked = text_or(in, "ReturnConsumedCapacity", "NONE");
  return asked == "TOTAL" || asked == "INDEXES";
}

}  // namespace

uint64_t value_size(const json& value) {
  const Typed it = typed(value);
  if (!it.content) return 0;
  if (it.type == "M") return kListBytes + it.content->size() + item_size(*it.content);
  uint64_t size = 0;
  if (it.type == "L") {
    for (const json& element : *it.content) size += 1 + value_size(element);
    return size + kListBytes;
  }
  if (it.type.size() != 2) return scalar_size(it.type, *it.content);
  for (const json& element : *it.content) size += scalar_size(it.type.substr(0, 1), element);
  return size;
}

uint64_t item_size(const json& item) {
  uint64_t size = 0;
  if (!item.is_object()) return size;
  for (const auto& [name, value] : item.items()) size += name.size() + value_size(value);
  return size;
}

ReadMode read_mode(const json& in) {
  return flag_member(in, "ConsistentRead") ? ReadMode::consistent : ReadMode::late;
}

double read_units(uint64_t bytes, ReadMode mode) {
  const auto units = static_cast<double>(blocks(bytes, kReadBytes));
  return mode == ReadMode::late ? units / 2 : mode == ReadMode::consistent ? units : units * 2;
}

double write_units(uint64_t bytes) { return static_cast<double>(blocks(bytes, kWriteBytes)); }

void add_capacity(json& out, const json& in, const std::string& table, double units) {
  if (is_asked_for(in)) out["ConsumedCapacity"] = capacity_of(in, table, units);
}

void add_capacities(json& out, const json& in, const std::map<std::string, double>& units) {
  if (!is_asked_for(in)) return;
  json list = json::array();
  for (const auto& [table, count] : units) list.push_back(capacity_of(in, table, count));
  out["ConsumedCapacity"] = std::move(list);
}

}  // namespace dunlin::aws
