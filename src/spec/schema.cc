#include "spec/schema.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/fields.h"

namespace dunlin::spec {
namespace {

using nlohmann::ordered_json;

std::string in_table(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

// The option, or what a command line has instead.
std::string option_of(const JobField& field) {
  if (field.name == "command" || field.name == "argv") return "`-- CMD ARG...`";
  if (field.name == "values") return "`::: VALUE...`";
  if (!field.is_at(Entrance::command_line)) return "";
  const std::string option = as_written(field.name, Entrance::command_line);
  return fmt::format("`{}{}{}`", option, field.word.empty() ? "" : " ", field.word);
}

// What is not as everywhere.
std::string notes_of(const JobField& field) {
  std::string notes;
  if (!field.typed.empty() && field.shape != Shape::list) {
    notes = fmt::format(" On the command line: {}.", field.typed);
  }
  if (field.is_at(Entrance::run)) notes += " Also an option of `dunlin run`.";
  if (field.name == "lines") notes += " Over REST and in the SDK they are `values`.";
  if (field.entrances == kInSdk) notes += " Only in the SDK.";
  return notes;
}

}  // namespace

const std::string& job_schema() {
  static const std::string text = [] {
    ordered_json schema = {{"type", "object"}, {"additionalProperties", false}};
    for (const JobField& field : job_fields()) {
      if (!field.is_at(Entrance::rest)) continue;
      auto one = ordered_json::parse(field.schema);
      one["description"] = fmt::format("{}. Must be {}", field.help, field.expected);
      schema["properties"][std::string(field.name)] = std::move(one);
    }
    for (const OldName& one : old_names()) {
      if (one.entrance != Entrance::rest) continue;
      auto old = schema["properties"][std::string(one.name)];
      old["deprecated"] = true;
      old["description"] = fmt::format("The old name of {}", one.name);
      schema["properties"][std::string(one.old)] = std::move(old);
    }
    // Objects of json_lines may bring commands of their own.
    schema["oneOf"] = ordered_json::parse(R"([{"required":["argv"]},{"required":["command"]},
      {"required":["line"]},{"required":["json_lines"],"not":{"anyOf":[
        {"required":["argv"]},{"required":["command"]},{"required":["line"]}]}}])");
    // Partitions are the tasks of a job with iterations, and each counts once.
    schema["dependentRequired"] = ordered_json::parse(
        R"({"partitions":["iterations"],"partitions_max":["iterations"],"span":["iterations"]})");
    schema["dependentSchemas"] = ordered_json::parse(
        R"({"tags":{"properties":{"requires":false}},"json_lines":{"properties":{
              "values":false,"array":false,"csv":false,"header":false}},
            "iterations":{"properties":{"values":false,"array":false,"json_lines":false,
              "delivery":{"const":"once"}}}})");
    return schema.dump();
  }();
  return text;
}

std::string fields_guide() {
  std::string guide = "| field | option | must be | what it does |\n|---|---|---|---|\n";
  for (const JobField& field : job_fields()) {
    guide += fmt::format("| `{}` | {} | {} | {}.{} |\n", field.name, in_table(option_of(field)),
                         in_table(field.expected), in_table(field.help), notes_of(field));
  }
  return guide;
}

}  // namespace dunlin::spec
