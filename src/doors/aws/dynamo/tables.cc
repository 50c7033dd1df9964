// DynamoDB's operations on tables.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/digest.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/dynamo/capacity.h"
#include "doors/aws/dynamo/dynamo.h"

namespace dunlin::aws {
namespace {

constexpr size_t kEraseBatch = 1000;
constexpr uint64_t kSample = 100;  // Items.

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

// The description of a table as CreateTable asks for it.
Result<json> describe_new(const Call& call, const json& in) {
  const std::string name = text_or(in, "TableName", "");
  if (!is_table_name(name)) return wrong("a table name has 3 to 255 of A-Z a-z 0-9 - _ and .");
  for (const std::string_view index : {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"}) {
    if (!list_or_empty(in, index).empty()) {
      return wrong(fmt::format("{} are not supported: make a table of its own for them", index));
    }
  }
  if (flag_member(object_or_empty(in, "StreamSpecification"), "StreamEnabled")) {
    return wrong("streams are not supported: leave StreamSpecification out");
  }
  if (flag_member(in, "DeletionProtectionEnabled")) {
    return wrong("tables are not protected here: leave DeletionProtectionEnabled out");
  }
  json description = {
      {"TableName", name},
      {"KeySchema", list_or_empty(in, "KeySchema")},
      {"AttributeDefinitions", list_or_empty(in, "AttributeDefinitions")},
      {"TableStatus", "ACTIVE"},
      {"CreationDateTime", static_cast<double>(call.wall().time_since_epoch().count()) / 1000},
      {"BillingModeSummary", {{"BillingMode", "PAY_PER_REQUEST"}}},
      {"ProvisionedThroughput", {{"ReadCapacityUnits", 0}, {"WriteCapacityUnits", 0}}},
      {"DeletionProtectionEnabled", false},
      {"TableArn",
       fmt::format("arn:aws:dynamodb:{}:000000000000:table/{}", call.claim().scope.region, name)},
      {"TableId", hex(random_bytes(16))},
  };
  const DynamoTable table = table_of(name, Row{name, dump(description), 1});
  const auto good = [](const KeyAttribute& key) {
    return !key.name.empty() && (key.type == "S" || key.type == "N" || key.type == "B");
  };
  const size_t keys = description["KeySchema"].size();
  const bool fits =
      good(table.hash) &&
      (keys == 1 ? !table.range.has_value() : keys == 2 && table.range && good(*table.range));
  if (!fits || description["AttributeDefinitions"].size() != keys) {
    return wrong(
        "KeySchema needs one HASH and at most one RANGE, AttributeDefinitions the type S, "
        "N or B for each of them and for no other");
  }
  return description;
}

void remove(Call& call, const json& in);

json shown(const DynamoTable& table, std::string_view status, uint64_t items, uint64_t bytes = 0) {
  json description = table.description;
  description["TableStatus"] = status;
  description["ItemCount"] = items;
  description["TableSizeBytes"] = bytes;
  return description;
}

Put put_table(const DynamoTable& table, std::string_view status) {
  json description = table.description;
  description["TableStatus"] = status;
  return {std::string(kDynamoTable), table.name, dump(description), table.version};
}

// Gives the table a status, which proves that nobody has changed its row, and erases the first of
// its items. `then` gets the new version and whether there were any; it is not called if `failed`
// is.
struct Page {
  std::function<void(uint64_t version, bool some)> then;
  std::function<void(const Error&)> failed;
};
void erase_some(Call& call, const DynamoTable& table, std::string_view status, const Page& page) {
  call.ask(Scan{table.store, "", "", kEraseBatch}, [&call, table, status, page](Answer&& answer) {
    const auto* rows = dynamo_expect<Rows>(call, answer);
    if (!rows) return;
    Commit commit{0, {put_table(table, status)}};
    for (const Row& row : rows->rows) {
      commit.writes.emplace_back(Erase{table.store, row.key, kAnyVersion});
    }
    call.ask(std::move(commit), [page, some = !rows->rows.empty()](Answer&& done) {
      if (const auto* error = std::get_if<Error>(&done)) return page.failed(*error);
      page.then(std::get<Committed>(done).version, some);
    });
  });
}

// What writers of an earlier table of this name left goes before the table is there.
void make(Call& call, const DynamoTable& table) {
  const auto failed = [&call, table](const Error& error) {
    if (error.code != Code::conflict) return dynamo_fail(call, error);
    dynamo_fail(call, "ResourceInUseException",
                fmt::format("the table '{}' exists already", table.name));
  };
  const auto created = [&call, table] {
    call.reply(json_reply(200, {{"TableDescription", shown(table, "ACTIVE", 0)}}));
  };
  call.ask(Scan{table.store, "", "", 1}, [&call, table, failed, created](Answer&& answer) {
    const auto* rows = dynamo_expect<Rows>(call, answer);
    if (!rows) return;
    if (rows->rows.empty()) {
      return call.ask(Commit{0, {put_table(table, "ACTIVE")}}, [failed, created](Answer&& done) {
        if (const auto* error = std::get_if<Error>(&done)) return failed(*error);
        created();
      });
    }
    call.must_end();
    const auto again = [&call, table](uint64_t version, bool /*some*/) {
      DynamoTable next = table;
      next.version = version;
      make(call, next);
    };
    erase_some(call, table, "CREATING", {again, failed});
  });
}

void create(Call& call, const json& in) {
  const Result<json> description = describe_new(call, in);
  if (!description.ok()) return dynamo_fail(call, description.error());
  const std::string name = text_or(in, "TableName", "");
  call.ask(Get{std::string(kDynamoTable), {name}},
           [&call, name, value = dump(description.value())](Answer&& answer) {
             const auto* rows = dynamo_expect<Rows>(call, answer);
             if (!rows) return;
             const DynamoTable before = table_of(name, rows->rows.at(0));
             if (before.version != 0 && before.status != "CREATING") {
               return dynamo_fail(call, "ResourceInUseException",
                                  fmt::format("the table '{}' exists already", name));
             }
             // One whose creation was interrupted is taken over.
             make(call, table_of(name, Row{name, value, before.version}));
           });
}

// From those that stand first, as nobody counts the bytes of a table.
uint64_t estimated_bytes(const Rows& first, uint64_t items) {
  uint64_t bytes = 0;
  for (const Row& row : first.rows) {
    if (const Result<json> item = item_of(row); item.ok()) bytes += item_size(item.value());
  }
  return first.rows.empty() ? 0 : bytes * std::max(items, first.rows.size()) / first.rows.size();
}

void describe(Call& call, const json& in) {
  with_any_table(call, in, [&call](const DynamoTable& table) {
    call.ask(AskInfo{}, [&call, table](Answer&& answer) {
      const auto* info = dynamo_expect<Info>(call, answer);
      if (!info) return;
      const auto found = std::ranges::find(info->tables, table.store, &Info::TableInfo::name);
      const uint64_t items = found == info->tables.end() ? 0 : found->rows;
      call.ask(Scan{table.store, "", "", kSample}, [&call, table, items](Answer&& sample) {
        const auto* rows = dynamo_expect<Rows>(call, sample);
        if (!rows) return;
        const uint64_t bytes = estimated_bytes(*rows, items);
        call.reply(json_reply(200, {{"Table", shown(table, table.status, items, bytes)}}));
      });
    });
  });
}

void describe_expiry(Call& call, const json& in) {
  with_table(call, in, [&call](const DynamoTable& /*table*/) {
    call.reply(json_reply(200, {{"TimeToLiveDescription", {{"TimeToLiveStatus", "DISABLED"}}}}));
  });
}

void change_expiry(Call& call, const json& in) {
  with_table(call, in, [&call, in](const DynamoTable& /*table*/) {
    const json wanted = object_or_empty(in, "TimeToLiveSpecification");
    dynamo_fail(call, "ValidationException",
                flag_member(wanted, "Enabled")
                    ? "items do not expire in this hub: leave TimeToLiveSpecification out, and "
                      "remove what is old"
                    : "TimeToLive is already disabled");
  });
}

void list(Call& call, const json& in) {
  const int64_t max = std::clamp<int64_t>(number_or(in, "Limit", 100), 1, 100);
  call.ask(Scan{std::string(kDynamoTable), "", text_or(in, "ExclusiveStartTableName", ""),
                static_cast<uint64_t>(max)},
           [&call, max](Answer&& answer) {
             const auto* rows = dynamo_expect<Rows>(call, answer);
             if (!rows) return;
             json names = json::array();
             for (const Row& row : rows->rows) names.push_back(row.key);
             json out = {{"TableNames", names}};
             if (static_cast<int64_t>(rows->rows.size()) == max) {
               out["LastEvaluatedTableName"] = names.back();
             }
             call.reply(json_reply(200, out));
           });
}

// Nobody writes into a table that is being deleted. Its items go first, then its row: if we are
// stopped in between, a repeat goes on.
void erase_table(Call& call, const DynamoTable& table, const json& in) {
  const auto failed = [&call, in](const Error& error) {
    if (error.code != Code::conflict) return dynamo_fail(call, error);
    remove(call, in);  // Another deletes it, too.
  };
  const auto then = [&call, table, in, failed](uint64_t version, bool some) {
    DynamoTable next = table;
    next.version = version;
    if (some) return erase_table(call, next, in);
    call.ask(Commit{0, {Erase{std::string(kDynamoTable), table.name, version}}},
             [&call, table, failed](Answer&& done) {
               if (const auto* error = std::get_if<Error>(&done)) return failed(*error);
               call.reply(json_reply(200, {{"TableDescription", shown(table, "DELETING", 0)}}));
             });
  };
  erase_some(call, table, "DELETING", {then, failed});
}

void remove(Call& call, const json& in) {
  with_any_table(call, in, [&call, in](const DynamoTable& table) {
    if (table.status == "CREATING") {
      return dynamo_fail(call, "ResourceInUseException",
                         fmt::format("the table '{}' is being created", table.name));
    }
    call.must_end();
    erase_table(call, table, in);
  });
}

}  // namespace

bool serve_dynamo_tables(Call& call, std::string_view operation, const json& in) {
  struct Operation {
    std::string_view name;
    void (*serve)(Call&, const json&);
  };
  static constexpr std::array<Operation, 6> kOperations = {{{"CreateTable", create},
                                                            {"DescribeTable", describe},
                                                            {"ListTables", list},
                                                            {"DeleteTable", remove},
                                                            {"DescribeTimeToLive", describe_expiry},
                                                            {"UpdateTimeToLive", change_expiry}}};
  const auto* found = std::ranges::find(kOperations, operation, &Operation::name);
  if (found == kOperations.end()) return false;
  found->serve(call, in);
  return true;
}

}  // namespace dunlin::aws
