// Making and removing the stores that live on servers of others.

#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "backends/open.h"
#include "base/exit.h"
#include "client/output.h"
#include "client/store_verbs.h"

namespace dunlin {
namespace {

Result<std::string> url_of(const StoreTarget& target) {
  if (!target.at.empty()) return target.at;
  return Error{Code::invalid, "--at (DUNLIN_AT) must name the store, as postgres://USER@HOST/DB"};
}

// Whether the person at the terminal says so.
Result<bool> asked() {
  if (isatty(STDIN_FILENO) != 1) {
    return Error{Code::invalid,
                 "nobody can be asked here: --yes destroys the store without a "
                 "question"};
  }
  fmt::print(stderr, "All jobs, results and blobs in it are lost. Destroy it? [y/N] ");
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

}  // namespace

Result<int> run(const InitVerb& /*verb*/, const StoreTarget& target) {
  const std::string url = TRY(url_of(target));
  const bool made = TRY(init_store(url, open_options(target)));
  if (target.json) {
    TRY(print(nlohmann::json{{"made", made}}.dump() + '\n'));
  } else if (!target.quiet) {
    TRY(print(made ? "the store is ready\n" : "the store was ready already\n"));
  }
  return kExitDone;
}

Result<int> run(const DestroyVerb& verb, const StoreTarget& target) {
  const std::string url = TRY(url_of(target));
  if (!verb.yes && !TRY(asked())) return kExitFailed;
  TRY(destroy_store(url, open_options(target)));
  if (!target.quiet && !target.json) TRY(print("the store is gone\n"));
  return kExitDone;
}

}  // namespace dunlin
