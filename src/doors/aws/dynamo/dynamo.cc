#include "doors/aws/dynamo/dynamo.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/digest.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"

namespace dunlin::aws {
namespace {

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

// Parameters of the time before expressions.
constexpr std::array<std::string_view, 9> kLegacy = {"Expected",
                                                     "AttributeUpdates",
                                                     "KeyConditions",
                                                     "QueryFilter",
                                                     "ScanFilter",
                                                     "AttributesToGet",
                                                     "ConditionalOperator",
                                                     "IndexName",
                                                     "ReturnItemCollectionMetrics"};

void with_tables_of_any_status(Call& call, const std::set<std::string>& names,
                               std::function<void(const Tables&)> then) {
  for (const std::string& name : names) {
    if (is_table_name(name)) continue;
    return dynamo_fail(call, "ValidationException",
                       "a table name has 3 to 255 of A-Z a-z 0-9 - _ and .");
  }
  Get get{std::string(kDynamoTable), {names.begin(), names.end()}};
  call.ask(std::move(get), [&call, names, then = std::move(then)](Answer&& answer) {
    const auto* rows = dynamo_expect<Rows>(call, answer);
    if (!rows) return;
    Tables tables;
    for (const Row& row : rows->rows) tables.emplace(row.key, table_of(row.key, row));
    for (const std::string& name : names) {
      const auto found = tables.find(name);
      if (found != tables.end() && found->second.version != 0) continue;
      return dynamo_fail(call, "ResourceNotFoundException",
                         fmt::format("there is no table '{}': create it first", name));
    }
    then(tables);
  });
}

// Replies if the request is of the time before expressions.
bool takes(Call& call, const json& in) {
  for (const std::string_view legacy : kLegacy) {
    if (!member(in, legacy) || legacy == "ReturnItemCollectionMetrics") continue;
    dynamo_fail(call, "ValidationException",
                fmt::format("{} is not supported: use expressions on the table itself", legacy));
    return false;
  }
  return true;
}

std::string name_in(const json& in) {
  const std::string name = text_or(in, "TableName", "");
  return name.starts_with("arn:") ? name.substr(name.rfind('/') + 1) : name;
}

// Not even to what it is.
Result<void> check_keeps_key(const Update& update, const json& key) {
  for (const Path& path : paths_of(update)) {
    const auto& name = std::get<std::string>(path[0]);
    if (!key.contains(name)) continue;
    return wrong(
        fmt::format("One or more parameter values were invalid: Cannot update attribute "
                    "{}. This attribute is part of the key",
                    name));
  }
  return {};
}

}  // namespace

void dynamo_fail(Call& call, std::string_view type, std::string_view message) {
  call.reply(json_error(400, fmt::format("com.amazonaws.dynamodb.v20120810#{}", type), message));
}

void dynamo_fail(Call& call, const Error& error) {
  switch (error.code) {
    case Code::denied:
      return dynamo_fail(call, "AccessDeniedException", error.what);
    case Code::invalid:
      return dynamo_fail(call, "ValidationException", error.what);
    case Code::not_found:
      return dynamo_fail(call, "ResourceNotFoundException", error.what);
    case Code::full:
    case Code::conflict:
      return dynamo_fail(call, "ProvisionedThroughputExceededException", error.what);
    case Code::unavailable:
    case Code::corrupt:
    case Code::unsupported:
      return call.reply(
          json_error(500, "com.amazonaws.dynamodb.v20120810#InternalServerError", error.what));
  }
}

bool is_table_name(std::string_view name) {
  return name.size() >= 3 && name.size() <= 255 && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

DynamoTable table_of(std::string name, const Row& row) {
  DynamoTable table;
  table.store = store_name("ddb", name);
  table.name = std::move(name);
  table.version = row.version;
  table.description = parse_object(row.value).value_or(json::object());
  table.status = text_or(table.description, "TableStatus", "ACTIVE");
  const auto type_of = [&](const std::string& attribute) {
    for (const json& definition : list_or_empty(table.description, "AttributeDefinitions")) {
      if (text_or(definition, "AttributeName", "") == attribute) {
        return text_or(definition, "AttributeType", "");
      }
    }
    return std::string();
  };
  for (const json& key : list_or_empty(table.description, "KeySchema")) {
    const std::string attribute = text_or(key, "AttributeName", "");
    const KeyAttribute made = {attribute, type_of(attribute)};
    if (text_or(key, "KeyType", "") == "HASH") {
      table.hash = made;
    } else {
      table.range = made;
    }
  }
  return table;
}

void with_tables(Call& call, const std::set<std::string>& names,
                 std::function<void(const Tables&)> then) {
  with_tables_of_any_status(call, names, [&call, then = std::move(then)](const Tables& tables) {
    for (const auto& [name, table] : tables) {
      if (table.status == "ACTIVE") continue;
      return dynamo_fail(call, "ResourceNotFoundException",
                         fmt::format("the table '{}' is not there: it is {}", name, table.status));
    }
    then(tables);
  });
}

void with_any_table(Call& call, const json& in, std::function<void(const DynamoTable&)> then) {
  if (!takes(call, in)) return;
  with_tables_of_any_status(call, {name_in(in)}, [then = std::move(then)](const Tables& tables) {
    then(tables.begin()->second);
  });
}

void with_table(Call& call, const json& in, std::function<void(const DynamoTable&)> then) {
  if (!takes(call, in)) return;
  with_tables(call, {name_in(in)},
              [then = std::move(then)](const Tables& tables) { then(tables.begin()->second); });
}

Result<std::string> key_part(const KeyAttribute& attribute, const json& value) {
  const std::string* text = text_member(value, attribute.type);
  if (!text || value.size() != 1) {
    return wrong(fmt::format("the key attribute '{}' must be there with the type {}",
                             attribute.name, attribute.type));
  }
  if (attribute.type == "N") {
    const std::optional<std::string> number = sortable_number(*text);
    if (!number) return wrong(fmt::format("'{}' is not a number of at most 38 digits", *text));
    return *number;
  }
  std::string bytes = *text;
  if (attribute.type == "B") {
    std::optional<std::string> decoded = from_base64(bytes);
    if (!decoded) return wrong("a key of type B is not base64");
    bytes = std::move(*decoded);
  }
  if (bytes.empty()) {
    return wrong(fmt::format("the key attribute '{}' must not be empty", attribute.name));
  }
  return sortable_bytes(bytes);
}

Result<std::string> row_key(const DynamoTable& table, const json& item, bool exact) {
  const size_t parts = table.range ? 2 : 1;
  if (!item.is_object() || (exact && item.size() != parts)) {
    return wrong("the provided key element does not match the schema");
  }
  std::string key =
      TRY(key_part(table.hash, item.value(table.hash.name, json::object()))) + kPartEnd;
  if (table.range) {
    key += TRY(key_part(*table.range, item.value(table.range->name, json::object()))) + kPartEnd;
  }
  if (key.size() > kKeyMax) {
    return wrong(
        fmt::format("the key takes {} bytes in this hub: the limit is {} (a character "
                    "that is not plain ASCII takes three)",
                    key.size(), kKeyMax));
  }
  return key;
}

json key_of(const DynamoTable& table, const json& item) {
  json key = json::object();
  key[table.hash.name] = item.value(table.hash.name, json());
  if (table.range) key[table.range->name] = item.value(table.range->name, json());
  return key;
}

Result<json> item_of(const Row& row) {
  if (const std::optional<json> value = parse_object(row.value)) {
    Result<json> item = normal_item(*value);
    if (item.ok()) return item;
  }
  return Error{Code::corrupt,
               fmt::format("the row {} is no item: another program wrote it", row.key)};
}

Result<std::optional<std::vector<Path>>> projection_of(const json& in) {
  if (member(in, "AttributesToGet")) {
    return wrong("AttributesToGet is not supported: use ProjectionExpression");
  }
  const Placeholders placeholders = TRY(read_placeholders(in));
  std::optional<std::vector<Path>> paths;
  if (const std::string* text = text_member(in, "ProjectionExpression")) {
    paths = TRY(parse_projection(*text, placeholders));
  }
  TRY(check_all_used(placeholders));
  return paths;
}

Result<ItemWrite> plan_write(ItemWrite::Kind kind, const DynamoTable& table, const json& in) {
  const bool put = kind == ItemWrite::Kind::put;
  ItemWrite write{
      .kind = kind, .table = table, .key = {}, .item = {}, .condition = {}, .update = {}};
  write.item = TRY(normal_item(object_or_empty(in, put ? "Item" : "Key")));
  write.key = TRY(row_key(table, write.item, !put));
  const Placeholders placeholders = TRY(read_placeholders(in));
  if (const std::string* text = text_member(in, "ConditionExpression")) {
    write.condition = TRY(parse_condition(*text, placeholders));
  }
  if (const std::string* text = text_member(in, "UpdateExpression")) {
    write.update = TRY(parse_update(*text, placeholders));
    TRY(check_keeps_key(*write.update, write.item));
  }
  TRY(check_all_used(placeholders));
  return write;
}

Result<Decision> decide(const ItemWrite& write, const Row& row) {
  Decision made;
  const json nothing = json::object();
  if (row.version != 0) made.before = TRY(item_of(row));
  const json& before = made.before.is_null() ? nothing : made.before;
  made.allowed = !write.condition || holds(*write.condition, before);
  if (!made.allowed) return made;
  if (write.kind == ItemWrite::Kind::put) made.after = write.item;
  if (write.kind == ItemWrite::Kind::check) made.after = made.before;
  if (write.kind == ItemWrite::Kind::update) {
    const json base = made.before.is_null() ? write.item : made.before;
    made.after = write.update ? TRY(apply(*write.update, base)) : base;
  }
  if (made.after.is_null()) {
    made.write = Erase{write.table.store, write.key, row.version};
    return made;
  }
  std::string value = dump(made.after);
  if (value.size() > kValueMax) {
    return wrong(fmt::format("the item has {} bytes: the limit is {}, put a part of it in S3",
                             value.size(), kValueMax));
  }
  made.write = Put{write.table.store, write.key, std::move(value), row.version};
  return made;
}

void serve_dynamo(Call& call, std::string_view operation, const json& in) {
  const bool known =
      serve_dynamo_tables(call, operation, in) || serve_dynamo_items(call, operation, in) ||
      serve_dynamo_batches(call, operation, in) || serve_dynamo_query(call, operation, in);
  if (known) return;
  call.reply(json_error(
      400, fmt::format("{}UnknownOperationException", kCommonErrors),
      fmt::format("DynamoDB of this hub has no operation '{}': docs/AWS_DOOR.md lists them",
                  operation)));
}

}  // namespace dunlin::aws
