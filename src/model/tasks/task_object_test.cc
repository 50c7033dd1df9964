#include "model/tasks/task_object.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

std::string why(std::string_view text) {
  const auto parsed = parse_task_object(text);
  return parsed.ok() ? "accepted" : parsed.error().what;
}

TEST(TaskObject, SaysWhatToRunAndHow) {
  const auto task = parse_task_object(R"({"argv":["echo","a b"],"env":{"A":"1"},"stdin":"in\u0000",
                                          "cwd":"/tmp","size":3})")
                        .value();
  EXPECT_EQ(task.argv, (std::vector<std::string>{"echo", "a b"}));
  EXPECT_EQ(task.env.at(0).second, "1");
  EXPECT_EQ(task.stdin_bytes, std::string("in\0", 3));
  EXPECT_EQ(task.cwd, "/tmp");
  EXPECT_TRUE(task.command.empty());
}

TEST(TaskObject, AFieldIsATextAsItIsAndAnythingElseAsJson) {
  const auto task =
      parse_task_object(R"({"a":"x y","b":2.5,"c":[1,"z"],"d":true,"e":null})").value();
  EXPECT_EQ(task.field("a"), "x y");
  EXPECT_EQ(task.field("b"), "2.5");
  EXPECT_EQ(task.field("c"), R"([1,"z"])");
  EXPECT_EQ(task.field("d"), "true");
  EXPECT_EQ(task.field("e"), "");
  EXPECT_EQ(task.field("f"), std::nullopt);
}

TEST(TaskObject, WhatIsWrongIsNamed) {
  EXPECT_NE(why("[1]").find("is not a JSON object"), std::string::npos);
  EXPECT_NE(why("{").find("is not a JSON object"), std::string::npos);
  EXPECT_EQ(why(R"({"argv":"ls"})").find("\"argv\" must be a list"), 0U);
  EXPECT_EQ(why(R"({"argv":[]})").find("\"argv\" must be a list"), 0U);
  EXPECT_EQ(why(R"({"argv":["a",1]})").find("\"argv\" must be a list"), 0U);
  EXPECT_EQ(why(R"({"argv":["a","\u0000"]})").find("\"argv\" must be a list"), 0U);
  EXPECT_EQ(why(R"({"command":3})").find("\"command\" must be a shell line"), 0U);
  EXPECT_EQ(why(R"({"env":{"A=B":"1"}})").find("\"env\" must be an object"), 0U);
  EXPECT_EQ(why(R"({"stdin":3})").find("\"stdin\" must be a text"), 0U);
  EXPECT_EQ(why(R"({"cwd":3})").find("\"cwd\" must be the path"), 0U);
  EXPECT_NE(why(R"({"argv":["a"],"command":"b"})").find("keep one of them"), std::string::npos);
}

}  // namespace
}  // namespace dunlin
