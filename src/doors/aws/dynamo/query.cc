// DynamoDB's Query and Scan: a walk over the rows of a table, a page of the store at a time.
#include <algorithm>
#include <array>
#include <deque>
#include <fmt/format.h>

#include "base/text.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/dynamo/capacity.h"
#include "doors/aws/dynamo/dynamo.h"

namespace dunlin::aws {
namespace {

constexpr size_t kPageBytes = 1 << 20;  // Of one reply, as in DynamoDB.
constexpr size_t kPageRows = 1000;

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

struct Walk final : CallState {
  DynamoTable table;
  std::string prefix;
  std::string after;
  std::string upper;         // No key above it; empty: all.
  bool upper_itself = true;  // Nor it itself, if false.
  bool forward = true;
  size_t limit = SIZE_MAX;
  uint64_t segment = 0;
  uint64_t segments = 1;
  std::optional<Condition> filter;
  std::optional<std::vector<Path>> projection;
  bool count_only = false;
  json in = json::object();

  std::deque<Row> rows;  // In the order of their keys.
  size_t bytes = 0;
  bool more = false;  // There are rows that the reply does not have.
};

bool beyond(const Walk& walk, const std::string& key) {
  if (walk.upper.empty()) return false;
  return walk.upper_itself ? key > walk.upper : key >= walk.upper;
}

// --- Where to walk ---

// The conditions of a key condition, which are joined with AND.
Result<std::vector<Condition>> key_conditions(const json& in, const Placeholders& placeholders) {
  const std::string* text = text_member(in, "KeyConditionExpression");
  if (!text) return wrong("Query needs a KeyConditionExpression");
  Condition parsed = TRY(parse_condition(*text, placeholders));
  if (parsed.kind != Condition::Kind::all) return std::vector<Condition>{std::move(parsed)};
  return std::move(parsed.parts);
}

// Whether a condition is about one attribute and given values only.
bool is_about(const Condition& condition, const std::string& attribute) {
  if (condition.operands.empty() || condition.operands[0].kind != Operand::Kind::path) return false;
  if (condition.operands[0].path != Path{attribute}) return false;
  return std::all_of(condition.operands.begin() + 1, condition.operands.end(),
                     [](const Operand& operand) { return operand.kind == Operand::Kind::value; });
}

Result<void> bound_range(Walk& walk, const Condition& condition) {
  const Error other = wrong("a sort key is compared with = < <= > >=, BETWEEN or begins_with");
  if (condition.operands.size() < 2) return other;  // It may only ask whether there is one.
  const KeyAttribute& range = *walk.table.range;
  const std::string base = walk.prefix;
  const std::string first = base + TRY(key_part(range, *condition.operands[1].value));
  const auto from = [&](const std::string& least) { walk.after = std::max(walk.after, least); };
  const auto to = [&](const std::string& most, bool itself) {
    if (!walk.upper.empty() && walk.upper <= most) return;
    walk.upper = most;
    walk.upper_itself = itself;
  };
  if (condition.kind == Condition::Kind::begins_with && range.type != "N") {
    walk.prefix = first;
  } else if (condition.kind == Condition::Kind::between) {
    from(first);
    to(base + TRY(key_part(range, *condition.operands[2].value)) + kPartEnd, true);
  } else if (condition.kind != Condition::Kind::comparison) {
    return other;
  } else {
    switch (condition.comparison) {
      case Comparison::equal:
        walk.prefix = first + kPartEnd;
        break;
      case Comparison::less:
      case Comparison::less_equal:
        to(first + kPartEnd, condition.comparison == Comparison::less_equal);
        break;
      case Comparison::greater:
        from(first + kPartEnd);
        break;
      case Comparison::greater_equal:
        from(first);  // All that is greater than this begins with the end of the part or later.
        break;
      case Comparison::not_equal:
        return wrong("a sort key cannot be compared with <>");
    }
  }
  return {};
}

Result<void> bound_walk(Walk& walk, const json& in, const Placeholders& placeholders) {
  const std::vector<Condition> conditions = TRY(key_conditions(in, placeholders));
  const auto hash = std::ranges::find_if(conditions, [&](const Condition& condition) {
    return is_about(condition, walk.table.hash.name) &&
           condition.kind == Condition::Kind::comparison &&
           condition.comparison == Comparison::equal;
  });
  if (hash == conditions.end() || conditions.size() > 2) {
    return wrong("a key condition is hash = :value, and at most one about the sort key");
  }
  walk.prefix = TRY(key_part(walk.table.hash, *hash->operands[1].value)) + kPartEnd;
  for (const Condition& condition : conditions) {
    if (&condition == &*hash) continue;
    if (!walk.table.range || !is_about(condition, walk.table.range->name)) {
      return wrong("a key condition may only be about the attributes of the key");
    }
    TRY(bound_range(walk, condition));
  }
  return {};
}

Result<void> bound_segment(Walk& walk, const json& in) {
  const int64_t total = number_or(in, "TotalSegments", 1);
  const int64_t segment = number_or(in, "Segment", 0);
  if (total < 1 || total > 1'000'000 || segment < 0 || segment >= total) {
    return wrong("Segment is at least 0 and below TotalSegments, which is at most 1000000");
  }
  walk.segment = static_cast<uint64_t>(segment);
  walk.segments = static_cast<uint64_t>(total);
  return {};
}

Result<void> plan(Walk& walk, const json& in, bool query) {
  const Placeholders placeholders = TRY(read_placeholders(in));
  TRY(query ? bound_walk(walk, in, placeholders) : bound_segment(walk, in));
  if (const std::string* text = text_member(in, "FilterExpression")) {
    walk.filter = TRY(parse_condition(*text, placeholders));
    std::set<std::string> key = {walk.table.hash.name};
    if (walk.table.range) key.insert(walk.table.range->name);
    if (query) TRY(check_not_about(*walk.filter, key));
  }
  if (const std::string* text = text_member(in, "ProjectionExpression")) {
    walk.projection = TRY(parse_projection(*text, placeholders));
  }
  TRY(check_all_used(placeholders));
  if (const json* limit = member(in, "Limit")) {
    if (!limit->is_number_integer() || limit->get<int64_t>() < 1) {
      return wrong("Limit is at least 1");
    }
    walk.limit = static_cast<size_t>(limit->get<int64_t>());
  }
  walk.count_only = text_or(in, "Select", "") == "COUNT";
  walk.forward = !query || flag_member(in, "ScanIndexForward", true);
  if (const json* start = object_member(in, "ExclusiveStartKey")) {
    const json start_item = TRY(normal_item(*start));
    const std::string key = TRY(row_key(walk.table, start_item, true));
    if (walk.forward) {
      walk.after = std::max(walk.after, key);
    } else if (walk.upper.empty() || key <= walk.upper) {
      walk.upper = key;
      walk.upper_itself = false;
    }
  }
  if (walk.prefix.size() > kKeyMax || walk.after.size() > kKeyMax) {
    return wrong("the key is too long");
  }
  return {};
}

// --- Walking ---

void reply_walk(Call& call, Walk& walk) {
  json items = json::array();
  json last;
  size_t found = 0;
  uint64_t bytes = 0;
  if (!walk.forward) std::ranges::reverse(walk.rows);
  for (const Row& row : walk.rows) {
    const Result<json> item = item_of(row);
    if (!item.ok()) return dynamo_fail(call, item.error());
    last = key_of(walk.table, item.value());
    bytes += item_size(item.value());
    if (walk.filter && !holds(*walk.filter, item.value())) continue;
    ++found;
    if (walk.count_only) continue;
    items.push_back(walk.projection ? project(item.value(), *walk.projection) : item.value());
  }
  json out = {{"Count", found}, {"ScannedCount", walk.rows.size()}};
  if (!walk.count_only) out["Items"] = std::move(items);
  if (walk.more && last.is_object()) out["LastEvaluatedKey"] = last;
  add_capacity(out, walk.in, walk.table.name, read_units(bytes, read_mode(walk.in)));
  call.reply(json_reply(200, out));
}

// Takes a row; false if the reply is full. Backwards the first rows make room for the last ones,
// as the store only walks forwards.
bool take(Walk& walk, Row&& row) {
  if (walk.segments > 1 && fingerprint(row.key) % walk.segments != walk.segment) return true;
  walk.bytes += row.value.size();
  walk.rows.push_back(std::move(row));
  if (walk.forward) {
    walk.more = walk.rows.size() >= walk.limit || walk.bytes >= kPageBytes;
    return !walk.more;
  }
  while (walk.rows.size() > walk.limit || (walk.bytes > kPageBytes && walk.rows.size() > 1)) {
    walk.bytes -= walk.rows.front().value.size();
    walk.rows.pop_front();
    walk.more = true;
  }
  return true;
}

void walk_on(Call& call, Walk& walk) {
  call.ask(Scan{walk.table.store, walk.prefix, walk.after, std::min(kPageRows, walk.limit)},
           [&call, &walk](Answer&& answer) {
             auto* rows = dynamo_expect<Rows>(call, answer);
             if (!rows) return;
             bool done = rows->rows.empty();
             for (Row& row : rows->rows) {
               walk.after = row.key;
               done = beyond(walk, row.key) || !take(walk, std::move(row));
               if (done) break;
             }
             done ? reply_walk(call, walk) : walk_on(call, walk);
           });
}

template <bool query>
void start(Call& call, const json& in) {
  with_table(call, in, [&call, in](const DynamoTable& table) {
    Walk& walk = call.keep(std::make_unique<Walk>());
    walk.table = table;
    walk.in = in;
    const Result<void> planned = plan(walk, in, query);
    if (!planned.ok()) return dynamo_fail(call, planned.error());
    walk_on(call, walk);
  });
}

}  // namespace

bool serve_dynamo_query(Call& call, std::string_view operation, const json& in) {
  if (operation == "Query") {
    start<true>(call, in);
  } else if (operation == "Scan") {
    start<false>(call, in);
  } else {
    return false;
  }
  return true;
}

}  // namespace dunlin::aws
