#include "stores/aws/dynamo_table.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/digest.h"
#include "base/env_posix.h"
#include "base/text.h"
#include "base/wait.h"

namespace dunlin::cloud {
namespace {

using aws::list_or_empty;
using aws::object_or_empty;
using aws::text_or;

constexpr size_t kKeysMax = 100;    // Of one BatchGetItem.
constexpr size_t kDeletesMax = 25;  // Of one BatchWriteItem.
constexpr size_t kEraseMax = 1000;  // Rows that one EraseAll removes.
constexpr size_t kRowExtra = 80;    // Names of attributes, version and nonce.
constexpr size_t kInfoRowsMax = 100'000;
constexpr unsigned kRandomBits = 22;
constexpr int64_t kEpochMs = 1'577'836'800'000;  // 2020-01-01.
constexpr Millis kCreateWait = std::chrono::minutes(3);
constexpr Millis kCreateLook = Millis(500);
constexpr int kGoneMax = 3;  // Tries after the table was removed under us.

json text(std::string_view value) { return {{"S", value}}; }
json number(uint64_t value) { return {{"N", std::to_string(value)}}; }
json key_of(std::string_view table, std::string_view key) {
  return {{"t", text(table)}, {"k", text(key)}};
}

uint64_t number_of(const json& item, std::string_view name) {
  const std::string digits = text_or(object_or_empty(item, name), "N", "0");
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}
std::string text_of(const json& item, std::string_view name) {
  return text_or(object_or_empty(item, name), "S", "");
}

Result<Row> row_of(const json& item) {
  const auto value = from_base64(text_or(object_or_empty(item, "v"), "B", "?"));
  Row row = {text_of(item, "k"), value.value_or(""), number_of(item, "n")};
  if (!value || row.version == 0) {
    return Error{Code::corrupt,
                 fmt::format("row {} of table {} in DynamoDB was not written by Dunlin", row.key,
                             text_of(item, "t"))};
  }
  return row;
}

struct Named {
  const std::string& table;
  const std::string& key;
  uint64_t version;
};
Named named(const Write& write) {
  if (const auto* put = std::get_if<Put>(&write)) return {put->table, put->key, put->version};
  const auto& erase = std::get<Erase>(write);
  return {erase.table, erase.key, erase.version};
}

// What must hold for a write, with the values that stand in it; empty: anything may be there.
std::string condition_of(const Write& write, const std::string& nonce, uint64_t version,
                         json& values) {
  const bool put = std::holds_alternative<Put>(write);
  const uint64_t wanted = named(write).version;
  if (wanted == 0) return "attribute_not_exists(n)";
  if (wanted != kAnyVersion) {
    values[":x"] = number(wanted);
    return put ? "n = :x" : "attribute_not_exists(n) OR n = :x";
  }
  if (!put) return "";
  values[":n"] = number(version);
  values[":o"] = text(nonce);
  return "attribute_not_exists(n) OR (n < :n AND o <> :o)";
}

// One write as a part of a transaction, or as a request of its own.
json part_of(const Write& write, const std::string& rows_table, const std::string& nonce,
             uint64_t version) {
  json part = {{"TableName", rows_table}};
  json values = json::object();
  const std::string condition = condition_of(write, nonce, version, values);
  if (!condition.empty()) part["ConditionExpression"] = condition;
  if (!values.empty()) part["ExpressionAttributeValues"] = std::move(values);
  const Named row = named(write);
  if (const auto* put = std::get_if<Put>(&write)) {
    part["Item"] = key_of(row.table, row.key);
    part["Item"]["v"] = {{"B", to_base64(put->value)}};
    part["Item"]["n"] = number(version);
    part["Item"]["o"] = text(nonce);
  } else {
    part["Key"] = key_of(row.table, row.key);
  }
  return part;
}

bool is_condition(std::string_view error) {
  return error == "ConditionalCheckFailedException" || error == "TransactionCanceledException";
}

}  // namespace

uint64_t make_version(WallTime now, uint64_t bits, uint64_t least) {
  const int64_t ms = std::max<int64_t>(now.time_since_epoch().count() - kEpochMs, 1);
  const uint64_t mask = (uint64_t{1} << kRandomBits) - 1;
  const uint64_t version = (static_cast<uint64_t>(ms) << kRandomBits) | (bits & mask);
  return std::max(version, least + 1);
}

size_t commit_bytes(const Commit& commit) {
  size_t bytes = 0;
  for (const Write& write : commit.writes) {
    if (const auto* put = std::get_if<Put>(&write)) {
      bytes += put->table.size() + put->key.size() + put->value.size() + kRowExtra;
    } else if (const auto* erase = std::get_if<Erase>(&write)) {
      bytes += erase->table.size() + erase->key.size() + kRowExtra;
    }
  }
  return bytes;
}

Result<void> check_rows_table(const CloudAddress& address, const json& description) {
  const json keys = list_or_empty(description, "KeySchema");
  const auto is = [&](size_t i, std::string_view name, std::string_view type) {
    return text_or(keys[i], "AttributeName", "") == name && text_or(keys[i], "KeyType", "") == type;
  };
  if (keys.size() == 2 && is(0, "t", "HASH") && is(1, "k", "RANGE")) return {};
  return Error{Code::conflict,
               fmt::format("the DynamoDB table {} belongs to another program: choose another "
                           "PREFIX in aws:REGION/PREFIX",
                           address.rows_table())};
}

DynamoTable::DynamoTable(CloudAddress address, const CloudOptions& options, const Clock& clock,
                         const Disk& disk)
    : RequestStore(random_seed()), link_(std::move(address), options, clock, disk) {}

Result<Reply> DynamoTable::send(std::string_view operation, const json& in) {
  return link_.call(Service::dynamodb, operation, in);
}

// --- The table itself ---

Result<bool> DynamoTable::prepare(bool make) {
  bool made = false;
  const std::string name = link_.address().rows_table();
  const Instant deadline = link_.clock().now() + kCreateWait;
  while (true) {
    const Reply seen = TRY(send("DescribeTable", {{"TableName", name}}));
    const json table = object_or_empty(seen.body, "Table");
    const std::string status = text_or(table, "TableStatus", "");
    if (!seen.ok() && seen.error != "ResourceNotFoundException") {
      return refused(seen, fmt::format("the DynamoDB table {}", name));
    }
    if (!seen.ok() && !make) {
      return Error{Code::not_found, fmt::format("there is no DynamoDB table {} in {}", name,
                                                link_.address().region)};
    }
    if (!seen.ok()) {
      const json key_schema = {{{"AttributeName", "t"}, {"KeyType", "HASH"}},
                               {{"AttributeName", "k"}, {"KeyType", "RANGE"}}};
      const json types = {{{"AttributeName", "t"}, {"AttributeType", "S"}},
                          {{"AttributeName", "k"}, {"AttributeType", "S"}}};
      const Reply reply = TRY(send("CreateTable", {{"TableName", name},
                                                   {"BillingMode", "PAY_PER_REQUEST"},
                                                   {"KeySchema", key_schema},
                                                   {"AttributeDefinitions", types}}));
      if (!reply.ok() && reply.error != "ResourceInUseException") {  // Others make it, too.
        return refused(reply, fmt::format("the DynamoDB table {} cannot be made", name));
      }
      made = made || reply.ok();
    } else if (status != "DELETING" && status != "CREATING") {  // UPDATING can be used.
      TRY(check_rows_table(link_.address(), table));
      ready_ = true;
      return made;
    }
    if (seen.ok() && link_.clock().now() + kCreateLook >= deadline) {
      return Error{Code::unavailable,
                   fmt::format("the DynamoDB table {} is still {}", name, status)};
    }
    if (seen.ok()) wait_until(link_.clock().now() + kCreateLook, link_.clock());
  }
}

Result<void> DynamoTable::check_transactions() {
  const std::string table = "dunlin.check";  // Has no rows.
  const Commit nothing{0, {Erase{table, "a", kAnyVersion}, Erase{table, "b", kAnyVersion}}};
  const Reply reply = TRY(write(nothing, hex(random_bytes(8)), 1));
  return reply.ok() ? Result<void>() : not_committed(reply);
}

Answer DynamoTable::call(Request&& request) {
  Answer answer = Error{Code::unavailable, ""};
  for (int tries = 1; tries <= kGoneMax; ++tries) {
    if (!ready_) {
      const Result<bool> prepared = prepare();
      if (!prepared.ok()) return prepared.error();
    }
    answer = handle(request);
    if (ready_) break;  // Else the table was gone.
  }
  return answer;
}

Answer DynamoTable::handle(const Request& request) {
  return std::visit([&](const auto& kind) { return on(kind); }, request);
}

template <typename T>
Answer DynamoTable::on(const T& /*other*/) {
  return Error{Code::unsupported, "DynamoDB holds rows only, no queues and no blobs"};
}

// --- Commits ---

Error DynamoTable::not_committed(const Reply& reply) const {
  const bool unknown = reply.error == "UnknownOperationException" || reply.error == "status 501";
  if (!unknown) return refused(reply, "a commit to DynamoDB");
  return {Code::unsupported,
          fmt::format("the DynamoDB at {} has no transactions ({} to TransactWriteItems), which a "
                      "store needs: use another service",
                      link_.address().endpoint(Service::dynamodb), reply.error)};
}

Result<Reply> DynamoTable::write(const Commit& commit, const std::string& nonce, uint64_t version) {
  const std::string& name = link_.address().rows_table();
  if (commit.writes.size() == 1) {  // Half the price of a transaction.
    const Write& one = commit.writes[0];
    return send(std::holds_alternative<Put>(one) ? "PutItem" : "DeleteItem",
                part_of(one, name, nonce, version));
  }
  json items = json::array();
  for (const Write& one : commit.writes) {
    items.push_back({{std::holds_alternative<Put>(one) ? "Put" : "Delete",
                      part_of(one, name, nonce, version)}});
  }
  // With a token DynamoDB itself knows a repeat for some minutes.
  return send("TransactWriteItems",
              {{"TransactItems", std::move(items)},
               {"ClientRequestToken", fmt::format("{}{:016x}", nonce, version)}});
}

Result<std::vector<DynamoTable::Stored>> DynamoTable::stored(const Commit& commit) {
  std::vector<json> keys;
  for (const Write& write : commit.writes) {
    keys.push_back(key_of(named(write).table, named(write).key));
  }
  const json items = TRY(get_items(std::move(keys), "t, k, n, o"));
  std::map<std::pair<std::string, std::string>, Stored> found;
  for (const json& item : items) {
    found[{text_of(item, "t"), text_of(item, "k")}] = {number_of(item, "n"), text_of(item, "o")};
  }
  std::vector<Stored> all;
  for (const Write& write : commit.writes) {
    all.push_back(found[{named(write).table, named(write).key}]);
  }
  return all;
}

Answer DynamoTable::on(const Commit& commit) {
  for (const Write& write : commit.writes) {
    if (std::holds_alternative<Put>(write) || std::holds_alternative<Erase>(write)) continue;
    return on(AskDepth{});
  }
  if (commit.writes.empty()) return Committed{0};
  if (commit.writes.size() > kCloudWritesMax || commit_bytes(commit) > kCloudBytesMax) {
    return Error{
        Code::unsupported,
        fmt::format("a commit of {} rows and {} bytes: DynamoDB takes {} and {}",
                    commit.writes.size(), commit_bytes(commit), kCloudWritesMax, kCloudBytesMax)};
  }
  const std::string nonce =
      fmt::format("{:016x}", commit.nonce == 0 ? link_.random().next() : commit.nonce);
  const bool puts = std::ranges::any_of(
      commit.writes, [](const Write& write) { return std::holds_alternative<Put>(write); });
  uint64_t least = last_version_;
  for (const Write& write : commit.writes) {
    if (named(write).version != kAnyVersion) least = std::max(least, named(write).version);
  }
  const Instant deadline = link_.clock().now() + link_.options().deadline;
  for (int tries = 1;; ++tries) {
    const uint64_t version = make_version(link_.clock().wall(), link_.random().next(), least);
    const Result<Reply> written = write(commit, nonce, version);
    if (!written.ok()) return written.error();
    if (written.value().ok()) {
      last_version_ = std::max(last_version_, version);
      return Committed{puts ? version : 0};
    }
    if (!is_condition(written.value().error)) {
      ready_ = ready_ && written.value().error != "ResourceNotFoundException";
      return not_committed(written.value());
    }
    if (written.value().message.find("ValidationError") != std::string::npos) {
      return Error{Code::invalid,
                   "DynamoDB cannot hold a row of the commit: its items may have 400 "
                   "KB (" +
                       written.value().message + ")"};
    }
    // Either somebody else was faster, or this very commit was applied before.
    const Result<std::vector<Stored>> rows = stored(commit);
    if (!rows.ok()) return rows.error();
    const std::vector<Stored>& now = rows.value();
    for (size_t i = 0; i < now.size(); ++i) {
      if (std::holds_alternative<Put>(commit.writes[i]) && now[i].nonce == nonce) {
        return Committed{now[i].version};
      }
    }
    for (size_t i = 0; i < now.size(); ++i) {
      const Named row = named(commit.writes[i]);
      const bool gone = now[i].version == 0 && std::holds_alternative<Erase>(commit.writes[i]);
      if (row.version == kAnyVersion || row.version == now[i].version || gone) {
        if (row.version == kAnyVersion) least = std::max(least, now[i].version);
        continue;
      }
      return Error{Code::conflict,
                   fmt::format("row {} of table {} has version {}, not {}: read it again", row.key,
                               row.table, now[i].version, row.version)};
    }
    // It would be possible by now.
    const Millis pause = backoff(tries, link_.random());
    if (link_.clock().now() + pause >= deadline) {
      return Error{Code::unavailable, fmt::format("DynamoDB keeps cancelling the commit: {}",
                                                  written.value().message)};
    }
    wait_until(link_.clock().now() + pause, link_.clock());
  }
}

// --- Reading ---

// The items of up to kKeysMax different keys, in any order; all but those that are not there.
Result<json> DynamoTable::get_items(std::vector<json> keys, std::string_view projection) {
  const std::string& name = link_.address().rows_table();
  json found = json::array();
  json asked = {{"Keys", std::move(keys)}, {"ConsistentRead", true}};
  if (!projection.empty()) asked["ProjectionExpression"] = projection;
  const Instant deadline = link_.clock().now() + link_.options().deadline;
  for (int tries = 1;; ++tries) {
    Reply reply = TRY(send("BatchGetItem", {{"RequestItems", {{name, asked}}}}));
    if (!reply.ok()) {
      ready_ = ready_ && reply.error != "ResourceNotFoundException";
      return refused(reply, "rows cannot be read from DynamoDB");
    }
    const size_t before = found.size();
    for (json& item : list_or_empty(object_or_empty(reply.body, "Responses"), name)) {
      found.push_back(std::move(item));
    }
    const json left = object_or_empty(object_or_empty(reply.body, "UnprocessedKeys"), name);
    if (list_or_empty(left, "Keys").empty()) return found;
    asked["Keys"] = left.at("Keys");
    if (found.size() > before) tries = 0;  // Only full, not slowed down.
    const Millis pause = tries == 0 ? Millis(0) : backoff(tries, link_.random());
    if (link_.clock().now() + pause >= deadline) {
      return Error{Code::unavailable, "DynamoDB gives no more rows: it is too busy"};
    }
    wait_until(link_.clock().now() + pause, link_.clock());
  }
}

Answer DynamoTable::on(const Get& get) {
  Rows answer;
  size_t bytes = 0;
  for (size_t from = 0; from < get.keys.size();) {
    std::set<std::string> distinct;
    size_t to = from;
    while (to < get.keys.size() && distinct.size() < kKeysMax) distinct.insert(get.keys[to++]);
    std::vector<json> keys;
    keys.reserve(distinct.size());
    for (const std::string& key : distinct) keys.push_back(key_of(get.table, key));
    const Result<json> items = get_items(std::move(keys), "");
    if (!items.ok()) return items.error();
    std::map<std::string, Row> found;
    for (const json& item : items.value()) {
      Result<Row> row = row_of(item);
      if (!row.ok()) return row.error();
      Row& place = found[row.value().key];
      place = std::move(row).value();
    }
    for (; from < to; ++from) {
      const auto row = found.find(get.keys[from]);
      Row made = row == found.end() ? Row{get.keys[from], "", 0} : row->second;
      bytes += made.key.size() + made.value.size();
      if (bytes > kBatchBytesMax && !answer.rows.empty()) return answer;
      answer.rows.push_back(std::move(made));
    }
  }
  return answer;
}

Answer DynamoTable::on(const Scan& scan) {
  Rows answer;
  json in = {{"TableName", link_.address().rows_table()},
             {"ConsistentRead", true},
             {"Limit", scan.max},
             {"KeyConditionExpression", "t = :t"},
             {"ExpressionAttributeValues", {{":t", text(scan.table)}}}};
  if (!scan.prefix.empty()) {
    in["KeyConditionExpression"] = "t = :t AND begins_with(k, :p)";
    in["ExpressionAttributeValues"][":p"] = text(scan.prefix);
  }
  if (scan.after >= scan.prefix && !scan.after.empty()) {
    if (!scan.after.starts_with(scan.prefix)) return answer;  // Beyond all of them.
    in["ExclusiveStartKey"] = key_of(scan.table, scan.after);
  }
  while (true) {
    const Result<Reply> asked = send("Query", in);
    if (!asked.ok()) return asked.error();
    const Reply& reply = asked.value();
    if (!reply.ok()) {
      ready_ = ready_ && reply.error != "ResourceNotFoundException";
      return refused(reply, "rows cannot be listed in DynamoDB");
    }
    for (const json& item : list_or_empty(reply.body, "Items")) {
      Result<Row> row = row_of(item);
      if (!row.ok()) return row.error();
      answer.rows.push_back(std::move(row).value());
    }
    const json last = object_or_empty(reply.body, "LastEvaluatedKey");
    if (!answer.rows.empty() || last.empty()) return answer;
    in["ExclusiveStartKey"] = last;
  }
}

// Up to kDeletesMax DeleteRequests.
Result<void> DynamoTable::delete_items(json deletes) {
  const std::string& name = link_.address().rows_table();
  const Instant deadline = link_.clock().now() + link_.options().deadline;
  for (int tries = 1;; ++tries) {
    const Reply reply = TRY(send("BatchWriteItem", {{"RequestItems", {{name, deletes}}}}));
    if (!reply.ok()) {
      ready_ = ready_ && reply.error != "ResourceNotFoundException";
      return refused(reply, "rows cannot be removed from DynamoDB");
    }
    deletes = list_or_empty(object_or_empty(reply.body, "UnprocessedItems"), name);
    if (deletes.empty()) return {};
    const Millis pause = backoff(tries, link_.random());
    if (link_.clock().now() + pause >= deadline) {
      return Error{Code::unavailable, "DynamoDB removes no more rows: it is too busy"};
    }
    wait_until(link_.clock().now() + pause, link_.clock());
  }
}

Answer DynamoTable::on(const EraseAll& erase) {
  const json in = {
      {"TableName", link_.address().rows_table()},
      {"ConsistentRead", true},
      {"Limit", kEraseMax},
      {"ProjectionExpression", "k"},
      {"KeyConditionExpression", "t = :t AND begins_with(k, :p)"},
      {"ExpressionAttributeValues", {{":t", text(erase.table)}, {":p", text(erase.prefix)}}}};
  const Result<Reply> found = send("Query", in);
  if (!found.ok()) return found.error();
  if (!found.value().ok()) {
    ready_ = ready_ && found.value().error != "ResourceNotFoundException";
    return refused(found.value(), "rows cannot be listed in DynamoDB");
  }
  Erased erased;
  json deletes = json::array();
  for (const json& item : list_or_empty(found.value().body, "Items")) {
    deletes.push_back({{"DeleteRequest", {{"Key", key_of(erase.table, text_of(item, "k"))}}}});
    ++erased.rows;
    if (deletes.size() < kDeletesMax) continue;
    TRY(delete_items(std::exchange(deletes, json::array())));
  }
  if (!deletes.empty()) TRY(delete_items(std::move(deletes)));
  return erased;
}

// Reads all keys, so it stops counting somewhere.
Answer DynamoTable::on(const AskInfo& /*ask*/) {
  Info info;
  std::map<std::string, uint64_t> tables;
  json in = {{"TableName", link_.address().rows_table()}, {"ProjectionExpression", "t"}};
  for (size_t seen = 0; seen < kInfoRowsMax;) {
    const Result<Reply> asked = send("Scan", in);
    if (!asked.ok()) return asked.error();
    const Reply& reply = asked.value();
    if (!reply.ok()) {
      ready_ = ready_ && reply.error != "ResourceNotFoundException";
      return refused(reply, "rows cannot be counted in DynamoDB");
    }
    for (const json& item : list_or_empty(reply.body, "Items")) {
      tables[text_of(item, "t")] += 1;
      seen += 1;
    }
    const json last = object_or_empty(reply.body, "LastEvaluatedKey");
    if (last.empty()) break;
    in["ExclusiveStartKey"] = last;
  }
  for (const auto& [name, rows] : tables) {
    if (info.tables.size() < kBatchMax) info.tables.push_back({name, rows});
  }
  return info;
}

}  // namespace dunlin::cloud
