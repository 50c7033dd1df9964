#include "doors/rest/server/route.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

#include "base/names.h"
#include "doors/rest/server/call.h"
#include "url/percent.h"

namespace dunlin::rest {
namespace {

using Parts = std::vector<std::string_view>;

// Of "/a/b": a, b. An empty last part, after a slash, is none.
Parts split_path(std::string_view path) {
  Parts parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0 || end < path.size()) parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

bool is_open(std::string_view part) { return part.starts_with('{'); }
bool takes_rest(std::string_view part) { return part.ends_with("*}"); }
std::string name_of(std::string_view part) {
  part.remove_prefix(1);
  return std::string(part.substr(0, part.find_first_of("*}")));
}

// Whether parts[at..] are what the pattern says, to the end.
bool matches(const Parts& pattern, const Parts& parts, size_t at, Match& match) {
  const bool rest = !pattern.empty() && takes_rest(pattern.back());
  const size_t left = parts.size() - at;
  if (rest ? left < pattern.size() : left != pattern.size()) return false;
  match.parameters.clear();
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view part = parts[at + i];
    if (!is_open(pattern[i])) {
      if (pattern[i] != part) return false;
      continue;
    }
    const char* end = takes_rest(pattern[i]) ? parts.back().data() + parts.back().size()
                                             : part.data() + part.size();
    auto value = percent_decode({part.data(), static_cast<size_t>(end - part.data())});
    if (!value) return false;
    match.parameters.emplace_back(name_of(pattern[i]), std::move(*value));
  }
  return true;
}

// The last place of the path where the pattern fits; for one that takes the rest, the first.
std::optional<size_t> place_of(const Parts& pattern, const Parts& parts, Match& match) {
  if (takes_rest(pattern.back())) {
    for (size_t at = 0; at + pattern.size() <= parts.size(); ++at) {
      if (matches(pattern, parts, at, match)) return at;
    }
    return {};
  }
  if (parts.size() < pattern.size()) return {};
  const size_t at = parts.size() - pattern.size();
  return matches(pattern, parts, at, match) ? std::optional(at) : std::nullopt;
}

bool try_route(const Family& family, const Route& route, std::string_view path, Match& match) {
  const Parts parts = split_path(path);
  const Parts pattern = split_path(route.pattern);
  if (!family.prefix.empty()) return matches(pattern, parts, 0, match);
  const std::optional<size_t> at = place_of(pattern, parts, match);
  if (!at) return false;
  match.prefix = path.substr(0, static_cast<size_t>(parts[*at].data() - path.data()) - 1);
  return true;
}

Match find_in(const Family& family, std::string_view method, std::string_view path) {
  Match found;
  found.family = &family;
  for (const Route& route : family.routes) {
    Match match;
    if (!try_route(family, route, path, match)) continue;
    found.path_known = true;
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method);
    if (route.method != method) continue;
    match.family = &family;
    match.route = &route;
    match.path_known = true;
    return match;
  }
  return found;
}

Error wrong(const Parameter& parameter, std::string_view why) {
  return {Code::invalid, fmt::format("parameter {} {}", parameter.name, why)};
}

bool is_choice(std::string_view choices, std::string_view value) {
  while (true) {
    const size_t end = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, end) == value) return true;
    if (end == choices.size()) return false;
    choices.remove_prefix(end + 1);
  }
}

Result<void> check(const Parameter& parameter, std::string_view value) {
  switch (parameter.type) {
    case Type::text:
      if (static_cast<int64_t>(value.size()) < parameter.least) {
        return wrong(parameter, fmt::format("has less than {} bytes", parameter.least));
      }
      if (static_cast<int64_t>(value.size()) > parameter.most) {
        return wrong(parameter, fmt::format("has more than {} bytes", parameter.most));
      }
      if (!parameter.choices.empty() && !is_choice(parameter.choices, value)) {
        return wrong(parameter, fmt::format("must be one of {}", parameter.choices));
      }
      return {};
    case Type::number: {
      int64_t number = 0;
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (value.empty() || failed != std::errc() || end != value.data() + value.size()) {
        return wrong(parameter, fmt::format("is not a whole number: {}", quote(value)));
      }
      if (number < parameter.least || number > parameter.most) {
        return wrong(parameter,
                     fmt::format("must be between {} and {}", parameter.least, parameter.most));
      }
      return {};
    }
    case Type::flag:
      if (value == "true" || value == "false") return {};
      return wrong(parameter, "must be true or false");
  }
  CHECK(false);
  return {};
}

}  // namespace

Match find_route(const std::vector<Family>& families, std::string_view method,
                 std::string_view path) {
  Match nobody;
  for (const Family& family : families) {
    if (family.prefix.empty()) {
      Match match = find_in(family, method, path);
      if (match.path_known) return match;
      if (nobody.family == nullptr) nobody = std::move(match);
    } else if (path == family.prefix ||
               (path.starts_with(family.prefix) && path[family.prefix.size()] == '/')) {
      return find_in(family, method, path.substr(family.prefix.size()));
    }
  }
  return nobody;
}

Result<void> check_parameters(const Route& route, const Call& call) {
  for (const Parameter& parameter : route.parameters) {
    const std::string* value = call.parameter(parameter.in, parameter.name);
    if (value != nullptr) {
      TRY(check(parameter, *value));
    } else if (parameter.required) {
      return wrong(parameter, "is missing");
    }
  }
  for (const auto& given : call.head().query) {
    const auto known = std::ranges::find_if(route.parameters, [&](const Parameter& parameter) {
      return parameter.in == In::query && parameter.name == given.first;
    });
    if (known == route.parameters.end()) {
      return Error{Code::invalid, fmt::format("there is no parameter {}", quote(given.first))};
    }
  }
  return {};
}

}  // namespace dunlin::rest
