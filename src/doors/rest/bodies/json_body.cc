#include "doors/rest/bodies/json_body.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "doors/rest/server/problem.h"
#include "model/views/json.h"

namespace dunlin::rest {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits{.values_max = 1'100'000, .depth_max = 16};  // A million tasks.

constexpr size_t kValueSize = 128;  // In memory, about, with what is made of it.

// How many values there may be in a text, at most.
size_t values_of(std::string_view text) {
  const auto begins = [](char c) { return c == ',' || c == '[' || c == '{'; };
  const auto count = static_cast<size_t>(std::ranges::count_if(text, begins));
  return std::min(1 + count, kLimits.values_max);
}

// "application/json", with or without more behind a semicolon, in any case.
bool is_json(std::string_view type) {
  constexpr std::string_view kJson = "application/json";
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return std::ranges::equal(
      type, kJson, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a | 0x20 : a) == b; });
}

}  // namespace

Result<json> parse_object(std::string_view text) {
  const Error none{Code::invalid, "the body is not a JSON object: write {\"name\":\"value\"}"};
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '[') return none;
  Result<json> parsed = parse_json(text, kLimits);
  if (!parsed.ok()) {
    return Error{Code::invalid, fmt::format("the body: {}", parsed.error().what)};
  }
  if (!parsed.value().is_object()) return none;
  return parsed;
}

Result<std::optional<json>> read_object(Call& call) {
  const std::string* type = call.head().header("content-type");
  if (type != nullptr && !is_json(*type)) {
    TRY(call.reply(
        problem(415, "invalid", "the body must be JSON: send \"Content-Type: application/json\"")));
    return std::optional<json>();
  }
  const Result<std::string> body = call.read_body(kJsonMax);
  if (!body.ok() && body.error().code == Code::full) {
    call.close_after();
    TRY(call.reply(problem(413, "full", body.error().what)));
    return std::optional<json>();
  }
  if (!body.ok()) return body.error();
  TRY(call.take_memory(body.value().size() + kValueSize * values_of(body.value())));
  return std::optional<json>(TRY(parse_object(body.value())));
}

Result<void> reply_json(Call& call, int status, const nlohmann::ordered_json& object) {
  return call.reply(status, "application/json", json_text(object) + "\n");
}

}  // namespace dunlin::rest
