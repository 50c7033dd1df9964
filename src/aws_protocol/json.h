// JSON in and out of AWS's protocols, without exceptions: what is missing or of another type reads
// as its absence. Pure; from any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace dunlin::aws {

using nlohmann::json;

// Nothing if the text is not an object, or is nested too deep.
std::optional<json> parse_object(std::string_view text);

// Bytes that are not UTF-8 are replaced.
std::string dump(const json& value);

// Members of an object; null, nothing or `otherwise` if there is none of that type.
const json* member(const json& object, std::string_view name);
const std::string* text_member(const json& object, std::string_view name);
const json* list_member(const json& object, std::string_view name);
const json* object_member(const json& object, std::string_view name);
json object_or_empty(const json& object, std::string_view name);
json list_or_empty(const json& object, std::string_view name);
std::optional<int64_t> number_member(const json& object, std::string_view name);
std::string text_or(const json& object, std::string_view name, std::string_view otherwise);
int64_t number_or(const json& object, std::string_view name, int64_t otherwise);
bool flag_member(const json& object, std::string_view name, bool otherwise = false);

}  // namespace dunlin::aws
