#include "spec/read_back.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/text.h"
#include "spec/fields.h"

namespace dunlin::spec {
namespace {

// JSON has no other text, and another byte in its place would make another job.
bool is_text(const nlohmann::json& value) {
  if (value.is_string()) return is_utf8(value.get_ref<const std::string&>());
  if (!value.is_structured()) return true;
  const auto is_key = [&](const auto& item) { return !value.is_object() || is_utf8(item.key()); };
  const auto items = value.items();
  return std::all_of(items.begin(), items.end(),
                     [&](const auto& item) { return is_key(item) && is_text(item.value()); });
}

// The field that would have the inputs, if they are not among what is shown.
std::string hidden_inputs(const model::Inputs& inputs, const nlohmann::ordered_json& shown) {
  const bool has_numbers = inputs.sources_size() == 0 && !inputs.single();
  const bool there = std::ranges::any_of(std::array{"array", "values", "json_lines"},
                                         [&](const char* name) { return shown.contains(name); });
  return there                            ? ""
         : has_numbers || inputs.listed() ? "array"
         : inputs.json()                  ? "json_lines"
         : inputs.single()                ? ""
                                          : "values";
}

}  // namespace

nlohmann::ordered_json spec_json(const model::Job& job) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  std::set<std::string> hidden;
  for (const JobField& field : job_fields()) {
    nlohmann::json value = field.access.get(job);
    if (value.is_null()) continue;
    if (is_text(value)) {
      fields[std::string(field.name)] = std::move(value);
    } else {
      hidden.emplace(field.name);
    }
  }
  if (!job.spec().stdin_blob().empty()) hidden.emplace("stdin");
  const std::string inputs = hidden_inputs(job.spec().inputs(), fields);
  if (!inputs.empty()) hidden.insert(inputs);
  if (!hidden.empty()) fields[std::string(kNotShown)] = hidden;
  return fields;
}

}  // namespace dunlin::spec
