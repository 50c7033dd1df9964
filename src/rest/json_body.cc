#include "rest/json_body.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/names.h"
#include "model/json.h"
#include "rest/problem.h"

namespace dunlin::rest {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 16;
constexpr size_t kWordsMax = 200;  // Of what the parser says.

// Finds what is wrong with a text before anything is made of it.
class Checker final : public json::json_sax_t {
 public:
  const std::string& wrong() const { return wrong_; }

  bool null() override { return inside(); }
  bool boolean(bool /*value*/) override { return inside(); }
  bool number_integer(json::number_integer_t /*value*/) override { return inside(); }
  bool number_unsigned(json::number_unsigned_t /*value*/) override { return inside(); }
  bool number_float(json::number_float_t /*value*/, const std::string& /*text*/) override {
    return inside();
  }
  bool string(std::string& /*value*/) override { return inside(); }
  bool binary(json::binary_t& /*value*/) override { return inside(); }
  bool start_object(size_t /*elements*/) override { return deeper(); }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(size_t /*elements*/) override { return inside() && deeper(); }
  bool end_array() override { return --depth_ >= 0; }

  bool key(std::string& name) override {
    if (depth_ > 1 || names_.insert(name).second) return true;
    return refuse(fmt::format("the name {} stands there twice", quote(name)));
  }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    std::string_view words = error.what();
    words.remove_prefix(std::min(words.find("] ") + 2, words.size()));
    return refuse(fmt::format("the body is not JSON: {}", words.substr(0, kWordsMax)));
  }

 private:
  bool refuse(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
    return false;
  }
  bool inside() {
    return depth_ > 0 || refuse("the body is not a JSON object: write {\"name\":\"value\"}");
  }
  bool deeper() {
    return ++depth_ <= kDepthMax ||
           refuse(fmt::format("the body is nested more than {} deep", kDepthMax));
  }

  int depth_ = 0;
  std::set<std::string> names_;  // Of the outermost object.
  std::string wrong_;
};

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
  Checker checker;
  if (!json::sax_parse(text, &checker)) return Error{Code::invalid, checker.wrong()};
  json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return Error{Code::invalid, "the body is not a JSON object"};
  return object;
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
  return std::optional<json>(TRY(parse_object(body.value())));
}

Result<void> reply_json(Call& call, int status, const nlohmann::ordered_json& object) {
  return call.reply(status, "application/json", json_text(object) + "\n");
}

}  // namespace dunlin::rest
