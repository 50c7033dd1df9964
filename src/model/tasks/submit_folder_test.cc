#include "model/tasks/submit_folder.h"

#include <gtest/gtest.h>

#include "model/jobs/submit.h"

namespace dunlin {
namespace {

model::Command words(std::initializer_list<const char*> all) {
  model::Command command;
  for (const char* word : all) command.add_argv(word);
  return command;
}

model::Command line(const char* text) {
  model::Command command;
  command.set_line(text);
  return command;
}

TEST(SubmitFolder, IsReadAsItWasWritten) {
  const std::string cwd = cwd_of({.path = "/home/ann/a?.b", .marks = {"0123", "abcd"}});
  EXPECT_EQ(cwd, "?0123.abcd/home/ann/a?.b");
  const auto read = submit_folder(cwd);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->path, "/home/ann/a?.b");
  EXPECT_EQ(read->marks, (std::vector<std::string>{"0123", "abcd"}));
  EXPECT_EQ(path_of(cwd), "/home/ann/a?.b");
}

TEST(SubmitFolder, OneWithoutMarksIsNone) {
  EXPECT_EQ(cwd_of({.path = "/home", .marks = {}}), "");
  EXPECT_EQ(cwd_of({.path = "home", .marks = {"a"}}), "");
}

TEST(SubmitFolder, OtherFoldersAreNotOfTheSubmitter) {
  EXPECT_FALSE(submit_folder("").has_value());
  EXPECT_FALSE(submit_folder("/home").has_value());
  EXPECT_EQ(path_of("/home"), "/home");
  EXPECT_EQ(path_of(""), "");
}

TEST(SubmitFolder, HostileOnesAreReadToo) {
  for (const char* cwd : {"?", "??", "?.", "?..", "?.../", "?a", "?/", "?.a.", "?a..b/c"}) {
    const auto read = submit_folder(cwd);
    ASSERT_TRUE(read.has_value()) << cwd;
    EXPECT_TRUE(read->path.empty() || read->path[0] == '/') << cwd;
  }
  EXPECT_TRUE(submit_folder("?/etc")->marks.empty());
}

TEST(SubmitFolder, KnowsProgramsThatAreRelativeToIt) {
  EXPECT_EQ(relative_program(words({"./sim", "{}"})), "./sim");
  EXPECT_EQ(relative_program(words({"bin/sim"})), "bin/sim");
  EXPECT_EQ(relative_program(line("./sim {} >out")), "./sim");
  EXPECT_EQ(relative_program(line("  ../sim; echo")), "../sim");
  for (const auto& other : {words({"sim"}), words({"/bin/sim"}), words({"{}"}), words({"{1}/sim"}),
                            words({}), line("sim a/b"), line("cd /x && ./sim"), line("")}) {
    EXPECT_EQ(relative_program(other), "") << other.ShortDebugString();
  }
}

TEST(SubmitFolder, AProgramIsNotLookedForInAFreshFolder) {
  model::Spec spec;
  *spec.mutable_command() = words({"./sim"});
  const Result<void> refused = check_program(spec, "--cwd");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_NE(
      refused.error().what.find(
          "contain \"./sim\": give the program's absolute path, or name its folder with --cwd"),
      std::string::npos);
  spec.set_cwd("/home");
  EXPECT_TRUE(check_program(spec, "--cwd").ok());
  spec.set_cwd("?ab/home");
  EXPECT_TRUE(check_program(spec, "--cwd").ok());
  spec.clear_cwd();
  spec.mutable_inputs()->set_json(true);
  EXPECT_TRUE(check_program(spec, "--cwd").ok()) << "each task may have a folder of its own";
}

}  // namespace
}  // namespace dunlin
