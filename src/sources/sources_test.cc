#include "sources/sources.h"

#include <gtest/gtest.h>

#include <fstream>

#include "model/tasks/expand.h"
#include "testing/temp_folder.h"

namespace dunlin::sources {
namespace {

using Words = std::vector<std::string>;

// The values of all sources, as a worker finds them.
std::vector<Words> values_of(const Gathered& gathered) {
  std::vector<Words> all;
  for (const model::Source& source : gathered.inputs.sources()) {
    if (source.blob().empty()) {
      all.push_back(read_values(source.inline_()).value());
      continue;
    }
    for (const auto& blob : gathered.blobs) {
      if (blob.name != source.blob()) continue;
      all.push_back(read_values(blob.bytes.substr(0, source.blob_bytes())).value());
    }
  }
  return all;
}

// The commands of all tasks.
Words commands_of(const SourceOptions& options) {
  const auto read = gather(options, "jobs/j/in");
  if (!read.ok()) return {read.error().what};
  const Gathered& gathered = read.value();
  model::Spec spec;
  *spec.mutable_command() = gathered.command;
  *spec.mutable_inputs() = gathered.inputs;
  const auto values = values_of(gathered);
  Words commands;
  for (uint64_t task = 0; task < gathered.tasks; ++task) {
    const auto indices = source_indices(gathered.inputs, task);
    Words own;
    for (size_t i = 0; i < indices.size(); ++i) own.push_back(values[i][indices[i]]);
    const auto expanded = expand(spec, task, own);
    commands.push_back(expanded.ok() ? shown_command(expanded.value()) : expanded.error().what);
  }
  return commands;
}

std::string why(const SourceOptions& options) {
  const auto read = gather(options, "in");
  return read.ok() ? "accepted" : read.error().what;
}

class Sources : public testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view text) {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  TestFolder folder_;
};

TEST_F(Sources, MakeAllCombinationsTheLastFastest) {
  EXPECT_EQ(commands_of({.words = {"echo", "{1}-{2}", ":::", "a", "b", ":::", "x", "y"}}),
            (Words{"echo a-x", "echo a-y", "echo b-x", "echo b-y"}));
}

TEST_F(Sources, ThatAreLinkedGoAlong) {
  EXPECT_EQ(commands_of({.words = {"echo {1}{2}", ":::", "a", "b", ":::+", "x", "y"}}),
            (Words{"echo ax", "echo by"}));
  EXPECT_NE(why({.words = {"echo", ":::", "a", "b", ":::+", "x"}}).find("linked"),
            std::string::npos);
  EXPECT_NE(why({.words = {"echo", ":::+", "x"}}).find("there is none"), std::string::npos);
}

TEST_F(Sources, ComeFromFilesLineByLine) {
  const std::string one = file("one", "a\n\nb c");
  const std::string two = file("two", "x\ny\nz\n");
  EXPECT_EQ(commands_of({.words = {"echo", "::::", one}}),
            (Words{"echo a", "echo ''", "echo 'b c'"}));
  EXPECT_EQ(commands_of({.words = {"echo", "::::", one}, .skip_empty = true}),
            (Words{"echo a", "echo 'b c'"}));
  EXPECT_EQ(commands_of({.words = {"echo", "::::", one, two}}).size(), 9U);
  EXPECT_EQ(commands_of({.words = {"echo", "::::", one, "::::+", two}})[2], "echo 'b c' z");
  EXPECT_EQ(commands_of({.words = {"echo", ":::", "1"}, .arg_files = {two}})[1], "echo y 1");
  EXPECT_NE(why({.words = {"echo", "::::", one + "x"}}).find("cannot read"), std::string::npos);
  EXPECT_NE(why({.words = {"echo", "::::"}}).find("name of a file"), std::string::npos);
  EXPECT_NE(why({.words = {"echo", "::::", "-", "-"}}).find("only one"), std::string::npos);
}

TEST_F(Sources, MayEndWithNulBytes) {
  const std::string nul = file("nul", std::string_view("a\nb\0c\0", 6));
  EXPECT_EQ(commands_of({.words = {"echo", "::::", nul}, .null = true}),
            (Words{"echo 'a\nb'", "echo c"}));
  EXPECT_NE(why({.words = {"echo", "::::", nul}}).find(nul + ":2 has a NUL byte"),
            std::string::npos);
}

TEST_F(Sources, WithoutACommandAreCommandsThemselves) {
  const std::string lines = file("lines", "gzip -9 f\nls | wc\n");
  EXPECT_EQ(commands_of({.words = {"::::", lines}}), (Words{"gzip -9 f", "ls | wc"}));
  EXPECT_NE(why({}).find("there is no command"), std::string::npos);
  EXPECT_NE(why({.array = "0-9"}).find("there is no command"), std::string::npos);
  EXPECT_NE(why({.words = {""}}).find("the command is empty"), std::string::npos);
}

TEST_F(Sources, AreQuotedUnlessToldNotTo) {
  EXPECT_EQ(commands_of({.words = {"echo", "{}", ";", ":::", "$x"}}), Words{"echo '$x' ';'"});
  EXPECT_EQ(commands_of({.words = {"echo {};", ":::", "$x"}}), Words{"echo '$x';"});
  EXPECT_EQ(commands_of({.words = {"echo", "{}", ":::", "$x"}, .no_quote = true}),
            Words{"echo $x"});
}

TEST_F(Sources, AreSplitIntoColumns) {
  const std::string rows = file("rows", "id\tname\n1\ta b\n2\tc\n");
  EXPECT_EQ(commands_of({.words = {"x {name} {1}", "::::", rows}, .colsep = "\\t", .header = true}),
            (Words{"x 'a b' 1", "x c 2"}));
  EXPECT_EQ(commands_of({.words = {"x {2}", ":::", "a,b"}, .colsep = ","}), Words{"x b"});
  EXPECT_NE(why({.words = {"x", ":::", "a"}, .colsep = "[a"}).find("colsep"), std::string::npos);
}

TEST_F(Sources, HaveNamesIfTheFirstValueIsAHeader) {
  EXPECT_EQ(
      commands_of({.words = {"x {b} {a}", ":::", "a", "1", "2", ":::", "b", "3"}, .header = true}),
      (Words{"x 3 1", "x 3 2"}));
  EXPECT_NE(why({.words = {"x", ":::"}, .header = true}).find("header"), std::string::npos);
}

TEST_F(Sources, MayBeCsvWithQuotes) {
  const std::string csv =
      file("f.csv", "id,full name\r\n1,\"Ann, \"\"A\"\"\"\r\n2,\"two\nlines\"\r\n");
  const SourceOptions options{
      .words = {"x", "{full name}", "{id}", "::::", csv}, .header = true, .csv = true};
  EXPECT_EQ(commands_of(options), (Words{"x 'Ann, \"A\"' 1", "x 'two\nlines' 2"}));
  const std::string ragged = file("r.csv", "a,b\n1,2\n3\n");
  EXPECT_NE(why({.words = {"x", "::::", ragged}, .header = true, .csv = true})
                .find("r.csv:3 has 1 fields, but the header has 2"),
            std::string::npos);
  const std::string twice = file("t.csv", "a,a\n1,2\n");
  EXPECT_NE(why({.words = {"x", "::::", twice}, .header = true, .csv = true}).find("given twice"),
            std::string::npos);
  EXPECT_EQ(commands_of({.words = {"x", "{2}", ":::", "1,\"a,b\""}, .csv = true}), Words{"x a,b"});
  const std::string open = file("o.csv", "a\n\"b\n");
  EXPECT_EQ(why({.words = {"x", "::::", open}, .csv = true}),
            open + ": the quote in the row that begins on line 2 is never closed");
}

TEST_F(Sources, AreTakenSeveralAtATime) {
  EXPECT_EQ(commands_of({.words = {"x", ":::", "a", "b c", "d"}, .max_args = 2}),
            (Words{"x a 'b c'", "x d"}));
  EXPECT_EQ(commands_of({.words = {"x {2} {1}", ":::", "a", "b"}, .max_args = 2}), Words{"x b a"});
}

TEST_F(Sources, AnArrayIsNoSource) {
  EXPECT_EQ(commands_of({.words = {"./sim", "{#}"}, .array = "1-10:4"}),
            (Words{"./sim 1", "./sim 5", "./sim 9"}));
  EXPECT_EQ(commands_of({.words = {"./sim {#}"}, .array = "0,5,7"}),
            (Words{"./sim 0", "./sim 5", "./sim 7"}));
  EXPECT_NE(why({.words = {"x", ":::", "a"}, .array = "0-9"}).find("leave one"), std::string::npos);
}

TEST_F(Sources, LargeOnesGoIntoBlobs) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "value " + std::to_string(i) + '\n';
  const Gathered gathered =
      gather({.words = {"x", ":::", "a", "::::", file("large", text)}}, "jobs/j/in").value();
  EXPECT_EQ(gathered.tasks, 5000U);
  ASSERT_EQ(gathered.blobs.size(), 1U);
  EXPECT_EQ(gathered.blobs[0].name, "jobs/j/in2");
  EXPECT_EQ(values_of(gathered)[1][4999], "value 4999");
}

TEST_F(Sources, JsonLinesAreCheckedByLine) {
  const std::string good =
      file("good", "{\"argv\":[\"a\",\"b c\"]}\n\n{\"command\":\"d; e\",\"env\":{\"A\":\"1\"}}\n");
  EXPECT_EQ(commands_of({.json_lines = good}), (Words{"a 'b c'", "d; e"}));
  const std::string bad = file("bad", "{\"argv\":[\"a\"]}\n{\"argv\":3}\n");
  EXPECT_EQ(why({.json_lines = bad}).find(bad + ":2: \"argv\" must be"), 0U);
  const std::string none = file("none", "{\"size\":3}\n");
  EXPECT_NE(why({.json_lines = none}).find("neither"), std::string::npos);
  EXPECT_EQ(commands_of({.words = {"sim", "--size={size}"}, .json_lines = none}),
            Words{"sim --size=3"});
}

TEST_F(Sources, NothingToDoIsNoTask) {
  EXPECT_EQ(gather({.words = {"x", ":::"}}, "in").value().tasks, 0U);
  const Gathered one = gather({.words = {"x", "{}"}}, "in").value();
  EXPECT_EQ(one.tasks, 1U);
  EXPECT_TRUE(one.inputs.single());
}

}  // namespace
}  // namespace dunlin::sources
