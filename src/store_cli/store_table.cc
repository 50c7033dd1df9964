// The verbs of `dunlin store` about tables: get, put, erase, scan.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/exit.h"
#include "base/names.h"
#include "sources/input.h"
#include "store_cli/store_verbs.h"

namespace dunlin::store_cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kRowsPerPage = 1000;

cli::Columns row_columns() { return cli::Columns({{"KEY"}, {"VERSION", true}, {"VALUE"}}); }

std::string row_json(const Row& row) {
  ordered_json object = json_object();
  object["key"] = row.key;
  object["version"] = row.version;
  add_bytes(object, "value", row.value);
  return cli::json_line(object);
}

Result<std::string> value_of(const PutVerb& verb) {
  if (verb.value.has_value() == !verb.value_file.empty()) {
    return Error{
        Code::invalid,
        "give either a VALUE or --value-file FILE (a VALUE that begins with '-' goes after '--')"};
  }
  return verb.value ? *verb.value : sources::read_input(verb.value_file, kValueMax);
}

}  // namespace

Result<int> run(const GetVerb& verb, const cli::StoreTarget& target) {
  TRY(validate(Get{verb.table, verb.keys}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  cli::Columns columns = row_columns();
  std::string out;
  std::string missing;
  for (const Row& row : TRY(store->table().get(verb.table, verb.keys))) {
    if (row.version == 0) {
      missing += (missing.empty() ? "" : ", ") + quote(row.key);
    } else if (target.json) {
      out += row_json(row);
    } else if (target.quiet) {
      out += row.value + '\n';
    } else {
      columns.add({row.key, std::to_string(row.version), cli::cell(row.value)});
    }
  }
  TRY(cli::print(columns.empty() ? out : columns.text()));
  if (missing.empty()) return kExitDone;
  return Error{Code::not_found,
               fmt::format("table {} has no row {}: `dunlin store scan {}` shows what it has",
                           verb.table, missing, verb.table)};
}

Result<int> run(const PutVerb& verb, const cli::StoreTarget& target) {
  const Row row{.key = verb.key,
                .value = TRY(value_of(verb)),
                .version = verb.fresh ? 0 : verb.version.value_or(kAnyVersion)};
  TRY(validate(Commit{.writes = {Put{verb.table, row.key, row.value, row.version}}}));
  const auto store = TRY(cli::open_target(target, cli::Missing::make));
  const uint64_t version = TRY(store->table().put(verb.table, row));
  if (target.json) {
    ordered_json object = json_object();
    object["key"] = row.key;
    object["version"] = version;
    TRY(cli::print(cli::json_line(object)));
  } else {
    TRY(cli::print(fmt::format("{}{}\n", target.quiet ? "" : "version ", version)));
  }
  return kExitDone;
}

Result<int> run(const EraseVerb& verb, const cli::StoreTarget& target) {
  const uint64_t version = verb.version.value_or(kAnyVersion);
  TRY(validate(Commit{.writes = {Erase{verb.table, verb.key, version}}}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  TRY(store->table().erase(verb.table, verb.key, version));
  if (target.json) {
    ordered_json object = json_object();
    object["erased"] = verb.key;
    TRY(cli::print(cli::json_line(object)));
  } else if (!target.quiet) {
    TRY(cli::print(fmt::format("erased {} of {}\n", verb.key, verb.table)));
  }
  return kExitDone;
}

Result<int> run(const ScanVerb& verb, const cli::StoreTarget& target) {
  TRY(validate(Scan{verb.table, verb.prefix, "", kRowsPerPage}));
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  uint64_t left = verb.max == 0 ? UINT64_MAX : verb.max;
  std::string after;
  while (left > 0) {
    const std::vector<Row> rows = TRY(store->table().scan(verb.table, verb.prefix, after,
                                                          std::min<uint64_t>(left, kRowsPerPage)));
    if (rows.empty()) break;
    after = rows.back().key;
    left -= rows.size();
    cli::Columns columns = row_columns();
    std::string out;
    for (const Row& row : rows) {
      if (target.json) {
        out += row_json(row);
      } else if (target.quiet) {
        out += row.key + '\n';
      } else {
        columns.add({row.key, std::to_string(row.version), cli::cell(row.value)});
      }
    }
    TRY(cli::print(columns.empty() ? out : columns.text()));
  }
  return kExitDone;
}

}  // namespace dunlin::store_cli
