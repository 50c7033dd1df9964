// DynamoDB's expressions as trees: conditions, updates, projections and key conditions. Pure.
// Everything about them is bounded, so that no text can exhaust the stack.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "aws_protocol/json.h"
#include "base/result.h"

namespace dunlin::aws {

// a.b[3].c: names of maps and places in lists.
using PathStep = std::variant<std::string, size_t>;
using Path = std::vector<PathStep>;

// However often an expression names a value of its request, it is there once.
using SharedValue = std::shared_ptr<const json>;

struct Operand {
  enum class Kind { path, value, size, if_not_exists, list_append, plus, minus };
  Kind kind = Kind::value;
  Path path;                  // Of path, size and if_not_exists.
  SharedValue value;          // Of value: {"S": "..."}
  std::vector<Operand> args;  // One of if_not_exists, two of list_append, plus and minus.
};

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal };

struct Condition {
  enum class Kind {
    all,  // Of `parts`.
    any,
    negation,
    comparison,
    between,
    in,
    exists,
    not_exists,
    of_type,
    begins_with,
    contains,
  };
  Kind kind = Kind::all;
  Comparison comparison = Comparison::equal;
  std::vector<Condition> parts;
  std::vector<Operand> operands;
};

struct Update {
  struct Set {
    Path path;
    Operand value;
  };
  std::vector<Set> sets;
  std::vector<Path> removes;
  std::vector<std::pair<Path, SharedValue>> adds;
  std::vector<std::pair<Path, SharedValue>> deletes;
};
std::vector<Path> paths_of(const Update& update);  // What it changes.

// What #name and :value stand for.
struct Placeholders {
  json names = json::object();
  std::map<std::string, SharedValue, std::less<>> values = {};  // Checked, in their normal form.
  mutable std::set<std::string> used = {};  // By the expressions that were parsed with them.
};

// ExpressionAttributeNames and -Values of a request. `invalid` says what is wrong with them.
Result<Placeholders> read_placeholders(const json& in);

// When all expressions of the request were parsed: `invalid` if one of these stands in none of
// them.
Result<void> check_all_used(const Placeholders& placeholders);

// Whether DynamoDB keeps the word for itself, in any case: as a name it needs a #name.
bool is_reserved(std::string_view word);

// `invalid` if the condition is about one of these attributes.
Result<void> check_not_about(const Condition& condition, const std::set<std::string>& attributes);

// Of the paths of an update or a projection none begins with another.
Result<Condition> parse_condition(std::string_view text, const Placeholders& placeholders);
Result<Update> parse_update(std::string_view text, const Placeholders& placeholders);
Result<std::vector<Path>> parse_projection(std::string_view text, const Placeholders& placeholders);

// An attribute value in its normal form: numbers as DynamoDB writes them, sets sorted. `invalid`
// if it is none.
Result<json> normal_value(const json& value);
Result<json> normal_item(const json& item);  // A map of names to values.

// Null if there is nothing at this path.
const json* look_up(const json& item, const Path& path);

bool holds(const Condition& condition, const json& item);

// The item with the update applied; `invalid` if that makes more than an item may have.
Result<json> apply(const Update& update, const json& item);

// Only what the paths name.
json project(const json& item, const std::vector<Path>& paths);

}  // namespace dunlin::aws
