#include "doors/rest/bodies/openapi.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "doors/rest/bodies/api_schemas.h"

namespace dunlin::rest {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(mark), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

ordered_json parse(std::string_view schema) {
  ordered_json parsed = ordered_json::parse(schema, nullptr, false);
  CHECK(!parsed.is_discarded());
  return parsed;
}

ordered_json schema_of(const Parameter& parameter) {
  ordered_json schema;
  switch (parameter.type) {
    case Type::number:
      schema = {{"type", "integer"}, {"minimum", parameter.least}, {"maximum", parameter.most}};
      break;
    case Type::flag:
      schema = {{"type", "boolean"}};
      break;
    case Type::text:
      schema = {{"type", "string"}};
      if (parameter.least > 0) schema["minLength"] = parameter.least;
      if (parameter.most != INT64_MAX) schema["maxLength"] = parameter.most;
      if (!parameter.choices.empty()) schema["enum"] = split(parameter.choices, '|');
  }
  return schema;
}

std::string_view word_of(In in) {
  return in == In::path ? "path" : in == In::query ? "query" : "header";
}

ordered_json parameters_of(const Route& route) {
  ordered_json all = ordered_json::array();
  for (const Parameter& parameter : route.parameters) {
    ordered_json one = {{"name", parameter.name},
                        {"in", word_of(parameter.in)},
                        {"required", parameter.required},
                        {"description", parameter.summary},
                        {"schema", schema_of(parameter)}};
    const bool slashes = route.pattern.ends_with(fmt::format("{{{}*}}", parameter.name));
    if (slashes) one["x-takes-slashes"] = true;
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json content(std::string_view type, std::string_view schema) {
  ordered_json media = ordered_json::object();
  if (!schema.empty()) media["schema"] = parse(schema);
  return {{std::string(type), std::move(media)}};
}

ordered_json replies_of(const Family& family, const Route& route) {
  ordered_json replies;
  for (const std::string& status : split(route.statuses, ' ')) {
    ordered_json& reply = replies[status] = {{"description", "Success"}};
    const bool empty = route.reply_type.empty() || status == "204" || route.method == "HEAD";
    if (!empty) reply["content"] = content(route.reply_type, route.reply_schema);
  }
  const bool plain = family.style == Style::plain;
  replies["default"] = {
      {"$ref", fmt::format("#/components/responses/{}", plain ? "Line" : "Problem")}};
  return replies;
}

// "getJobsIdResults"
std::string operation_of(const Route& route) {
  std::string name;
  for (const char c : route.method) name += static_cast<char>(c | 0x20);
  bool begins = true;
  for (const char c : route.pattern) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) name += begins ? static_cast<char>(c & ~0x20) : c;
    begins = !letter;
  }
  return name;
}

ordered_json operation(const Family& family, const Route& route) {
  ordered_json one;
  one["operationId"] = operation_of(route);
  one["summary"] = route.summary;
  one["security"] = ordered_json::array();
  if (family.bearer) one["security"] = {{{"bearer", ordered_json::array({route.scope})}}};
  if (family.secret) one["security"] = {{{"secret", ordered_json::array()}}};
  one["parameters"] = parameters_of(route);
  if (!route.body_schema.empty()) {
    one["requestBody"] = {{"required", true},
                          {"content", content(route.body_type, route.body_schema)}};
  }
  one["responses"] = replies_of(family, route);
  return one;
}

// How a client shows who it is, if it must.
ordered_json scheme(std::string_view description) {
  return {{"type", "http"}, {"scheme", "bearer"}, {"description", description}};
}

ordered_json components_of(const Family& family) {
  ordered_json components;
  if (family.style == Style::plain) {
    components["responses"]["Line"] = {{"description", "A line that says what went wrong"},
                                       {"content", content("text/plain", R"({"type":"string"})")}};
    return components;
  }
  for (const auto& [name, schema] : api_schemas()) {
    components["schemas"][std::string(name)] = parse(schema);
  }
  components["responses"]["Problem"] = {
      {"description", "What went wrong"},
      {"content",
       content("application/problem+json", R"({"$ref":"#/components/schemas/Problem"})")}};
  if (family.bearer) {
    components["securitySchemes"]["bearer"] = scheme(
        "A token of the hub (`dunlin token`) with a scope: read, submit, worker or admin; each "
        "allows what those before it allow");
  }
  if (family.secret) {
    components["securitySchemes"]["secret"] =
        scheme("The secret of a tenant, as `dunlin tenant add` has shown it");
  }
  return components;
}

}  // namespace

ordered_json openapi_document(const Family& family) {
  ordered_json document;
  document["openapi"] = "3.1.0";
  document["info"] = {
      {"title", "Dunlin"}, {"version", DUNLIN_VERSION}, {"summary", "Many tasks on many machines"}};
  document["servers"] = {{{"url", family.prefix.empty() ? "/" : family.prefix}}};
  for (const Route& route : family.routes) {
    std::string path(route.pattern);
    std::erase(path, '*');
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(c | 0x20);
    document["paths"][path][method] = operation(family, route);
  }
  document["components"] = components_of(family);
  return document;
}

}  // namespace dunlin::rest
