// Making and removing the stores that live on servers of others.

#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

#include "base/exit.h"
#include "cli/output.h"
#include "model/views/json.h"
#include "retention/sweeper.h"
#include "store_cli/store_verbs.h"
#include "stores/engines.h"

namespace dunlin::store_cli {
namespace {

Result<std::string> url_of(const cli::StoreTarget& target) {
  if (!target.at.empty()) return target.at;
  return Error{
      Code::invalid,
      fmt::format("--at (DUNLIN_AT) must name the store, e.g. {}",
                  stores::forms_of([](const stores::Engine& one) { return one.init != nullptr; }))};
}

// Whether the person at the terminal says so.
Result<bool> asked() {
  if (isatty(STDIN_FILENO) != 1) {
    return Error{
        Code::invalid,
        "cannot ask for confirmation without a terminal: --yes destroys the store without asking"};
  }
  fmt::print(stderr, "All jobs, results and blobs in this store will be lost. Destroy it? [y/N] ");
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

}  // namespace

Result<int> run(const InitVerb& /*verb*/, const cli::StoreTarget& target) {
  const std::string url = TRY(url_of(target));
  const bool made = TRY(stores::init_store(url, cli::open_options(target)));
  if (made) {
    const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
    TRY(retention::write_rule(store->table(), retention::default_rule(), true));
  }
  if (target.json) {
    TRY(cli::print(nlohmann::json{{"made", made}}.dump() + '\n'));
  } else if (!target.quiet) {
    TRY(cli::print(made ? "the store is ready\n" : "the store was ready already\n"));
  }
  return kExitDone;
}

Result<int> run(const KeepVerb& verb, const cli::StoreTarget& target) {
  const std::optional<uint64_t> keep_ms =
      verb.keep.empty() ? std::nullopt : std::optional(TRY(retention::parse_rule(verb.keep)));
  const std::optional<uint64_t> failed_ms =
      verb.failed.empty() ? std::nullopt : std::optional(TRY(retention::parse_rule(verb.failed)));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  model::Retention rule = TRY(retention::read_rule(store->table()));
  if (keep_ms) rule.set_keep_ms(*keep_ms);
  if (failed_ms) rule.set_keep_failed_ms(*failed_ms);
  if (keep_ms || failed_ms) TRY(retention::write_rule(store->table(), rule, false));
  if (target.json) {
    nlohmann::ordered_json object = json_object();
    object["keep_ms"] = rule.keep_ms();
    object["keep_failed_ms"] = rule.keep_failed_ms();
    TRY(cli::print(cli::json_line(object)));
  } else if (!target.quiet) {
    TRY(cli::print(fmt::format("jobs are kept {} after their end, failed ones {}\n",
                               retention::rule_text(rule.keep_ms()),
                               retention::rule_text(rule.keep_failed_ms()))));
  }
  return kExitDone;
}

Result<int> run(const DestroyVerb& verb, const cli::StoreTarget& target) {
  const std::string url = TRY(url_of(target));
  if (!verb.yes && !TRY(asked())) return kExitFailed;
  TRY(stores::destroy_store(url, cli::open_options(target)));
  if (!target.quiet && !target.json) TRY(cli::print("the store is destroyed\n"));
  return kExitDone;
}

}  // namespace dunlin::store_cli
