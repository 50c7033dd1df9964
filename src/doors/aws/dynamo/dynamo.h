// DynamoDB over our tables: what its operations share. A table of DynamoDB is a row of the table
// aws.dynamo and a table of the store, in which an item is a row: its key is that of the item in a
// form that sorts (keys.h), its value the item in JSON.
//
// Functions that take a Call run in the door's thread, may go on in a later turn of the loop
// (call.h), and reply themselves if something is wrong. The others are pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aws_protocol/json.h"
#include "doors/aws/call/call.h"
#include "doors/aws/dynamo/expression.h"

namespace dunlin::aws {

inline constexpr std::string_view kDynamoTable = "aws.dynamo";

struct KeyAttribute {
  std::string name;
  std::string type;  // S, N or B.
};

struct DynamoTable {
  std::string name;
  std::string store;  // Its name in our store.
  KeyAttribute hash;
  std::optional<KeyAttribute> range;
  json description = json::value_t::null;
  std::string status = "ACTIVE";
  uint64_t version = 0;  // 0: there is none.
};

// Replies with an error of DynamoDB.
void dynamo_fail(Call& call, std::string_view type, std::string_view message);
void dynamo_fail(Call& call, const Error& error);

template <typename T>
T* dynamo_expect(Call& call, Answer& answer) {
  if (auto* error = std::get_if<Error>(&answer)) {
    dynamo_fail(call, *error);
    return nullptr;
  }
  return std::get_if<T>(&answer);
}

bool is_table_name(std::string_view name);
DynamoTable table_of(std::string name, const Row& row);

// Goes on with the tables of these names; replies itself if one does not exist, is being made, or
// is being deleted.
using Tables = std::map<std::string, DynamoTable>;
void with_tables(Call& call, const std::set<std::string>& names,
                 std::function<void(const Tables&)> then);
// The one that TableName names, and that whatever its status is.
void with_table(Call& call, const json& in, std::function<void(const DynamoTable&)> then);
void with_any_table(Call& call, const json& in, std::function<void(const DynamoTable&)> then);

// One part of a key, as it stands in a row's key, without its end. `invalid` if the value is not of
// the attribute's type.
Result<std::string> key_part(const KeyAttribute& attribute, const json& value);

// The key of the row of an item. With `exact` the item must have the key attributes and no others.
Result<std::string> row_key(const DynamoTable& table, const json& item, bool exact);
json key_of(const DynamoTable& table, const json& item);

// What is in a row; `corrupt` if that is not an item.
Result<json> item_of(const Row& row);

// What ProjectionExpression names, if there is one.
Result<std::optional<std::vector<Path>>> projection_of(const json& in);

// A write of one item, not yet decided.
struct ItemWrite {
  enum class Kind { put, remove, update, check };
  Kind kind = Kind::put;
  DynamoTable table;
  std::string key;  // Of the row.
  json item;        // To be put, or the key attributes.
  std::optional<Condition> condition;
  std::optional<Update> update;
};
Result<ItemWrite> plan_write(ItemWrite::Kind kind, const DynamoTable& table, const json& in);

// What the write does to the row that was found.
struct Decision {
  bool allowed = true;                // The condition holds.
  json before = json::value_t::null;  // Null if there was no item.
  json after;                         // Null if there will be none.
  Write write;
};
Result<Decision> decide(const ItemWrite& write, const Row& row);

// Takes a call whose signature was checked and replies to it, at once or in a later turn of the
// loop.
void serve_dynamo(Call& call, std::string_view operation, const json& in);

// Operations by subject. True if there is one of that name.
bool serve_dynamo_tables(Call& call, std::string_view operation, const json& in);
bool serve_dynamo_items(Call& call, std::string_view operation, const json& in);
bool serve_dynamo_batches(Call& call, std::string_view operation, const json& in);
bool serve_dynamo_query(Call& call, std::string_view operation, const json& in);

}  // namespace dunlin::aws
