#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace dunlin {
namespace {

using nlohmann::json;

std::string why(std::string_view text, const JsonLimits& limits = {}) {
  const auto parsed = parse_json(text, limits);
  return parsed.ok() ? "accepted" : parsed.error().what;
}

std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Json, SaysWhatTheTextSays) {
  for (const char* text :
       {R"({"a":[1,-2,2.5,"x\u00e9",true,null,{"b":{}},[]],"c":{"a":18446744073709551615}})", "[]",
        R"("x")", "7", "null", R"([[["a"],{}],{"k":[{"k":1},{"k":2}]}])"}) {
    EXPECT_EQ(parse_json(text).value(), json::parse(text)) << text;
  }
}

TEST(Json, WhatIsNoJsonIsRefused) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "nope", "[1] 2", "\"\xff\"", "{\"a\":1,}"}) {
    EXPECT_EQ(why(text).find("it is not JSON: "), 0U) << text << " " << why(text);
  }
}

TEST(Json, NoNameStandsTwiceInAnObject) {
  EXPECT_EQ(why(R"({"a":1,"a":2})"), "the name \"a\" appears twice");
  EXPECT_EQ(why(R"({"x":[{"env":{"A":"1","\u0041":"2"}}]})"), "the name \"A\" appears twice");
  EXPECT_EQ(why(R"({"a":{"a":{"b":1}},"b":[{"a":1},{"a":1}]})"), "accepted");
}

TEST(Json, ManyValuesAreRefusedBeforeTheyTakeMemory) {
  const JsonLimits limits{.values_max = 10, .depth_max = 4};
  EXPECT_EQ(why("[1,2,3,4,5,6,7,8,9]", limits), "accepted");
  EXPECT_EQ(why("[1,2,3,4,5,6,7,8,9,10]", limits), "it has more than 10 values");
  EXPECT_EQ(why(R"({"a":[[],[],[]],"b":[{},{},{},{},{}]})", limits), "it has more than 10 values");
  EXPECT_EQ(why("[[[[]]]]", limits), "accepted");
  EXPECT_EQ(why("[[[[[]]]]]", limits), "it is nested more than 4 deep");
  EXPECT_EQ(why("[" + repeated("[],", 5 << 20)), "it has more than 100000 values");
  EXPECT_EQ(why(repeated("[", 1 << 20)), "it is nested more than 64 deep");
}

}  // namespace
}  // namespace dunlin
