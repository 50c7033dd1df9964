#include "hub/scopes.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

#include "model/keys.h"

namespace dunlin {
namespace {

struct Named {
  Scope scope;
  std::string_view name;
};
constexpr std::array<Named, 4> kScopes = {
    Named{Scope::read, "read"}, Named{Scope::submit, "submit"}, Named{Scope::worker, "worker"},
    Named{Scope::admin, "admin"}};

std::string_view name_of(Scope scope) {
  return std::ranges::find(kScopes, scope, &Named::scope)->name;
}

// What taking messages from this queue needs.
Scope to_take_from(std::string_view queue) {
  return queue.starts_with(kReplyPrefix) ? Scope::submit : Scope::worker;
}

// How long jobs are kept is not up to whoever submits one.
Scope to_change(std::string_view table) {
  return table == kRetention ? Scope::admin : Scope::submit;
}

// The least scope that a request needs; each includes those before it.
struct Need {
  Scope operator()(const Commit& commit) const {
    Scope least = Scope::submit;
    for (const Write& write : commit.writes) {
      if (const auto* finish = std::get_if<Finish>(&write)) {
        least = std::max(least, to_take_from(finish->queue));
      } else if (const auto* keep = std::get_if<Keep>(&write)) {
        least = std::max(least, to_take_from(keep->queue));
      } else if (const auto* put = std::get_if<Put>(&write)) {
        least = std::max(least, to_change(put->table));
      } else if (const auto* erase = std::get_if<Erase>(&write)) {
        least = std::max(least, to_change(erase->table));
      }
    }
    return least;
  }
  Scope operator()(const Pull& pull) const { return to_take_from(pull.queue); }
  Scope operator()(const Renew& renew) const { return to_take_from(renew.queue); }
  Scope operator()(const BlobPart&) const { return Scope::submit; }
  Scope operator()(const BlobEnd&) const { return Scope::submit; }
  Scope operator()(const BlobErase&) const { return Scope::worker; }
  Scope operator()(const AskDepth&) const { return Scope::read; }
  Scope operator()(const Get&) const { return Scope::read; }
  Scope operator()(const Scan&) const { return Scope::read; }
  Scope operator()(const BlobGet&) const { return Scope::read; }
  Scope operator()(const BlobList&) const { return Scope::read; }
  Scope operator()(const AskInfo&) const { return Scope::read; }
  Scope operator()(const EraseAll& erase) const { return to_change(erase.table); }
};

}  // namespace

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

Result<void> allows(Scopes scopes, const Request& request) {
  const Scope need = std::visit(Need{}, request);
  for (const Named& named : kScopes) {
    if (named.scope >= need && scopes.has(named.scope)) return {};
  }
  return Error{Code::denied,
               fmt::format("this needs a token with the scope '{0}', yours has '{1}': make one "
                           "beside the hub's data with `dunlin token --scope {0}`",
                           name_of(need), to_text(scopes))};
}

}  // namespace dunlin
