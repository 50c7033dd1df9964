// DynamoDB's operations on several items: batches, and transactions, which are one commit.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "doors/aws/call/replies.h"
#include "doors/aws/dynamo/capacity.h"
#include "doors/aws/dynamo/dynamo.h"

namespace dunlin::aws {
namespace {

constexpr int kTriesMax = 200;
constexpr size_t kGetsMax = 100;
constexpr size_t kWritesMax = 25;
constexpr size_t kTransactionMax = 100;
constexpr size_t kCommitBytes = 7 << 20;  // Below what a commit takes.

std::set<std::string> names_of(const json& requests) {
  std::set<std::string> names;
  for (const auto& [name, value] : requests.items()) names.insert(name);
  return names;
}

// --- BatchGetItem ---

struct GetsState final : CallState {
  size_t left = 0;
  json responses = json::object();
  json unprocessed = json::object();
  std::map<std::string, double> units;
  std::optional<Error> failed;
};

struct TableGets {
  DynamoTable table;
  json request;
  std::optional<std::vector<Path>> paths;
  std::vector<std::string> keys;
};

Result<TableGets> plan_gets(const DynamoTable& table, const json& request) {
  auto paths = TRY(projection_of(request));
  TableGets made{table, request, std::move(paths), {}};
  for (const json& key : list_or_empty(request, "Keys")) {
    made.keys.push_back(TRY(row_key(table, key, true)));
  }
  const std::set<std::string> distinct(made.keys.begin(), made.keys.end());
  if (distinct.size() != made.keys.size()) {
    return Error{Code::invalid, "provided list of item keys contains duplicates"};
  }
  return made;
}

// A Get may answer fewer rows than it was asked for; the rest is for the client to ask again.
void take_rows(GetsState& state, const TableGets& gets, const Rows& rows) {
  json& items = state.responses[gets.table.name];
  for (const Row& row : rows.rows) {
    if (row.version == 0) continue;
    const Result<json> item = item_of(row);
    if (!item.ok()) {
      state.failed = item.error();
      return;
    }
    state.units[gets.table.name] += read_units(item_size(item.value()), read_mode(gets.request));
    items.push_back(gets.paths ? project(item.value(), *gets.paths) : item.value());
  }
  if (rows.rows.size() == gets.keys.size()) return;
  json rest = gets.request;
  rest["Keys"] = json::array();
  const json keys = list_or_empty(gets.request, "Keys");
  for (size_t i = rows.rows.size(); i < keys.size(); ++i) rest["Keys"].push_back(keys[i]);
  state.unprocessed[gets.table.name] = rest;
}

void batch_get(Call& call, const json& in) {
  const json requests = object_or_empty(in, "RequestItems");
  size_t count = 0;
  for (const json& request : requests) count += list_or_empty(request, "Keys").size();
  if (count < 1 || count > kGetsMax) {
    return dynamo_fail(call, "ValidationException", "RequestItems has 1 to 100 keys");
  }
  with_tables(call, names_of(requests), [&call, requests, in](const Tables& tables) {
    std::vector<TableGets> all;
    for (const auto& [name, request] : requests.items()) {
      Result<TableGets> gets = plan_gets(tables.at(name), request);
      if (!gets.ok()) return dynamo_fail(call, gets.error());
      all.push_back(std::move(gets).value());
    }
    GetsState& state = call.keep(std::make_unique<GetsState>());
    state.left = all.size();
    for (const TableGets& gets : all) {
      state.responses[gets.table.name] = json::array();
      call.ask(Get{gets.table.store, gets.keys}, [&call, &state, gets, in](Answer&& answer) {
        if (const auto* error = std::get_if<Error>(&answer)) state.failed = *error;
        if (const auto* rows = std::get_if<Rows>(&answer)) take_rows(state, gets, *rows);
        if (--state.left > 0) return;
        if (state.failed) return dynamo_fail(call, *state.failed);
        json out = {{"Responses", state.responses}, {"UnprocessedKeys", state.unprocessed}};
        add_capacities(out, in, state.units);
        call.reply(json_reply(200, out));
      });
    }
  });
}

// --- BatchWriteItem ---

// What fits in a commit; the rest is for the client to send again.
Result<json> plan_batch(const Tables& tables, const json& requests, Commit& commit,
                        std::map<std::string, double>& units) {
  std::set<std::pair<std::string, std::string>> seen;
  json unprocessed = json::object();
  size_t bytes = 0;
  for (const auto& [name, list] : requests.items()) {
    for (const json& request : list) {
      const json* put = object_member(request, "PutRequest");
      const json* remove = object_member(request, "DeleteRequest");
      if ((put == nullptr) == (remove == nullptr)) {
        return Error{Code::invalid, "each request is a PutRequest or a DeleteRequest"};
      }
      const auto kind = put ? ItemWrite::Kind::put : ItemWrite::Kind::remove;
      const ItemWrite write = TRY(plan_write(kind, tables.at(name), put ? *put : *remove));
      if (!seen.emplace(name, write.key).second) {
        return Error{Code::invalid, "provided list of item keys contains duplicates"};
      }
      Decision made = TRY(decide(write, Row{write.key, "", 0}));
      if (auto* row = std::get_if<Put>(&made.write)) {
        row->version = kAnyVersion;
        bytes += row->value.size();
      } else {
        std::get<Erase>(made.write).version = kAnyVersion;
      }
      if (bytes > kCommitBytes) {
        unprocessed[name].push_back(request);
      } else {
        units[name] += write_units(item_size(write.item));
        commit.writes.push_back(std::move(made.write));
      }
    }
  }
  return unprocessed;
}

void batch_write(Call& call, const json& in) {
  const json requests = object_or_empty(in, "RequestItems");
  size_t count = 0;
  for (const json& list : requests) count += list.is_array() ? list.size() : kWritesMax + 1;
  if (count < 1 || count > kWritesMax) {
    return dynamo_fail(call, "ValidationException", "RequestItems has 1 to 25 writes in lists");
  }
  with_tables(call, names_of(requests), [&call, requests, in](const Tables& tables) {
    Commit commit;
    std::map<std::string, double> units;
    const Result<json> unprocessed = plan_batch(tables, requests, commit, units);
    if (!unprocessed.ok()) return dynamo_fail(call, unprocessed.error());
    call.ask(std::move(commit), [&call, in, units, rest = unprocessed.value()](Answer&& answer) {
      if (!dynamo_expect<Committed>(call, answer)) return;
      json out = {{"UnprocessedItems", rest}};
      add_capacities(out, in, units);
      call.reply(json_reply(200, out));
    });
  });
}

// --- Transactions ---

struct TransactionState final : CallState {
  std::vector<ItemWrite> writes;
  std::vector<bool> shows_item;  // On failure, for each.
  std::vector<Row> rows;         // For each.
  json in = json::object();
  size_t left = 0;
  std::optional<Error> failed;
  int tries = kTriesMax;
};

struct Part {
  std::string_view name;
  ItemWrite::Kind kind;
};
constexpr std::array<Part, 4> kParts = {{{"Put", ItemWrite::Kind::put},
                                         {"Delete", ItemWrite::Kind::remove},
                                         {"Update", ItemWrite::Kind::update},
                                         {"ConditionCheck", ItemWrite::Kind::check}}};

// The one part of an item of a transaction; null if it has none or several.
const json* part_of(const json& item, ItemWrite::Kind& kind) {
  const json* found = nullptr;
  for (const Part& part : kParts) {
    const json* one = object_member(item, part.name);
    if (one && found) return nullptr;
    if (!one) continue;
    found = one;
    kind = part.kind;
  }
  return found;
}

void cancel(Call& call, const json& reasons) {
  std::string codes;
  for (const json& reason : reasons) {
    codes += (codes.empty() ? "" : ", ") + text_or(reason, "Code", "None");
  }
  call.reply(json_reply(
      400, {{"__type", "com.amazonaws.dynamodb.v20120810#TransactionCanceledException"},
            {"Message",
             fmt::format("Transaction cancelled, please refer cancellation reasons for specific "
                         "reasons [{}]",
                         codes)},
            {"CancellationReasons", reasons}}));
}

void ask_rows(Call& call, TransactionState& state, const std::function<void()>& then) {
  state.rows.assign(state.writes.size(), Row{});
  state.left = state.writes.size();
  for (size_t i = 0; i < state.writes.size(); ++i) {
    const ItemWrite& write = state.writes[i];
    call.ask(Get{write.table.store, {write.key}}, [&call, &state, i, then](Answer&& answer) {
      if (const auto* error = std::get_if<Error>(&answer)) state.failed = *error;
      if (auto* rows = std::get_if<Rows>(&answer)) state.rows[i] = std::move(rows->rows.at(0));
      if (--state.left > 0) return;
      if (state.failed) return dynamo_fail(call, *state.failed);
      then();
    });
  }
}

// Why a write cancels its transaction, or that it does not.
json reason_of(const Result<Decision>& made, bool shows_item) {
  if (!made.ok()) return {{"Code", "ValidationError"}, {"Message", made.error().what}};
  if (made.value().allowed) return {{"Code", "None"}};
  json reason = {{"Code", "ConditionalCheckFailed"}, {"Message", "The conditional request failed"}};
  if (shows_item && !made.value().before.is_null()) reason["Item"] = made.value().before;
  return reason;
}

void try_transaction(Call& call, TransactionState& state) {
  ask_rows(call, state, [&call, &state] {
    Commit commit;
    json reasons = json::array();
    bool allowed = true;
    std::map<std::string, double> units;
    for (size_t i = 0; i < state.writes.size(); ++i) {
      Result<Decision> made = decide(state.writes[i], state.rows[i]);
      allowed = allowed && made.ok() && made.value().allowed;
      reasons.push_back(reason_of(made, state.shows_item[i]));
      if (!allowed) continue;
      commit.writes.push_back(made.value().write);
      units[state.writes[i].table.name] +=
          2 * write_units(std::max(item_size(made.value().before), item_size(made.value().after)));
    }
    if (!allowed) return cancel(call, reasons);
    call.ask(std::move(commit), [&call, &state, units](Answer&& answer) {
      const auto* error = std::get_if<Error>(&answer);
      if (error && error->code == Code::conflict && state.tries-- > 0) {
        return try_transaction(call, state);
      }
      if (error) return dynamo_fail(call, *error);
      json out = json::object();
      add_capacities(out, state.in, units);
      call.reply(json_reply(200, out));
    });
  });
}

// The tables of all parts; nothing if an item has no single part.
std::optional<std::set<std::string>> tables_in(const json& items) {
  std::set<std::string> names;
  for (const json& item : items) {
    ItemWrite::Kind kind{};
    const json* part = part_of(item, kind);
    if (!part) return std::nullopt;
    names.insert(text_or(*part, "TableName", ""));
  }
  return names;
}

void transact_write(Call& call, const json& in) {
  const json items = list_or_empty(in, "TransactItems");
  const std::optional<std::set<std::string>> names = tables_in(items);
  if (!names || items.empty() || items.size() > kTransactionMax) {
    return dynamo_fail(call, "ValidationException",
                       "TransactItems has 1 to 100 items, each with one of Put, Delete, Update and "
                       "ConditionCheck");
  }
  with_tables(call, *names, [&call, items, in](const Tables& tables) {
    TransactionState& state = call.keep(std::make_unique<TransactionState>());
    state.in = in;
    std::set<std::pair<std::string, std::string>> seen;
    for (const json& item : items) {
      ItemWrite::Kind kind{};
      const json& part = *part_of(item, kind);
      const DynamoTable& table = tables.at(text_or(part, "TableName", ""));
      Result<ItemWrite> write = plan_write(kind, table, part);
      if (!write.ok()) return dynamo_fail(call, write.error());
      if (!seen.emplace(table.name, write.value().key).second) {
        return dynamo_fail(call, "ValidationException",
                           "transaction request cannot include multiple operations on one item");
      }
      state.writes.push_back(std::move(write).value());
      state.shows_item.push_back(text_or(part, "ReturnValuesOnConditionCheckFailure", "") ==
                                 "ALL_OLD");
    }
    try_transaction(call, state);
  });
}

// Goes on when two readings in a row were the same: what was read was there at one time.
void read_twice(Call& call, TransactionState& state, const std::vector<uint64_t>& before,
                const std::function<void()>& then) {
  ask_rows(call, state, [&call, &state, before, then] {
    std::vector<uint64_t> versions;
    for (const Row& row : state.rows) versions.push_back(row.version);
    if (versions == before) return then();
    if (state.tries-- == 0) {
      return dynamo_fail(call, Error{Code::conflict, "the items change all the time: try again"});
    }
    read_twice(call, state, versions, then);
  });
}

Result<json> response_of(const Row& row, const std::optional<std::vector<Path>>& paths,
                         double& units) {
  json response = json::object();
  units += read_units(0, ReadMode::transaction);
  if (row.version == 0) return response;
  const json item = TRY(item_of(row));
  units +=
      read_units(item_size(item), ReadMode::transaction) - read_units(0, ReadMode::transaction);
  response["Item"] = paths ? project(item, *paths) : item;
  return response;
}

void transact_get(Call& call, const json& in) {
  const json items = list_or_empty(in, "TransactItems");
  std::set<std::string> names;
  for (const json& item : items) {
    names.insert(text_or(object_or_empty(item, "Get"), "TableName", ""));
  }
  if (items.empty() || items.size() > kTransactionMax) {
    return dynamo_fail(call, "ValidationException", "TransactItems has 1 to 100 items");
  }
  with_tables(call, names, [&call, items, in](const Tables& tables) {
    TransactionState& state = call.keep(std::make_unique<TransactionState>());
    state.in = in;
    std::vector<std::optional<std::vector<Path>>> projections;
    for (const json& item : items) {
      const json get = object_or_empty(item, "Get");
      const DynamoTable& table = tables.at(text_or(get, "TableName", ""));
      Result<TableGets> planned = plan_gets(table, get);
      Result<std::string> key = row_key(table, object_or_empty(get, "Key"), true);
      if (!planned.ok()) return dynamo_fail(call, planned.error());
      if (!key.ok()) return dynamo_fail(call, key.error());
      ItemWrite write;
      write.table = table;
      write.key = std::move(key).value();
      state.writes.push_back(std::move(write));
      projections.push_back(planned.value().paths);
    }
    read_twice(call, state, {}, [&call, &state, projections] {
      json responses = json::array();
      std::map<std::string, double> units;
      for (size_t i = 0; i < state.rows.size(); ++i) {
        const Result<json> response =
            response_of(state.rows[i], projections[i], units[state.writes[i].table.name]);
        if (!response.ok()) return dynamo_fail(call, response.error());
        responses.push_back(response.value());
      }
      json out = {{"Responses", responses}};
      add_capacities(out, state.in, units);
      call.reply(json_reply(200, out));
    });
  });
}

}  // namespace

bool serve_dynamo_batches(Call& call, std::string_view operation, const json& in) {
  struct Operation {
    std::string_view name;
    void (*serve)(Call&, const json&);
  };
  static constexpr std::array<Operation, 4> kOperations = {{{"BatchGetItem", batch_get},
                                                            {"BatchWriteItem", batch_write},
                                                            {"TransactWriteItems", transact_write},
                                                            {"TransactGetItems", transact_get}}};
  const auto* found = std::ranges::find(kOperations, operation, &Operation::name);
  if (found == kOperations.end()) return false;
  found->serve(call, in);
  return true;
}

}  // namespace dunlin::aws
