#include "model/tasks/colsep.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <unistd.h>

namespace dunlin {
namespace {

using Columns = std::vector<std::string_view>;

Columns split(const std::string& separator, const std::string& value) {
  static std::string kept;
  kept = value;
  Columns columns;
  Colsep::compile(separator).value().split(kept, columns);
  return columns;
}

TEST(Colsep, ALiteralSplitsAndKeepsEmptyColumns) {
  EXPECT_EQ(split(",", "a,,b,"), (Columns{"a", "", "b", ""}));
  EXPECT_EQ(split("::", "a::b:c"), (Columns{"a", "b:c"}));
  EXPECT_EQ(split(",", ""), Columns{""});
  EXPECT_EQ(split("", "a,b"), Columns{"a,b"});
}

TEST(Colsep, EscapesOfPerlAreKnown) {
  EXPECT_EQ(split("\\t", "a\tb c"), (Columns{"a", "b c"}));
  EXPECT_EQ(split("\\s+", "a \t b"), (Columns{"a", "b"}));
  EXPECT_EQ(split("\\|", "a|b"), (Columns{"a", "b"}));
  EXPECT_EQ(split("|", "a|b"), (Columns{"a", "b"}));
}

TEST(Colsep, ARegularExpressionSplitsWhereItMatchesSomething) {
  EXPECT_EQ(split(" +", "a   b c"), (Columns{"a", "b", "c"}));
  EXPECT_EQ(split("[,;]", "a,b;c"), (Columns{"a", "b", "c"}));
  EXPECT_EQ(split(" *", "ab c"), (Columns{"ab", "c"}));
  EXPECT_EQ(split("^x", "xxa"), (Columns{"", "xa"}));
}

TEST(Colsep, ABadExpressionIsRefused) {
  const auto refused = Colsep::compile("[a");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what.find("the colsep \"[a\" is not a regular expression"), 0U);
}

TEST(Colsep, PosixMeansWhatItAlwaysDid) {
  EXPECT_EQ(split("[[:space:]]+", "a \t b"), (Columns{"a", "b"}));
  EXPECT_EQ(split("[[:digit:][:punct:]]", "a1b,c"), (Columns{"a", "b", "c"}));
  EXPECT_EQ(split("x|xy", "axyb"), (Columns{"a", "b"})) << "the longest one counts";
  EXPECT_EQ(split("[]x]", "a]bxc"), (Columns{"a", "b", "c"}));
  EXPECT_EQ(split("[^]x]", "]a]"), (Columns{"]", "]"}));
  EXPECT_EQ(split("[\\.]", "a\\b.c"), (Columns{"a", "b", "c"})) << "no escape in brackets";
  EXPECT_EQ(split("[[,]", "a[b,c"), (Columns{"a", "b", "c"}));
  EXPECT_EQ(split("x{,2}y", "axxyby"), (Columns{"a", "b", ""}));
  EXPECT_EQ(split("x{2}", "axxbx"), (Columns{"a", "bx"}));
  EXPECT_EQ(split("\\<x\\>", "x xy x"), (Columns{"", " xy ", ""}));
  EXPECT_EQ(split("a.b", "xa\nby"), (Columns{"x", "y"}));
  EXPECT_EQ(split("^x", "a\nx"), Columns{"a\nx"}) << "only the very beginning";
  EXPECT_EQ(split("(-|=)>", "a->b=>c"), (Columns{"a", "b", "c"}));
  EXPECT_EQ(split(".;", "a\xff;b"), (Columns{"a", "b"})) << "bytes, whether UTF-8 or not";
}

TEST(Colsep, WhatItCannotDoIsRefusedByName) {
  EXPECT_NE(Colsep::compile("(a)\\1").error().what.find("\\1 is a back-reference"),
            std::string::npos);
  EXPECT_NE(Colsep::compile("[[.-.]]").error().what.find("name the characters"), std::string::npos);
}

// Bytes that this process has in memory.
size_t resident() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long whole = 0;
  unsigned long pages = 0;
  EXPECT_EQ(std::fscanf(file, "%lu %lu", &whole, &pages), 2);
  std::fclose(file);
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Colsep, ExplosiveExpressionsTakeLittleMemory) {
  const size_t before = resident();
  for (const char* pattern :
       {"((((a{1,99}){1,99}){1,99}))", "(((a{250}){250}){250})", "a{32767}{32767}",
        "[[:alpha:]]{255}{255}{255}{255}", "((a{9}){9}){9}{9}{9}{9}"}) {
    EXPECT_FALSE(Colsep::compile(pattern).ok()) << pattern;
  }
  const std::string value = std::string(20'000, 'a') + "b";
  Columns columns;
  Colsep::compile("(a*)*(a|b)*c|(.{1,30}){1,30}d").value().split(value, columns);
  EXPECT_EQ(columns.size(), 1U);
  EXPECT_LT(resident(), before + (16 << 20));
}

}  // namespace
}  // namespace dunlin
