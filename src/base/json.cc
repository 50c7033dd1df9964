#include "base/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"

namespace dunlin {
namespace {

using nlohmann::json;

constexpr size_t kWordsMax = 200;  // Of what the parser says.

class Builder final : public json::json_sax_t {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  const std::string& wrong() const { return wrong_; }
  json take() { return std::move(root_); }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(json::number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(json::number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(json::number_float_t value, const std::string& /*text*/) override {
    return add(value) != nullptr;
  }
  bool string(std::string& value) override { return add(std::move(value)) != nullptr; }
  bool binary(json::binary_t& /*value*/) override { return refuse("JSON has no bytes"); }
  bool start_object(size_t /*elements*/) override { return open(json::object()); }
  bool start_array(size_t /*elements*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    auto& members = *open_.back()->get_ptr<json::object_t*>();
    const auto [at, fresh] = members.emplace(name, nullptr);
    if (!fresh) return refuse(fmt::format("the name {} appears twice", quote(name)));
    member_ = &at->second;
    return true;
  }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    std::string_view words = error.what();
    words.remove_prefix(std::min(words.find("] ") + 2, words.size()));
    return refuse(fmt::format("it is not JSON: {}", words.substr(0, kWordsMax)));
  }

 private:
  bool refuse(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
    return false;
  }

  // Where the value is now; null if it is one too many.
  json* add(json value) {
    if (++values_ > limits_.values_max) {
      refuse(fmt::format("it has more than {} values", limits_.values_max));
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    if (auto* list = open_.back()->get_ptr<json::array_t*>()) {
      return &list->emplace_back(std::move(value));
    }
    return &(*member_ = std::move(value));
  }

  bool open(json empty) {
    if (static_cast<int>(open_.size()) == limits_.depth_max) {
      return refuse(fmt::format("it is nested more than {} deep", limits_.depth_max));
    }
    json* added = add(std::move(empty));
    if (added) open_.push_back(added);
    return added != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits limits_;
  json root_;
  std::vector<json*> open_;  // None moves while it is open: its siblings come later.
  json* member_ = nullptr;   // Of the innermost object: where the next value goes.
  size_t values_ = 0;
  std::string wrong_;
};

}  // namespace

Result<json> parse_json(std::string_view text, const JsonLimits& limits) {
  Builder builder(limits);
  if (!json::sax_parse(text, &builder)) return Error{Code::invalid, builder.wrong()};
  return builder.take();
}

}  // namespace dunlin
