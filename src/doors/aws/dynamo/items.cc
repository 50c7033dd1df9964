// DynamoDB's operations on one item. A write reads the row, decides, and writes with the version
// that it read; if another was faster it begins again.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "doors/aws/call/replies.h"
#include "doors/aws/dynamo/capacity.h"
#include "doors/aws/dynamo/dynamo.h"

namespace dunlin::aws {
namespace {

constexpr int kTriesMax = 200;

void get(Call& call, const json& in) {
  with_table(call, in, [&call, in](const DynamoTable& table) {
    const json key_in = object_or_empty(in, "Key");
    const Result<std::string> key = row_key(table, key_in, true);
    if (!key.ok()) return dynamo_fail(call, key.error());
    Result<std::optional<std::vector<Path>>> paths = projection_of(in);
    if (!paths.ok()) return dynamo_fail(call, paths.error());
    call.ask(Get{table.store, {key.value()}},
             [&call, in, name = table.name, paths = std::move(paths).value()](Answer&& answer) {
               const auto* rows = dynamo_expect<Rows>(call, answer);
               if (!rows) return;
               json out = json::object();
               uint64_t bytes = 0;
               if (const Row& row = rows->rows.at(0); row.version != 0) {
                 const Result<json> item = item_of(row);
                 if (!item.ok()) return dynamo_fail(call, item.error());
                 bytes = item_size(item.value());
                 out["Item"] = paths ? project(item.value(), *paths) : item.value();
               }
               add_capacity(out, in, name, read_units(bytes, read_mode(in)));
               call.reply(json_reply(200, out));
             });
  });
}

struct WriteState final : CallState {
  ItemWrite write;
  json in = json::object();
  std::string returns;  // ReturnValues.
  bool return_on_failure = false;
  int tries = kTriesMax;
};

void reply_written(Call& call, const WriteState& state, const Decision& made) {
  json attributes;
  if (state.returns == "ALL_OLD") attributes = made.before;
  if (state.returns == "ALL_NEW") attributes = made.after;
  // What the expression names, whether it is another value now or not.
  const std::vector<Path> named =
      state.write.update ? paths_of(*state.write.update) : std::vector<Path>();
  if (state.returns == "UPDATED_OLD" && !made.before.is_null()) {
    attributes = project(made.before, named);
  }
  if (state.returns == "UPDATED_NEW") attributes = project(made.after, named);
  const bool some = attributes.is_object() && !attributes.empty();
  json out = some ? json{{"Attributes", attributes}} : json::object();
  const uint64_t bytes = std::max(item_size(made.before), item_size(made.after));
  add_capacity(out, state.in, state.write.table.name, write_units(bytes));
  call.reply(json_reply(200, out));
}

void reply_refused(Call& call, const WriteState& state, const Decision& made) {
  json body = {{"__type", "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"},
               {"message", "The conditional request failed"}};
  if (state.return_on_failure && !made.before.is_null()) body["Item"] = made.before;
  call.reply(json_reply(400, body));
}

void try_write(Call& call, WriteState& state) {
  call.ask(Get{state.write.table.store, {state.write.key}}, [&call, &state](Answer&& answer) {
    const auto* rows = dynamo_expect<Rows>(call, answer);
    if (!rows) return;
    const Result<Decision> made = decide(state.write, rows->rows.at(0));
    if (!made.ok()) return dynamo_fail(call, made.error());
    if (!made.value().allowed) return reply_refused(call, state, made.value());
    call.ask(Commit{0, {made.value().write}},
             [&call, &state, decision = made.value()](Answer&& done) {
               const auto* error = std::get_if<Error>(&done);
               if (error && error->code == Code::conflict && state.tries-- > 0) {
                 return try_write(call, state);
               }
               if (error) return dynamo_fail(call, *error);
               reply_written(call, state, decision);
             });
  });
}

Result<void> check_returns(ItemWrite::Kind kind, std::string_view returns) {
  constexpr std::array<std::string_view, 5> kReturns = {"NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD",
                                                        "UPDATED_NEW"};
  const size_t known = kind == ItemWrite::Kind::update ? kReturns.size() : 2;
  if (std::find(kReturns.begin(), kReturns.begin() + known, returns) != kReturns.begin() + known) {
    return {};
  }
  return Error{Code::invalid, known == 2 ? "ReturnValues can only be ALL_OLD or NONE"
                                         : "ReturnValues is NONE, ALL_OLD, ALL_NEW, UPDATED_OLD or "
                                           "UPDATED_NEW"};
}

template <ItemWrite::Kind kind>
void write_one(Call& call, const json& in) {
  with_table(call, in, [&call, in](const DynamoTable& table) {
    Result<ItemWrite> planned = plan_write(kind, table, in);
    if (!planned.ok()) return dynamo_fail(call, planned.error());
    const Result<void> known = check_returns(kind, text_or(in, "ReturnValues", "NONE"));
    if (!known.ok()) return dynamo_fail(call, known.error());
    WriteState& state = call.keep(std::make_unique<WriteState>());
    state.write = std::move(planned).value();
    state.in = in;
    state.returns = text_or(in, "ReturnValues", "NONE");
    state.return_on_failure = text_or(in, "ReturnValuesOnConditionCheckFailure", "") == "ALL_OLD";
    try_write(call, state);
  });
}

}  // namespace

bool serve_dynamo_items(Call& call, std::string_view operation, const json& in) {
  struct Operation {
    std::string_view name;
    void (*serve)(Call&, const json&);
  };
  static constexpr std::array<Operation, 4> kOperations = {
      {{"GetItem", get},
       {"PutItem", write_one<ItemWrite::Kind::put>},
       {"DeleteItem", write_one<ItemWrite::Kind::remove>},
       {"UpdateItem", write_one<ItemWrite::Kind::update>}}};
  const auto* found = std::ranges::find(kOperations, operation, &Operation::name);
  if (found == kOperations.end()) return false;
  found->serve(call, in);
  return true;
}

}  // namespace dunlin::aws
