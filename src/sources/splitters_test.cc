#include "sources/splitters.h"

#include <gtest/gtest.h>

namespace dunlin::sources {
namespace {

using Row = std::vector<std::string>;

// Fed in pieces of `size` bytes.
template <typename Splitter>
Result<void> feed_all(Splitter& splitter, std::string_view text, size_t size) {
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    TRY(splitter.feed(text.substr(0, size)));
  }
  return splitter.finish();
}

Row lines_of(std::string_view text, char end = '\n') {
  Row lines;
  for (const size_t size : {1U, 3U, 1000U}) {
    lines.clear();
    LineSplitter splitter(end, 100, [&](std::string_view line, uint64_t number) {
      lines.emplace_back(line);
      EXPECT_EQ(number, lines.size());
      return Result<void>();
    });
    EXPECT_TRUE(feed_all(splitter, text, size).ok());
  }
  return lines;
}

TEST(Splitters, LinesKeepEmptyOnesAndTheLastMayLackItsEnd) {
  EXPECT_EQ(lines_of("a\n\nb c\nd"), (Row{"a", "", "b c", "d"}));
  EXPECT_EQ(lines_of("a\n"), Row{"a"});
  EXPECT_EQ(lines_of(""), Row{});
  EXPECT_EQ(lines_of(std::string_view("a\nb\0c\0", 6), '\0'), (Row{"a\nb", "c"}));
}

TEST(Splitters, ALongLineIsRefusedBeforeItIsWhole) {
  LineSplitter splitter('\n', 4, [](std::string_view, uint64_t) { return Result<void>(); });
  EXPECT_TRUE(splitter.feed("1234\n123").ok());
  EXPECT_EQ(splitter.feed("45").error().what, "line 2 has more than 4 bytes");
}

Result<std::vector<Row>> rows_of(std::string_view text, size_t size = 1000,
                                 std::vector<uint64_t>* lines = nullptr) {
  std::vector<Row> rows;
  CsvSplitter splitter(',', 100, [&](const Row& row, uint64_t line) {
    rows.push_back(row);
    if (lines != nullptr) lines->push_back(line);
    return Result<void>();
  });
  TRY(feed_all(splitter, text, size));
  return rows;
}

TEST(Splitters, CsvKnowsQuotes) {
  const std::string_view text =
      "a,b\r\n\"x,y\",\"say \"\"hi\"\"\"\n\n\"two\nlines\",\r\n,\"\"\nlast";
  const std::vector<Row> expected{
      {"a", "b"}, {"x,y", "say \"hi\""}, {"two\nlines", ""}, {"", ""}, {"last"}};
  for (const size_t size : {1U, 2U, 1000U}) EXPECT_EQ(rows_of(text, size).value(), expected);
  EXPECT_EQ(rows_of("a\"b,c\n").value(), (std::vector<Row>{{"a\"b", "c"}}));
  EXPECT_EQ(rows_of("\"\"\n").value(), std::vector<Row>{{""}});
  EXPECT_TRUE(rows_of("\n\r\n").value().empty());
}

TEST(Splitters, ARowIsKnownByTheLineOnWhichItBegins) {
  std::vector<uint64_t> lines;
  EXPECT_TRUE(rows_of("a\n\"b\nb\"\n\nc\n", 1, &lines).ok());
  EXPECT_EQ(lines, (std::vector<uint64_t>{1, 2, 5}));
}

TEST(Splitters, BrokenQuotesAreRefusedWithTheirLine) {
  EXPECT_EQ(rows_of("a\n\"b\n").error().what,
            "the quote in the row that begins on line 2 is never closed");
  EXPECT_EQ(rows_of("a\n\"b\" c\n").error().what.find("line 2 has text after"), 0U);
  EXPECT_NE(rows_of("\"" + std::string(200, 'x')).error().what.find("is a quote left open"),
            std::string::npos);
}

}  // namespace
}  // namespace dunlin::sources
