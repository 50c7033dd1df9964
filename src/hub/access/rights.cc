#include "hub/access/rights.h"

#include <algorithm>
#include <fmt/format.h>

#include "hub/access/owner_rules.h"
#include "hub/access/table_rules.h"

namespace dunlin::hub {
namespace {

// The least scope that a request needs.
class Need {
 public:
  explicit Need(bool door) : door_(door) {}

  Scope operator()(const Commit& commit) const {
    Scope least = Scope::submit;
    for (const Write& write : commit.writes) least = std::max(least, std::visit(*this, write));
    return least;
  }
  Scope operator()(const Put& put) const {
    return to_put(put.table, put.key, put.version == 0, door_);
  }
  Scope operator()(const Erase& erase) const { return to_erase(erase.table, erase.key, door_); }
  Scope operator()(const Push& push) const { return to_push(push.queue); }
  Scope operator()(const Finish& finish) const { return to_take(finish.queue); }
  Scope operator()(const Keep& keep) const { return to_take(keep.queue); }
  Scope operator()(const EraseAll& erase) const {
    return to_erase_all(erase.table, erase.prefix, door_);
  }

  Scope operator()(const Pull& pull) const { return to_take(pull.queue); }
  Scope operator()(const Renew& renew) const { return to_take(renew.queue); }
  Scope operator()(const AskDepth& /*ask*/) const { return Scope::read; }
  Scope operator()(const AskInfo& /*ask*/) const { return Scope::read; }

  Scope operator()(const Get& get) const {
    Scope least = Scope::read;
    for (const std::string& key : get.keys) least = std::max(least, to_read(get.table, key));
    return least;
  }
  Scope operator()(const Scan& scan) const { return to_scan(scan.table, scan.prefix); }

  Scope operator()(const BlobPart& /*part*/) const { return Scope::submit; }
  Scope operator()(const BlobEnd& end) const { return to_put_blob(end.name, door_); }
  Scope operator()(const BlobGet& get) const { return to_read_blob(get.name); }
  Scope operator()(const BlobErase& erase) const { return to_erase_blob(erase.name, door_); }
  Scope operator()(const BlobList& list) const { return to_read_blob(list.prefix); }

 private:
  const bool door_;
};

}  // namespace

Result<void> allows(const Rights& rights, const Request& request) {
  const Scope need = std::visit(Need(rights.door), request);
  if (!rights.scopes.reach(need)) {
    return Error{Code::denied,
                 fmt::format("this needs a token with the scope '{0}', yours has '{1}': make one "
                             "on the hub's machine with `dunlin token --scope {0}`",
                             name_of(need), to_text(rights.scopes))};
  }
  if (rights.owner.empty()) return {};
  return check_owner(rights.owner, request);
}

Result<void> limit_to_life(const Rights& rights, WallTime now, Request& request) {
  if (rights.until == WallTime::max()) return {};
  const auto left = std::chrono::duration_cast<Millis>(rights.until - now);
  if (left <= Millis(0)) {
    return Error{
        Code::denied,
        fmt::format("the token expired {} s ago: make a new one with `dunlin token{} --scope {}`",
                    -std::chrono::floor<std::chrono::seconds>(left).count(),
                    rights.door ? " --aws" : "", to_text(rights.scopes))};
  }
  if (auto* pull = std::get_if<Pull>(&request)) pull->wait = std::min(pull->wait, left);
  return {};
}

}  // namespace dunlin::hub
