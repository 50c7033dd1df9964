#include "run/run_words.h"

#include <gtest/gtest.h>

#include "run/run_command.h"

namespace dunlin::run {
namespace {

using Words = std::vector<std::string>;

struct Cut {
  Words words;
  std::optional<Words> command;
};

Cut cut(Words words) {
  CLI::App app;
  RunVerb verb;
  Leaving leaving;
  int exit_code = 0;
  add_run_command(app, verb, leaving, exit_code);
  Cut found{.words = std::move(words), .command = {}};
  found.command = cut_run_words(*app.get_subcommand("run"), found.words);
  return found;
}

TEST(RunWords, ACommandMayFollowTwoDashes) {
  for (const Words& options : {Words{},
                               {"-k"},
                               {"-j", "2"},
                               {"-j2", "-kj4"},
                               {"-kj", "4"},
                               {"--retries", "--", "-q"},
                               {"--joblog=x", "--header"}}) {
    Words all = options;
    all.insert(all.end(), {"--", "echo", "--", ":::", "1"});
    const Cut found = cut(all);
    EXPECT_EQ(found.words, options);
    EXPECT_EQ(found.command, (Words{"echo", "--", ":::", "1"}));
  }
}

TEST(RunWords, TwoDashesBehindTheCommandAreItsOwn) {
  for (const Words& words : {Words{"echo", "--", "x"},
                             {"-j", "2", "echo", "--"},
                             {"-P", "--", "x"},
                             {"--unknown", "--"},
                             {"-", "--"},
                             {"-j"},
                             {}}) {
    const Cut found = cut(words);
    EXPECT_EQ(found.words, words);
    EXPECT_FALSE(found.command.has_value());
  }
}

TEST(RunWords, TheColonOfAHeaderIsNoCommand) {
  EXPECT_EQ(cut({"--header", ":", "--csv", "echo", ":"}).words,
            (Words{"--header", "--csv", "echo", ":"}));
  EXPECT_EQ(cut({"--header", "--csv", ":"}).words, (Words{"--header", "--csv", ":"}));
  EXPECT_EQ(cut({"--joblog", "--header", ":"}).words, (Words{"--joblog", "--header", ":"}));
}

TEST(RunWords, NumbersAreNumbers) {
  for (const char* good : {"0", "1", "16"}) EXPECT_EQ(why_no_jobs(good), "");
  for (const char* bad : {"+1", "-1", "50%", "", "4x", "1.5"})
    EXPECT_NE(why_no_jobs(bad), "") << bad;
  for (const char* bad : {"+1", "0", "00", ""}) EXPECT_NE(why_no_max_args(bad), "") << bad;
  EXPECT_EQ(why_no_max_args("10"), "");
}

}  // namespace
}  // namespace dunlin::run
