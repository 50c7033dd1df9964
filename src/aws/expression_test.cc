#include "aws/expression.h"

#include <gtest/gtest.h>

namespace dunlin::aws {
namespace {

const json kItem = json::parse(R"({
  "n": {"N": "10"}, "s": {"S": "hello"}, "yes": {"BOOL": true}, "set": {"SS": ["a", "b"]},
  "list": {"L": [{"S": "x"}, {"N": "2"}]}, "map": {"M": {"in": {"N": "3"}}}, "odd name": {"S": "o"}})");

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
                                      "attribute_exists(map.#o) OR n = :ten",
                                      "attribute_not_exists(none)",
                                      "attribute_exists(list[1])",
                                      "begins_with(s, :he)",
                                      "contains(set, :a)",
                                      "contains(list, :x)",
                                      "contains(s, :he)",
                                      "#o = :o",
                                      "size(list) = :two",
                                      "size(s) > :two",
                                      "attribute_type(n, :type)",
                                      "NOT n = :two",
                                      "not not n = :ten",
                                      "none <> :two",
                                      "n = :two OR n = :ten AND yes = :true",
                                      "(n = :two OR n = :ten) and map.in > :two"}) {
    EXPECT_TRUE(holds_for_item(text)) << text;
  }
}

TEST(Expression, ConditionsFailWhenTheyShould) {
  for (const std::string_view text :
       {"n = :two", "n < :two", "s = :ten", "s > :ten", "none = :two", "none < :two",
        "attribute_exists(none)", "attribute_exists(list[2])", "attribute_exists(s.x)",
        "begins_with(n, :he)", "contains(set, :x)", "NOT (n = :ten)", "n = :ten AND s = :he",
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
        std::string("n ! :ten"), std::string("begins_with(s)"), std::string("list[x] = :ten"),
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
  EXPECT_EQ(updated("SET list = list_append(list, :more)", "list"),
            R"({"L":[{"S":"x"},{"N":"2"},{"S":"y"}]})");
  EXPECT_EQ(updated("SET list[0] = :two, list[9] = :ten", "list"),
            R"({"L":[{"N":"2"},{"N":"2"},{"N":"10"}]})");
  EXPECT_EQ(updated("SET map.#o = :a REMOVE map.in", "map"), R"({"M":{"odd name":{"S":"a"}}})");
  EXPECT_EQ(updated("REMOVE list[0], n", "list"), R"({"L":[{"N":"2"}]})");
  EXPECT_EQ(updated("REMOVE list[0], n", "n"), "none");
  EXPECT_EQ(updated("ADD n :two, c :two", "n"), R"({"N":"12"})");
  EXPECT_EQ(updated("ADD set :set", "set"), R"({"SS":["a","b","c"]})");
  EXPECT_EQ(updated("DELETE set :set", "set"), R"({"SS":["b"]})");
  // Values on the right are those before the update.
  EXPECT_EQ(updated("SET n = :two, c = n", "c"), R"({"N":"10"})");
}

TEST(Expression, AnUpdateThatMakesNoSenseIsRefused) {
  for (const std::string_view text :
       {"SET n = none", "SET n = s + :two", "SET none.x = :two", "SET s.x = :two", "ADD s :two",
        "ADD n :set", "DELETE n :set", "SET list = list_append(list, :two)"}) {
    EXPECT_EQ(updated(text, "n"), "error") << text;
  }
}

TEST(Expression, AProjectionHasOnlyWhatItNames) {
  const auto paths = parse_projection("n, map.in, list[1], none, #o", placeholders()).value();
  EXPECT_EQ(project(kItem, paths),
            json::parse(R"({"n": {"N": "10"}, "map": {"M": {"in": {"N": "3"}}},
                            "list": {"L": [{"N": "2"}]}, "odd name": {"S": "o"}})"));
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
