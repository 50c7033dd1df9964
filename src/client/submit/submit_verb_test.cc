#include "client/submit/submit_verb.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/env_posix.h"
#include "base/exit.h"
#include "client/job_command.h"
#include "testing/jobs.h"
#include "testing/temp_folder.h"

namespace dunlin::client {
namespace {

class SubmitVerbTest : public TestJobs {
 protected:
  std::string say(const SubmitVerb& verb, cli::Form form = cli::Form::quiet, int code = kExitDone) {
    ::testing::internal::CaptureStdout();
    const Result<int> ran = run(verb, VerbEnv{*store, clock, form, ""});
    std::string out = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(ran.ok() ? ran.value() : exit_code(ran.error().code), code)
        << (ran.ok() ? "" : ran.error().what);
    return ran.ok() ? out : ran.error().what;
  }
  model::Job only_job() {
    const auto rows = store->table().scan(kJobs, "", "", 10).value();
    EXPECT_EQ(rows.size(), 1);
    return parse_row<model::Job>(kJobs, rows.at(0)).value().record;
  }
  std::string file(const std::string& name, const std::string& text) {
    std::string path = folder.path() + "/" + name;
    auto opened = posix_disk().create(path).value();
    EXPECT_TRUE(opened->write(0, text).ok());
    return path;
  }

  TestFolder folder;
};

TEST_F(SubmitVerbTest, OptionsBecomeTheSpec) {
  const SubmitVerb verb{.words = {"./sim", "--seed", "{}"},
                        .said = {{"array", {"1-10"}},
                                 {"name", {"sim"}},
                                 {"requires", {"b", "a"}},
                                 {"mem", {"2G"}},
                                 {"env", {"A=1=2"}},
                                 {"timeout", {"5m"}},
                                 {"retries", {"3"}},
                                 {"backoff", {"2s"}},
                                 {"losses", {"unlimited"}},
                                 {"retry_on", {"1,100-102"}},
                                 {"delivery", {"at-most-once"}}}};
  const std::string id = say(verb);
  const model::Job job = only_job();
  EXPECT_EQ(id, job.id() + "\n");
  const model::Spec& spec = job.spec();
  EXPECT_EQ(spec.tasks(), 10);
  EXPECT_EQ(spec.command().argv_size(), 3);
  EXPECT_EQ(spec.inputs().first(), 1);
  EXPECT_EQ(spec.requires_().tags(0), "a");
  EXPECT_EQ(spec.requires_().mem_bytes(), uint64_t{2} << 30);
  EXPECT_EQ(spec.env(0).value(), "1=2");
  EXPECT_EQ(spec.timeout_ms(), 300'000);
  EXPECT_EQ(spec.backoff_ms(), 2000);
  EXPECT_EQ(spec.losses(), kLossesUnlimited);
  EXPECT_EQ(spec.retry_on_size(), 4);
  EXPECT_EQ(spec.delivery(), model::DELIVERY_AT_MOST_ONCE);
  EXPECT_EQ(spec.priority(), kPriorityDefault);
}

TEST_F(SubmitVerbTest, ManyLinesGoIntoABlob) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i) + "\n";
  say({.words = {"echo", "{}"}, .said = {{"lines", {file("lines", text)}}}});
  const model::Job job = only_job();
  EXPECT_EQ(job.spec().tasks(), 3000);
  const std::string name = job.spec().inputs().sources(0).blob();
  EXPECT_TRUE(name.starts_with("jobs/" + job.id() + "/input/")) << name;
  EXPECT_FALSE(store->blobs().get(name, 0, 10).value().empty());
}

TEST_F(SubmitVerbTest, AKeyFindsTheJobAgain) {
  const SubmitVerb verb{.words = {"echo", "{}"}, .said = {{"array", {"0-9"}}, {"key", {"k"}}}};
  const std::string id = say(verb);
  EXPECT_EQ(say(verb), id);
  SubmitVerb other = verb;
  other.said["array"] = {"0-8"};
  EXPECT_NE(say(other, cli::Form::quiet, kExitFailed).find("\"k\""), std::string::npos);
}

TEST_F(SubmitVerbTest, StandardInputIsKeptWithTheJob) {
  say({.words = {"cat"}, .said = {{"stdin", {file("small", "hello")}}}});
  EXPECT_EQ(only_job().spec().stdin(), "hello");
}

TEST_F(SubmitVerbTest, ALargeStandardInputIsABlob) {
  const std::string large(100'000, 'x');
  say({.words = {"cat"}, .said = {{"stdin", {file("large", large)}}}});
  const std::string name = only_job().spec().stdin_blob();
  EXPECT_EQ(store->blobs().get(name, 0, 200'000).value(), large);
}

TEST_F(SubmitVerbTest, NothingIsSubmittedOfWhatIsWrong) {
  say({.words = {""}}, cli::Form::quiet, kExitUsage);
  for (const auto& [field, word] :
       {std::pair("name", "a/b"), std::pair("delivery", "twice"), std::pair("timeout", "5"),
        std::pair("mem", "much"), std::pair("array", "5-1"), std::pair("retry_on", "x"),
        std::pair("lines", "/no/such")}) {
    say({.words = {"a"}, .said = {{field, {word}}}}, cli::Form::quiet, kExitUsage);
  }
  say({.words = {"a"}, .said = {{"after", {"nobody"}}}}, cli::Form::quiet, kExitNotFound);
  EXPECT_TRUE(store->table().scan(kJobs, "", "", 1).value().empty());
}

TEST_F(SubmitVerbTest, JobsOfAFileComeAfterEachOther) {
  const std::string path = file("jobs.toml",
                                "[[job]]\nname = \"one\"\ncommand = \"true\"\narray = \"0-4\"\n"
                                "[[job]]\nname = \"two\"\ncommand = \"true\"\nafter = [\"one\"]\n");
  const std::string out = say({.job_file = path}, cli::Form::json);
  const size_t line = out.find('\n');
  const auto one = nlohmann::json::parse(out.substr(0, line));
  const auto two = nlohmann::json::parse(out.substr(line + 1));
  EXPECT_EQ(one["tasks"], 5);
  EXPECT_LT(one["job"].get<std::string>(), two["job"].get<std::string>());
  const auto job = read_job(store->table(), two["job"]).value().record;
  EXPECT_EQ(job.spec().after(0), one["job"].get<std::string>());
  EXPECT_EQ(get_row(store->table(), kWaits, job.id()).value().version != 0, true);
}

TEST_F(SubmitVerbTest, JobsOfAFileMayNameTheirOwnersAndKeys) {
  const std::string path = file("jobs.toml",
                                "[[job]]\ncommand = \"true\"\nowner = \"bob\"\nkey = \"mine\"\n"
                                "[[job]]\ncommand = \"true\"\n");
  const SubmitVerb verb{.job_file = path, .said = {{"owner", {"ann"}}, {"key", {"night"}}}};
  const std::string ids = say(verb);
  EXPECT_EQ(say(verb), ids);
  const auto job_on = [&](size_t line) {
    return read_job(store->table(), ids.substr(line * 14, 13)).value().record;
  };
  EXPECT_EQ(job_on(0).spec().owner(), "bob");
  EXPECT_EQ(job_on(0).key(), "mine");
  EXPECT_EQ(job_on(1).spec().owner(), "ann");
  EXPECT_EQ(job_on(1).key(), "night.2");
}

TEST_F(SubmitVerbTest, AJobOfAFileMayHaveALargeStandardInput) {
  const std::string large(200'000, 'x');
  say({.job_file = file("jobs.toml", "[[job]]\ncommand = \"cat\"\nstdin = \"" + large + "\"\n")});
  const std::string name = only_job().spec().stdin_blob();
  EXPECT_EQ(store->blobs().get(name, 0, 300'000).value(), large);
}

TEST_F(SubmitVerbTest, FollowingTakesRepliesAndThenThePages) {
  model::Spec spec = spec_of(3);
  spec.set_reply("reply.j");
  submit_job("j", spec);
  model::Reply reply;
  reply.set_job("j");
  *reply.add_parts()->mutable_outcomes()->add_outcomes() = outcome(1, model::STATE_OK);
  ASSERT_TRUE(
      store->queue().push("reply.j", std::vector<Message>{{"1", reply.SerializeAsString()}}).ok());
  run_tasks("j", 3, 0, 3, {2});
  end_job("j", model::End::DONE, 2, 1);
  std::vector<uint64_t> tasks;
  const auto take = [&](const TaskResult& result) -> Result<void> {
    tasks.push_back(result.task);
    return {};
  };
  const model::Job job = read_job(store->table(), "j").value().record;
  const auto standing =
      follow_job(VerbEnv{*store, posix_clock(), cli::Form::quiet, ""}, job, true, take);
  EXPECT_EQ(standing.value().state, JobState::failed);
  EXPECT_EQ(tasks, (std::vector<uint64_t>{1, 0, 2}));
  EXPECT_EQ(store->queue().depth("reply.j").value(), Depth{});
}

TEST(SubmitWords, ValuesAreFoundBeforeTheyAreStored) {
  sources::Gathered gathered;
  SourceWriter writer;
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(writer.add("value " + std::to_string(i)).ok());
  gathered.add(std::move(writer).finish("blob", false));
  ASSERT_EQ(gathered.blobs.size(), 1);
  EXPECT_EQ(values_of(gathered, 0).value().at(0), "value 0");
  EXPECT_EQ(values_of(gathered, 1999).value().at(0), "value 1999");
  EXPECT_EQ(values_of(gathered, 256).value().at(0), "value 256");
}

TEST(SubmitWords, WhatFollowsTheDashesIsTakenAsItIs) {
  std::vector<std::string> words = {"dunlin", "submit", "--wait", "--", "a", "[x,y]", "--", "-v"};
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  EXPECT_EQ(cut_command(argc, argv.data()), (std::vector<std::string>{"a", "[x,y]", "--", "-v"}));
  EXPECT_EQ(argc, 3);
  words[1] = "store";
  argv[1] = words[1].data();
  argc = static_cast<int>(argv.size());
  EXPECT_TRUE(cut_command(argc, argv.data()).empty());
  EXPECT_EQ(argc, 8);
}

}  // namespace
}  // namespace dunlin::client
