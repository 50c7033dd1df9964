#include "hub/access/scopes.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace dunlin::hub {
namespace {

struct Named {
  Scope scope;
  std::string_view name;
};
constexpr std::array<Named, 4> kScopes = {
    Named{Scope::read, "read"}, Named{Scope::submit, "submit"}, Named{Scope::worker, "worker"},
    Named{Scope::admin, "admin"}};

}  // namespace

std::string_view name_of(Scope scope) {
  return std::ranges::find(kScopes, scope, &Named::scope)->name;
}

std::string to_text(Scopes scopes) {
  std::string text;
  for (const Named& named : kScopes) {
    if (!scopes.has(named.scope)) continue;
    if (!text.empty()) text += ',';
    text += named.name;
  }
  return text;
}

Result<Scopes> parse_scopes(std::string_view text) {
  Scopes scopes;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    const auto* named = std::ranges::find(kScopes, name, &Named::name);
    if (named == kScopes.end()) {
      return Error{Code::invalid,
                   fmt::format("there is no scope '{}': use read, submit, worker or admin, "
                               "several with commas",
                               name)};
    }
    scopes = scopes | named->scope;
    if (comma == std::string_view::npos) return scopes;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace dunlin::hub
