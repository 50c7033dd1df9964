#include "doors/aws/dynamo/expression.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace dunlin::aws {
namespace {

constexpr size_t kTextMax = 4096;
constexpr int kDepthMax = 64;
constexpr size_t kStepsMax = 32;

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

struct Token {
  enum class Kind { end, name, placeholder, value, number, symbol };
  Kind kind = Kind::end;
  std::string text;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Result<std::vector<Token>> tokens_of(std::string_view text) {
  if (text.size() > kTextMax) return wrong("the expression is longer than 4096 bytes");
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++i;
      continue;
    }
    size_t end = i + 1;
    if (is_word(c) || c == '#' || c == ':') {
      while (end < text.size() && is_word(text[end])) ++end;
      const Token::Kind kind = c == '#'               ? Token::Kind::placeholder
                               : c == ':'             ? Token::Kind::value
                               : c >= '0' && c <= '9' ? Token::Kind::number
                                                      : Token::Kind::name;
      tokens.push_back({kind, std::string(text.substr(i, end - i))});
    } else {
      const std::string_view two = text.substr(i, 2);
      if (two == "<>" || two == "<=" || two == ">=") end = i + 2;
      if (std::string_view("()=<>,.[]+-").find(c) == std::string_view::npos) {
        return wrong(fmt::format("the expression has a strange character at {}: {}", i, text));
      }
      tokens.push_back({Token::Kind::symbol, std::string(text.substr(i, end - i))});
    }
    i = end;
  }
  tokens.push_back({});
  return tokens;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x | 32) == (y | 32); });
}

std::string upper_case(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string shown(const Path& path) {
  std::string text;
  for (const PathStep& step : path) {
    const auto* name = std::get_if<std::string>(&step);
    text += text.empty() ? "" : ", ";
    text += name ? *name : fmt::format("[{}]", std::get<size_t>(step));
  }
  return text;
}

// In their order, what begins with a path stands right behind it.
Result<void> check_apart(std::string_view what, std::vector<Path> paths) {
  std::ranges::sort(paths);
  const auto twin = std::ranges::adjacent_find(paths, [](const Path& one, const Path& next) {
    return one.size() <= next.size() && std::equal(one.begin(), one.end(), next.begin());
  });
  if (twin == paths.end()) return {};
  return wrong(
      fmt::format("Invalid {}: Two document paths overlap with each other; must remove or rewrite "
                  "one of these paths; path one: [{}], path two: [{}]",
                  what, shown(*twin), shown(*std::next(twin))));
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Placeholders& placeholders)
      : tokens_(std::move(tokens)), placeholders_(placeholders) {}

  Result<Condition> any() {
    if (++depth_ > kDepthMax) return wrong("the expression is nested too deep");
    Condition one = TRY(all());
    if (keyword("OR")) {
      Condition list{.kind = Condition::Kind::any, .parts = {std::move(one)}, .operands = {}};
      do {
        list.parts.push_back(TRY(all()));
      } while (keyword("OR"));
      one = std::move(list);
    }
    --depth_;
    return one;
  }

  Result<Update> update() {
    Update made;
    std::set<std::string> clauses;
    while (next().kind != Token::Kind::end) {
      const std::string clause = upper_case(take().text);
      if (!clauses.insert(clause).second) {
        return wrong(
            fmt::format("Invalid UpdateExpression: The \"{}\" section can only be used "
                        "once in an update expression",
                        clause));
      }
      do {
        TRY(update_action(clause, made));
      } while (symbol(","));
    }
    if (made.sets.empty() && made.removes.empty() && made.adds.empty() && made.deletes.empty()) {
      return wrong("the update expression is empty");
    }
    TRY(check_apart("UpdateExpression", paths_of(made)));
    return made;
  }

  Result<Path> path() {
    Path steps;
    do {
      const Token token = take();
      if (token.kind == Token::Kind::placeholder) {
        const std::string* name = text_member(placeholders_.names, token.text);
        if (!name) return wrong(fmt::format("{} is not in ExpressionAttributeNames", token.text));
        placeholders_.used.insert(token.text);
        steps.emplace_back(*name);
      } else if (token.kind == Token::Kind::name) {
        if (is_reserved(token.text)) {
          return wrong(
              fmt::format("Attribute name is a reserved keyword; reserved keyword: {}: write "
                          "#{} and say in ExpressionAttributeNames what it stands for",
                          token.text, token.text));
        }
        steps.emplace_back(token.text);
      } else {
        return unexpected(token);
      }
      while (symbol("[")) {
        const Token index = take();
        if (index.kind != Token::Kind::number || index.text.size() > 6) return unexpected(index);
        size_t place = 0;
        for (const char c : index.text) {
          if (c < '0' || c > '9') return unexpected(index);
          place = place * 10 + static_cast<size_t>(c - '0');
        }
        steps.emplace_back(place);
        TRY(need("]"));
      }
      if (steps.size() > kStepsMax) return wrong("a path has more than 32 steps");
    } while (symbol("."));
    return steps;
  }

  Result<void> end() {
    if (next().kind == Token::Kind::end) return {};
    return unexpected(next());
  }
  bool symbol(std::string_view text) {
    if (next().kind != Token::Kind::symbol || next().text != text) return false;
    ++at_;
    return true;
  }

 private:
  const Token& next() const { return tokens_[at_]; }
  Token take() {
    Token token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool keyword(std::string_view word) {
    if (next().kind != Token::Kind::name || !same_word(next().text, word)) return false;
    ++at_;
    return true;
  }
  static Error unexpected(const Token& token) {
    return wrong(token.kind == Token::Kind::end
                     ? "the expression ends too early"
                     : fmt::format("the expression has '{}' where it does not belong", token.text));
  }
  Result<void> need(std::string_view text) {
    if (symbol(text)) return {};
    return unexpected(next());
  }

  Result<Condition> all() {
    Condition one = TRY(negation());
    if (!keyword("AND")) return one;
    Condition list{.kind = Condition::Kind::all, .parts = {std::move(one)}, .operands = {}};
    do {
      list.parts.push_back(TRY(negation()));
    } while (keyword("AND"));
    return list;
  }

  Result<Condition> negation() {
    bool negated = false;
    while (keyword("NOT")) negated = !negated;
    Condition one = TRY(primary());
    if (!negated) return one;
    return Condition{.kind = Condition::Kind::negation, .parts = {std::move(one)}, .operands = {}};
  }

  Result<Condition> primary() {
    if (symbol("(")) {
      Condition inside = TRY(any());
      TRY(need(")"));
      return inside;
    }
    const bool call = next().kind == Token::Kind::name && tokens_[at_ + 1].text == "(" &&
                      !same_word(next().text, "size");
    if (call) return function();
    Operand left = TRY(operand());
    if (keyword("BETWEEN")) {
      Condition made{.kind = Condition::Kind::between, .parts = {}, .operands = {std::move(left)}};
      made.operands.push_back(TRY(operand()));
      if (!keyword("AND")) return unexpected(next());
      made.operands.push_back(TRY(operand()));
      return made;
    }
    if (keyword("IN")) {
      Condition made{.kind = Condition::Kind::in, .parts = {}, .operands = {std::move(left)}};
      TRY(need("("));
      do {
        made.operands.push_back(TRY(operand()));
      } while (symbol(","));
      TRY(need(")"));
      return made;
    }
    return comparison(std::move(left));
  }

  Result<Condition> comparison(Operand left) {
    constexpr std::array<std::string_view, 6> kSymbols = {"=", "<>", "<", "<=", ">", ">="};
    const Token token = take();
    const auto* found = std::ranges::find(kSymbols, token.text);
    if (token.kind != Token::Kind::symbol || found == kSymbols.end()) return unexpected(token);
    Condition made{.kind = Condition::Kind::comparison,
                   .comparison = static_cast<Comparison>(found - kSymbols.begin()),
                   .parts = {},
                   .operands = {std::move(left)}};
    made.operands.push_back(TRY(operand()));
    return made;
  }

  Result<Condition> function() {
    struct Named {
      std::string_view name;
      Condition::Kind kind;
      size_t operands;
    };
    constexpr std::array<Named, 5> kFunctions = {
        {{"attribute_exists", Condition::Kind::exists, 1},
         {"attribute_not_exists", Condition::Kind::not_exists, 1},
         {"attribute_type", Condition::Kind::of_type, 2},
         {"begins_with", Condition::Kind::begins_with, 2},
         {"contains", Condition::Kind::contains, 2}}};
    const Token name = take();
    const auto* found = std::ranges::find(kFunctions, name.text, &Named::name);
    if (found == kFunctions.end()) return unexpected(name);
    TRY(need("("));
    Condition made{.kind = found->kind, .parts = {}, .operands = {}};
    do {
      made.operands.push_back(TRY(operand()));
    } while (symbol(","));
    TRY(need(")"));
    const bool fits = made.operands.size() == found->operands;
    if (!fits || (found->operands == 1 && made.operands[0].kind != Operand::Kind::path)) {
      return wrong(fmt::format("{} has other operands than it needs", name.text));
    }
    return made;
  }

  Result<Operand> operand() {
    if (next().kind == Token::Kind::value) {
      const Token token = take();
      const auto value = placeholders_.values.find(token.text);
      if (value == placeholders_.values.end()) {
        return wrong(fmt::format("{} is not in ExpressionAttributeValues", token.text));
      }
      placeholders_.used.insert(token.text);
      return Operand{.kind = Operand::Kind::value, .path = {}, .value = value->second, .args = {}};
    }
    const bool call = next().kind == Token::Kind::name && tokens_[at_ + 1].text == "(";
    if (call && keyword("size")) {
      TRY(need("("));
      Path of = TRY(path());
      TRY(need(")"));
      return Operand{.kind = Operand::Kind::size, .path = std::move(of), .value = {}, .args = {}};
    }
    return Operand{.kind = Operand::Kind::path, .path = TRY(path()), .value = {}, .args = {}};
  }

  // What may stand in SET behind the =, on one side of a + or -.
  Result<Operand> set_operand() {
    const bool call = next().kind == Token::Kind::name && tokens_[at_ + 1].text == "(";
    if (!call) return operand();
    if (++depth_ > kDepthMax) return wrong("the expression is nested too deep");
    const Token name = take();
    TRY(need("("));
    Operand made;
    if (name.text == "if_not_exists") {
      made.kind = Operand::Kind::if_not_exists;
      made.path = TRY(path());
    } else if (name.text == "list_append") {
      made.kind = Operand::Kind::list_append;
      made.args.push_back(TRY(set_operand()));
    } else {
      return unexpected(name);
    }
    TRY(need(","));
    made.args.push_back(TRY(set_operand()));
    TRY(need(")"));
    --depth_;
    return made;
  }

  Result<void> update_action(const std::string& clause, Update& made) {
    Path target = TRY(path());
    if (clause == "REMOVE") {
      made.removes.push_back(std::move(target));
    } else if (clause == "SET") {
      TRY(need("="));
      Operand value = TRY(set_operand());
      const bool plus = symbol("+");
      if (plus || symbol("-")) {
        Operand sum{.kind = plus ? Operand::Kind::plus : Operand::Kind::minus,
                    .path = {},
                    .value = {},
                    .args = {std::move(value)}};
        sum.args.push_back(TRY(set_operand()));
        value = std::move(sum);
      }
      made.sets.push_back({std::move(target), std::move(value)});
    } else if (clause == "ADD" || clause == "DELETE") {
      const Operand value = TRY(operand());
      if (value.kind != Operand::Kind::value) return wrong(clause + " needs a :value");
      (clause == "ADD" ? made.adds : made.deletes).emplace_back(std::move(target), value.value);
    } else {
      return wrong(fmt::format("'{}' is not SET, REMOVE, ADD or DELETE", clause));
    }
    return {};
  }

  std::vector<Token> tokens_;
  const Placeholders& placeholders_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Placeholders> read_placeholders(const json& in) {
  Placeholders made;
  made.names = object_or_empty(in, "ExpressionAttributeNames");
  const json values = object_or_empty(in, "ExpressionAttributeValues");
  for (const auto& [name, value] : values.items()) {
    made.values[name] = std::make_shared<const json>(TRY(normal_value(value)));
  }
  return made;
}

Result<void> check_all_used(const Placeholders& placeholders) {
  const auto check = [&](std::string_view kind, const std::string& name) -> Result<void> {
    if (placeholders.used.contains(name)) return {};
    return wrong(fmt::format(
        "Value provided in ExpressionAttribute{} unused in expressions: keys: {{{}}}", kind, name));
  };
  for (const auto& [name, value] : placeholders.names.items()) TRY(check("Names", name));
  for (const auto& [name, value] : placeholders.values) TRY(check("Values", name));
  return {};
}

Result<void> check_not_about(const Condition& condition, const std::set<std::string>& attributes) {
  for (const Condition& part : condition.parts) TRY(check_not_about(part, attributes));
  for (const Operand& operand : condition.operands) {
    if (operand.path.empty()) continue;
    const auto* name = std::get_if<std::string>(&operand.path[0]);
    if (name && attributes.contains(*name)) {
      return wrong(
          fmt::format("Filter Expression can only contain non-primary key attributes: "
                      "Primary key attribute: {}",
                      *name));
    }
  }
  return {};
}

Result<Condition> parse_condition(std::string_view text, const Placeholders& placeholders) {
  Parser parser(TRY(tokens_of(text)), placeholders);
  Condition made = TRY(parser.any());
  TRY(parser.end());
  return made;
}

Result<Update> parse_update(std::string_view text, const Placeholders& placeholders) {
  Parser parser(TRY(tokens_of(text)), placeholders);
  return parser.update();
}

Result<std::vector<Path>> parse_projection(std::string_view text,
                                           const Placeholders& placeholders) {
  Parser parser(TRY(tokens_of(text)), placeholders);
  std::vector<Path> paths;
  do {
    paths.push_back(TRY(parser.path()));
  } while (parser.symbol(","));
  TRY(parser.end());
  TRY(check_apart("ProjectionExpression", paths));
  return paths;
}

std::vector<Path> paths_of(const Update& update) {
  std::vector<Path> paths = update.removes;
  for (const Update::Set& set : update.sets) paths.push_back(set.path);
  for (const auto& [path, value] : update.adds) paths.push_back(path);
  for (const auto& [path, value] : update.deletes) paths.push_back(path);
  return paths;
}

}  // namespace dunlin::aws
