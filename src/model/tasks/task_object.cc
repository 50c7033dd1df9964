#include "model/tasks/task_object.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/names.h"

namespace dunlin {
namespace {

using nlohmann::json;

Error wrong(std::string_view field, std::string_view expected) {
  return {Code::invalid, fmt::format("\"{}\" must be {}", field, expected)};
}

// Commands get their words, folders and variables as C strings.
bool is_text(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

Result<std::vector<std::string>> argv_of(const json& value) {
  const Error error = wrong("argv", "a list of texts without NUL, the program first");
  if (!value.is_array() || value.empty()) return error;
  std::vector<std::string> argv;
  for (const json& word : value) {
    if (!is_text(word)) return error;
    argv.push_back(word.get_ref<const std::string&>());
  }
  if (argv.front().empty()) return error;
  return argv;
}

Result<std::vector<std::pair<std::string, std::string>>> env_of(const json& value) {
  const Error error = wrong("env", "an object of names and texts without NUL");
  if (!value.is_object()) return error;
  std::vector<std::pair<std::string, std::string>> env;
  for (const auto& [name, text] : value.items()) {
    if (!is_text(text) || name.empty() ||
        name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return error;
    }
    env.emplace_back(name, text.get_ref<const std::string&>());
  }
  return env;
}

}  // namespace

std::optional<std::string> TaskObject::field(const std::string& name) const {
  const auto found = fields.find(name);
  if (found == fields.end()) return std::nullopt;
  if (found->is_string()) return found->get_ref<const std::string&>();
  return found->is_null() ? std::string() : found->dump();
}

Result<TaskObject> parse_task_object(std::string_view text) {
  TaskObject task;
  Result<json> parsed = parse_json(text);
  if (!parsed.ok() || !parsed.value().is_object()) {
    return Error{Code::invalid,
                 fmt::format("{} is not a JSON object like {{\"argv\": [\"echo\", \"hello\"]}}{}",
                             quote(text), parsed.ok() ? "" : ": " + parsed.error().what)};
  }
  task.fields = std::move(parsed).value();
  for (const auto& [name, value] : task.fields.items()) {
    if (name == "argv") {
      task.argv = TRY(argv_of(value));
    } else if (name == "command") {
      if (!is_text(value) || value.get_ref<const std::string&>().empty()) {
        return wrong(name, "a shell line");
      }
      task.command = value.get_ref<const std::string&>();
    } else if (name == "env") {
      task.env = TRY(env_of(value));
    } else if (name == "stdin") {
      if (!value.is_string()) return wrong(name, "a text");
      task.stdin_bytes = value.get_ref<const std::string&>();
    } else if (name == "cwd") {
      if (!is_text(value)) return wrong(name, "the path of a folder");
      task.cwd = value.get_ref<const std::string&>();
    }
  }
  if (!task.argv.empty() && !task.command.empty()) {
    return Error{Code::invalid, "the object has both \"argv\" and \"command\": keep one of them"};
  }
  return task;
}

}  // namespace dunlin
