#include "doors/aws/dynamo/expression.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fmt/format.h>

namespace dunlin::aws {
namespace {

const json kItem = json::parse(R"({
  "n": {"N": "10"}, "s": {"S": "hello"}, "yes": {"BOOL": true}, "tags": {"SS": ["a", "b"]},
  "ones": {"L": [{"S": "x"}, {"N": "2"}]}, "deep": {"M": {"most": {"N": "3"}}}, "odd name": {"S": "o"}})");

Placeholders placeholders() {
  return read_placeholders(json::parse(R"({
    "ExpressionAttributeNames": {"#o": "odd name"},
    "ExpressionAttributeValues": {":ten": {"N": "10.0"}, ":two": {"N": "2"}, ":he": {"S": "he"},
      ":o": {"S": "o"}, ":a": {"S": "a"}, ":x": {"S": "x"}, ":true": {"BOOL": true},
      ":more": {"L": [{"S": "y"}]}, ":set": {"SS": ["c", "a"]}, ":type": {"S": "N"}}})"))
      .value();
}

bool holds_for_item(std::string_view text) {
  const Result<Condition> condition = parse_condition(text, placeholders());
  EXPECT_TRUE(condition.ok()) << text;
  return condition.ok() && holds(condition.value(), kItem);
}

TEST(Expression, ConditionsHoldWhenTheyShould) {
  for (const std::string_view text : {"n = :ten",
                                      "n <> :two",
                                      "n > :two",
                                      "n >= :ten",
                                      ":two < n",
                                      "n BETWEEN :two AND :ten",
                                      "n IN (:two, :ten)",
                                      "attribute_exists(deep.#o) OR n = :ten",
                                      "attribute_not_exists(lost)",
                                      "attribute_exists(ones[1])",
                                      "begins_with(s, :he)",
                                      "contains(tags, :a)",
                                      "contains(ones, :x)",
                                      "contains(s, :he)",
                                      "#o = :o",
                                      "size(ones) = :two",
                                      "size(s) > :two",
                                      "attribute_type(n, :type)",
                                      "NOT n = :two",
                                      "not not n = :ten",
                                      "lost <> :two",
                                      "n = :two OR n = :ten AND yes = :true",
                                      "(n = :two OR n = :ten) and deep.most > :two"}) {
    EXPECT_TRUE(holds_for_item(text)) << text;
  }
}

TEST(Expression, ConditionsFailWhenTheyShould) {
  for (const std::string_view text :
       {"n = :two", "n < :two", "s = :ten", "s > :ten", "lost = :two", "lost < :two",
        "attribute_exists(lost)", "attribute_exists(ones[2])", "attribute_exists(s.x)",
        "begins_with(n, :he)", "contains(tags, :x)", "NOT (n = :ten)", "n = :ten AND s = :he",
        "size(n) = :two"}) {
    EXPECT_FALSE(holds_for_item(text)) << text;
  }
}

TEST(Expression, WhatIsNoExpressionIsRefused) {
  for (const std::string& text :
       {std::string(""), std::string("n"), std::string("n ="), std::string("= :ten"),
        std::string("n = :unknown"), std::string("#unknown = :ten"), std::string("n = :ten AND"),
        std::string("(n = :ten"), std::string("n = :ten)"), std::string("f(n)"),
        std::string("attribute_exists(:ten)"), std::string("n BETWEEN :two"),
        std::string("n ! :ten"), std::string("begins_with(s)"), std::string("ones[x] = :ten"),
        std::string(200, '('), std::string(5000, 'n')}) {
    EXPECT_FALSE(parse_condition(text, placeholders()).ok()) << text;
  }
  for (const std::string_view text : {"", "SET", "SET n", "SET n = ", "PUT n = :ten", "ADD n n",
                                      "SET n = f(:ten, :two)", "REMOVE"}) {
    EXPECT_FALSE(parse_update(text, placeholders()).ok()) << text;
  }
}

std::string updated(std::string_view text, std::string_view attribute) {
  const Result<Update> update = parse_update(text, placeholders());
  if (!update.ok()) return update.error().what;
  const Result<json> made = apply(update.value(), kItem);
  if (!made.ok()) return "error";
  const json* found = member(made.value(), attribute);
  return found ? dump(*found) : "none";
}

TEST(Expression, UpdatesDoWhatTheySay) {
  EXPECT_EQ(updated("SET n = n + :two", "n"), R"({"N":"12"})");
  EXPECT_EQ(updated("SET n = n - :ten", "n"), R"({"N":"0"})");
  EXPECT_EQ(updated("set c = if_not_exists(c, :two) + :two", "c"), R"({"N":"4"})");
  EXPECT_EQ(updated("SET n = if_not_exists(n, :two)", "n"), R"({"N":"10"})");
  EXPECT_EQ(updated("SET ones = list_append(ones, :more)", "ones"),
            R"({"L":[{"S":"x"},{"N":"2"},{"S":"y"}]})");
  EXPECT_EQ(updated("SET ones[0] = :two, ones[9] = :ten", "ones"),
            R"({"L":[{"N":"2"},{"N":"2"},{"N":"10"}]})");
  EXPECT_EQ(updated("SET deep.#o = :a REMOVE deep.most", "deep"),
            R"({"M":{"odd name":{"S":"a"}}})");
  EXPECT_EQ(updated("REMOVE ones[0], n", "ones"), R"({"L":[{"N":"2"}]})");
  EXPECT_EQ(updated("REMOVE ones[0], n", "n"), "none");
  EXPECT_EQ(updated("ADD n :two, c :two", "n"), R"({"N":"12"})");
  EXPECT_EQ(updated("ADD tags :set", "tags"), R"({"SS":["a","b","c"]})");
  EXPECT_EQ(updated("DELETE tags :set", "tags"), R"({"SS":["b"]})");
  // Values on the right are those before the update.
  EXPECT_EQ(updated("SET n = :two, c = n", "c"), R"({"N":"10"})");
}

TEST(Expression, AnUpdateThatMakesNoSenseIsRefused) {
  for (const std::string_view text :
       {"SET n = lost", "SET n = s + :two", "SET lost.x = :two", "SET s.x = :two", "ADD s :two",
        "ADD n :set", "DELETE n :set", "SET ones = list_append(ones, :two)"}) {
    EXPECT_EQ(updated(text, "n"), "error") << text;
  }
}

// A list or a set of so many numbers.
json numbers(const char* type, int count) {
  json content = json::array();
  for (int i = 0; i < count; ++i) {
    json number = std::to_string(i);
    content.push_back(type == std::string("L") ? json{{"N", number}} : number);
  }
  return json{{type, content}};
}

TEST(Expression, AnUpdateMakesNoMoreThanAnItemMayHave) {
  const Placeholders given =
      read_placeholders({{"ExpressionAttributeValues", {{":v", numbers("L", 40'000)}}}}).value();
  const auto made = [&](const std::string& text) {
    return aws::apply(parse_update(text, given).value(), json::object());
  };
  EXPECT_TRUE(made("SET a = :v").ok());
  std::string many = "SET a = :v";
  for (int i = 0; i < 500; ++i) many += fmt::format(",a{}=:v", i);
  std::string deep = ":v";
  for (int i = 0; i < 30; ++i) deep = fmt::format("list_append({},:v)", deep);
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string& text : {many, "SET a = " + deep}) {
    const Result<json> refused = made(text);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().what.find("more than 262144 bytes"), std::string::npos)
        << refused.error().what;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST(Expression, ALargeValueThatIsNamedOftenIsThereOnce) {
  const Placeholders given =
      read_placeholders({{"ExpressionAttributeValues", {{":v", numbers("L", 40'000)}}}}).value();
  std::string text = "n = :v";
  for (int i = 0; i < 350; ++i) text += " OR n = :v";
  const auto begun = std::chrono::steady_clock::now();
  const Condition condition = parse_condition(text, given).value();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(holds(condition, kItem));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST(Expression, ALargeSetIsTakenFromALargeSetAtOnce) {
  const Placeholders given =
      read_placeholders({{"ExpressionAttributeValues", {{":v", numbers("NS", 40'000)}}}}).value();
  const json item = {{"n", normal_value(numbers("NS", 40'001)).value()}};
  const auto begun = std::chrono::steady_clock::now();
  const Result<json> made = aws::apply(parse_update("DELETE n :v", given).value(), item);
  EXPECT_EQ(dump(made.value()), R"({"n":{"NS":["40000"]}})");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST(Expression, AProjectionHasOnlyWhatItNames) {
  const auto paths = parse_projection("n, deep.most, ones[1], lost, #o", placeholders()).value();
  EXPECT_EQ(project(kItem, paths),
            json::parse(R"({"n": {"N": "10"}, "deep": {"M": {"most": {"N": "3"}}},
                            "ones": {"L": [{"N": "2"}]}, "odd name": {"S": "o"}})"));
}

TEST(Expression, AProjectionKeepsThingsTogetherAndInTheirOrder) {
  const json item = json::parse(R"({"l": {"L": [
    {"M": {"x": {"N": "1"}, "y": {"N": "2"}, "z": {"N": "3"}}}, {"N": "4"}, {"L": [{"N": "5"}]}]},
    "s": {"S": "text"}})");
  const auto projected = [&item](std::string_view text) {
    return project(item, parse_projection(text, placeholders()).value());
  };
  EXPECT_EQ(projected("l[0].x, l[0].y"),
            json::parse(R"({"l": {"L": [{"M": {"x": {"N": "1"}, "y": {"N": "2"}}}]}})"));
  EXPECT_EQ(projected("l[2][0], l[1], l[0].z"),
            json::parse(R"({"l": {"L": [{"M": {"z": {"N": "3"}}}, {"N": "4"},
                                        {"L": [{"N": "5"}]}]}})"));
  EXPECT_EQ(projected("l[0].lost, l[7], l.x, s.x, s[0]"), json::object());
}

TEST(Expression, PathsThatOverlapAreRefused) {
  for (const std::string_view text :
       {"n, n", "deep, deep.most", "ones[1], n, ones", "ones[0].x, ones[0].x"}) {
    const auto refused = parse_projection(text, placeholders());
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.error().what.find("paths overlap"), std::string::npos);
  }
  for (const std::string_view text :
       {"SET n = :ten, n = :two", "SET n = :ten REMOVE n", "SET deep.most = :ten REMOVE deep",
        "ADD ones[1] :two SET ones = :more", "SET n = :ten SET s = :two",
        "REMOVE n SET s = :two remove yes"}) {
    EXPECT_FALSE(parse_update(text, placeholders()).ok()) << text;
  }
  EXPECT_TRUE(parse_update("SET deep.a = :ten, deep.ab = :ten, ones[1] = :ten, ones[10] = :two "
                           "REMOVE #o ADD n :ten DELETE tags :set",
                           placeholders())
                  .ok());
  EXPECT_TRUE(parse_projection("deep.a, deep.ab, ones[1], ones[10], dee", placeholders()).ok());
}

TEST(Expression, WordsThatDynamoKeepsNeedAName) {
  for (const std::string_view text :
       {"status = :ten", "a.Name = :ten", "SIZE = :ten", "attribute_exists(ttl)", "n = zone"}) {
    const Result<Condition> refused = parse_condition(text, placeholders());
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.error().what.find("reserved keyword"), std::string::npos) << text;
  }
  EXPECT_FALSE(parse_update("SET count = :ten", placeholders()).ok());
  EXPECT_FALSE(parse_projection("n, date", placeholders()).ok());
  EXPECT_TRUE(is_reserved("abort"));
  EXPECT_TRUE(is_reserved("ZONE"));
  for (const std::string_view free : {"", " ", "statuses", "n", "zon", "AB", "size of"}) {
    EXPECT_FALSE(is_reserved(free)) << free;
  }
}

TEST(Expression, PlaceholdersThatStandForNothingAreRefused) {
  const Placeholders given =
      read_placeholders(json::parse(R"({"ExpressionAttributeNames": {"#a": "x", "#b": "y"},
                                        "ExpressionAttributeValues": {":v": {"N": "1"}}})"))
          .value();
  EXPECT_FALSE(check_all_used(given).ok());
  ASSERT_TRUE(parse_projection("#a", given).ok());
  ASSERT_TRUE(parse_condition("n = :v", given).ok());
  const Result<void> left = check_all_used(given);
  ASSERT_FALSE(left.ok());
  EXPECT_NE(left.error().what.find("{#b}"), std::string::npos) << left.error().what;
  ASSERT_TRUE(parse_update("REMOVE #b", given).ok());
  EXPECT_TRUE(check_all_used(given).ok());
}

TEST(Expression, AFilterIsNotAboutTheKey) {
  const std::set<std::string> key = {"n", "s"};
  for (const std::string_view text : {"n = :ten", "yes = :true OR (NOT begins_with(s, :he))",
                                      "size(s) > :two", ":two < n", "deep.most = n"}) {
    EXPECT_FALSE(check_not_about(parse_condition(text, placeholders()).value(), key).ok()) << text;
  }
  EXPECT_TRUE(check_not_about(parse_condition("deep.n = :ten", placeholders()).value(), key).ok());
}

TEST(Expression, ValuesHaveANormalForm) {
  EXPECT_EQ(normal_value(json::parse(R"({"NS": ["2.0", "1"]})")).value(),
            json::parse(R"({"NS": ["1", "2"]})"));
  for (const std::string_view bad :
       {R"({})", R"({"X": "a"})", R"({"N": 1})", R"({"N": "x"})", R"({"B": "?"})", R"({"SS": []})",
        R"({"NS": ["1", "1.0"]})", R"({"S": "a", "N": "1"})", R"({"M": []})", R"({"L": {}})",
        R"("text")", R"({"L": [1]})"}) {
    EXPECT_FALSE(normal_value(json::parse(bad)).ok()) << bad;
  }
}

}  // namespace
}  // namespace dunlin::aws
