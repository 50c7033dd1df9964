#include "cli/output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dunlin::cli {
namespace {

TEST(Output, ColumnsAreAlignedAndNumbersStandToTheRight) {
  Columns columns({{"KEY"}, {"VERSION", true}, {"VALUE"}});
  EXPECT_TRUE(columns.empty());
  columns.add({"a", "7", "x"});
  columns.add({"long-key", "12345678", ""});
  EXPECT_EQ(columns.text(),
            "KEY        VERSION  VALUE\n"
            "a                7  x\n"
            "long-key  12345678\n");
}

TEST(Output, WidthsCountCharactersNotBytes) {
  Columns columns({{"A"}, {"B"}});
  columns.add({"\xc3\xa9\xc3\xa9", "1"});
  columns.add({"xy", "2"});
  EXPECT_EQ(columns.text(), "A   B\n\xc3\xa9\xc3\xa9  1\nxy  2\n");
}

TEST(Output, ALongValueIsCutAndItsSizeSaid) {
  EXPECT_EQ(cell(std::string(kCellMax, 'x')), std::string(kCellMax, 'x'));
  EXPECT_EQ(cell(std::string(2048, 'x')), std::string(kCellMax, 'x') + "... (2.0 KiB)");
  EXPECT_EQ(cell("a\nb"), "a\\nb");
}

TEST(Output, BytesThatAreNotTextGoIntoJsonAsBase64) {
  nlohmann::ordered_json object = json_object();
  add_bytes(object, "body", "caf\xc3\xa9 \"\n");
  add_bytes(object, "value", "\xff");
  EXPECT_EQ(json_line(object),
            "{\"v\":1,\"body\":\"caf\xc3\xa9 \\\"\\n\",\"value_base64\":\"/w==\"}\n");
}

TEST(Output, JsonIsWrittenEvenIfANameIsNotText) {
  nlohmann::ordered_json object = json_object();
  object["file"] = "a\xff";
  EXPECT_EQ(json_line(object), "{\"v\":1,\"file\":\"a\xef\xbf\xbd\"}\n");
}

TEST(Output, CountsAgreeWithTheirNouns) {
  EXPECT_EQ(count_of(0, "row"), "0 rows");
  EXPECT_EQ(count_of(1, "row"), "1 row");
  EXPECT_EQ(count_of(2, "row"), "2 rows");
}

TEST(Output, WhatHasJustHappenedHasNoNumber) {
  EXPECT_EQ(ago(0.4), "just now");
  EXPECT_EQ(ago(310.9), "5m10s ago");
}

}  // namespace
}  // namespace dunlin::cli
