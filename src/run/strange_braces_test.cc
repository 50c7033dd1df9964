#include "run/strange_braces.h"

#include <gtest/gtest.h>

namespace dunlin::run {
namespace {

std::string about(const std::string& line, int sources = 2, const std::string& colsep = "") {
  model::Command command;
  command.set_line(line);
  model::Inputs inputs;
  for (int i = 0; i < sources; ++i) inputs.add_sources();
  inputs.set_colsep(colsep);
  return strange_braces(command, inputs);
}

TEST(StrangeBraces, ThoseThatGnuParallelWouldFillInAreNamed) {
  EXPECT_EQ(about("echo {3}"),
            "{3} in the command is not a placeholder and stays as it is: the job has 2 sources");
  EXPECT_NE(about("echo {1} {12/.}").find("{12/.}"), std::string::npos);
  EXPECT_NE(about("echo {-1}").find("as {1}"), std::string::npos);
  EXPECT_NE(about("echo {-2.}").find("{-2.}"), std::string::npos);
  EXPECT_NE(about("echo {= $_++ =}").find("{= $_++ =}"), std::string::npos);
  EXPECT_NE(about("echo {0}").find("{0}"), std::string::npos);
}

TEST(StrangeBraces, PlaceholdersAndBracesOfOthersAreNot) {
  for (const char* line :
       {"echo {} {1} {2.} {#} {%} {.}", "echo ${3} ${HOME}", "awk '{print $3}'", "f() { :; }",
        "echo {a,b} {x..y} {-a}", "echo {", "find -exec ls {} +", ""}) {
    EXPECT_EQ(about(line), "") << line;
  }
  EXPECT_EQ(about("echo {3}", 1, ","), "") << "a column that may be there";
}

TEST(StrangeBraces, WordsAreLookedAtToo) {
  model::Command command;
  for (const char* word : {"echo", "{}", "x{2}"}) command.add_argv(word);
  model::Inputs inputs;
  inputs.add_sources();
  EXPECT_NE(strange_braces(command, inputs).find("{2}"), std::string::npos);
  inputs.Clear();
  inputs.set_single(true);
  EXPECT_EQ(strange_braces(command, inputs), "");
}

}  // namespace
}  // namespace dunlin::run
