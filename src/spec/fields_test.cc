#include "spec/fields.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/submit/field_options.h"
#include "client/submit/job_file.h"
#include "doors/rest/bodies/job_body.h"
#include "sdk/job_spec.h"
#include "spec/read_back.h"
#include "spec/schema.h"
#include "spec/words.h"

namespace dunlin::spec {
namespace {

using nlohmann::json;

constexpr WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));

// What each field may be, as it is read back; and what a job needs beside it.
struct Example {
  json value;
  json beside = json::object();
};

const std::map<std::string, Example, std::less<>>& examples() {
  static const json command = {{"command", "sim {}"}};
  static const json iterating = {{"command", "sim"}, {"iterations", 100}};
  static const std::map<std::string, Example, std::less<>> all = {
      {"command", {"gzip -9 {}"}},
      {"argv", {{"gzip", "-9", "{}"}}},
      {"function", {"area"}},
      {"builtin", {"sleep"}},
      {"no_quote", {true, command}},
      {"array", {"1-10:3", command}},
      {"values", {{"a b", "3"}, command}},
      {"json_lines", {json::parse(R"([{"argv":["a"]},{"x":1}])"), command}},
      {"colsep", {",", {{"command", "sim"}, {"values", {"a,b", "c,d"}}}}},
      {"csv", {true, {{"command", "sim"}, {"values", {"a,\"b,c\"", "\"d\"\"\",e"}}}}},
      {"header", {true, {{"command", "sim {x}"}, {"csv", true}, {"values", {"x,y", "1,2"}}}}},
      {"stdin", {"in", command}},
      {"env", {{{"A", "1=2"}, {"B", ""}}, command}},
      {"cwd", {"/data", command}},
      {"timeout", {"5m", command}},
      {"retries", {3, command}},
      {"backoff", {"1500ms", command}},
      {"retry_on", {{75, 1}, command}},
      {"losses", {"unlimited", command}},
      {"delivery", {"relaxed", command}},
      {"cleanup", {"rm tmp", command}},
      {"output_max", {1048576, command}},
      {"memory_max", {1048577, command}},
      {"file_max", {1048578, command}},
      {"name", {"sweep", command}},
      {"owner", {"ann", command}},
      {"key", {"night", command}},
      {"priority", {9, command}},
      {"after", {{"j1", "j2"}, command}},
      {"keep", {"30d", command}},
      {"requires", {{"gpu=a100", "x86"}, command}},
      {"cpus", {2, command}},
      {"mem", {4096, command}},
      {"gpus", {1, command}},
      {"iterations", {1000000, {{"command", "sim"}}}},
      {"partitions", {2, iterating}},
      {"partitions_max",
       {7, {{"command", "sim"}, {"iterations", 100}, {"finish_by", "2099-01-31 17:00"}}}},
      {"span", {"200ms", iterating}},
      {"finish_by", {"2099-01-31 17:00", command}},
  };
  return all;
}

model::Job job_of(const ReadyJob& ready) {
  model::Job job;
  *job.mutable_spec() = ready.spec;
  for (const std::string& other : ready.after) job.mutable_spec()->add_after(other);
  job.set_key(ready.key);
  return job;
}

// The job with this description, read back.
json described(const json& fields, Entrance entrance) {
  JobDraft draft = draft_from(entrance, kNow);
  for (const auto& [name, value] : fields.items()) {
    const auto set = set_field(name, value, draft);
    EXPECT_TRUE(set.ok()) << name << ": " << (set.ok() ? "" : set.error().what);
  }
  if (fields.contains("function") || fields.contains("builtin")) draft.spec.set_tasks(1);
  const auto ready = finish_job(std::move(draft), "jobs/j/input/");
  EXPECT_TRUE(ready.ok()) << fields << (ready.ok() ? "" : ready.error().what);
  return ready.ok() ? json(spec_json(job_of(ready.value()))) : json();
}

json whole(const Example& example, std::string_view field) {
  json fields = example.beside;
  fields[std::string(field)] = example.value;
  return fields;
}

std::string why(std::string_view field, const json& value, Entrance entrance) {
  JobDraft draft = draft_from(entrance, kNow);
  const auto set = set_field(field, value, draft);
  return set.ok() ? "accepted" : set.error().what;
}

TEST(JobFields, EachCanBeSetAndReadBackAndSetAgain) {
  for (const JobField& field : job_fields()) {
    if (field.name == "lines") continue;  // They are values in what is stored.
    const auto example = examples().find(field.name);
    ASSERT_NE(example, examples().end()) << "no example of " << field.name;
    const Entrance entrance = field.entrances == kInSdk ? Entrance::sdk : Entrance::rest;
    json once = described(whole(example->second, field.name), entrance);
    EXPECT_EQ(once[std::string(field.name)], example->second.value) << field.name;
    EXPECT_EQ(described(once, entrance), once) << field.name;
  }
}

TEST(JobFields, HaveAHelpAndWordsForErrorsAndASchema) {
  for (const JobField& field : job_fields()) {
    EXPECT_FALSE(field.help.empty()) << field.name;
    EXPECT_FALSE(field.help.ends_with('.')) << field.name;
    EXPECT_FALSE(field.expected.empty()) << field.name;
    EXPECT_NE(field.access.set, nullptr) << field.name;
    EXPECT_NE(field.access.get, nullptr) << field.name;
    EXPECT_TRUE(!field.is_at(Entrance::rest) || json::accept(field.schema)) << field.name;
    EXPECT_EQ(field.is_at(Entrance::rest), !field.schema.empty()) << field.name;
    EXPECT_EQ(find_field(field.name, Entrance::run) != nullptr, field.is_at(Entrance::run));
  }
}

// What is not everywhere, and why. A field that is missing at an entrance belongs into this list,
// or the entrance lacks it.
TEST(JobFields, AreAtEveryEntranceButForThese) {
  std::map<std::string, int, std::less<>> missing;
  for (const JobField& field : job_fields()) {
    if (field.entrances != kEverywhere) missing[std::string(field.name)] = field.entrances;
  }
  const std::map<std::string, int, std::less<>> known = {
      // On a command line they are the words of the command.
      {"command", kIfWritten},
      {"argv", kIfWritten},
      {"values", kIfWritten},
      // The program that has the function submits the job.
      {"function", kInSdk},
      {"builtin", kInSdk},
      // A file of the submitter: others have its lines as values; `dunlin run` has -a and ::::.
      {"lines", kWithFiles - static_cast<int>(Entrance::run)},
      // A run has one job, one worker, the user's environment and folder, and shows all output.
      {"stdin", kAtSubmission},
      {"env", kAtSubmission},
      {"cwd", kAtSubmission},
      {"losses", kAtSubmission},
      {"delivery", kAtSubmission},
      {"output_max", kAtSubmission},
      {"name", kAtSubmission},
      {"owner", kAtSubmission},
      {"key", kAtSubmission},
      {"priority", kAtSubmission},
      {"after", kAtSubmission},
      {"keep", kAtSubmission},
      {"requires", kAtSubmission},
      {"cpus", kAtSubmission},
      {"mem", kAtSubmission},
      {"gpus", kAtSubmission},
      {"iterations", kAtSubmission},
      {"partitions", kAtSubmission},
      {"partitions_max", kAtSubmission},
      {"span", kAtSubmission},
      {"finish_by", kAtSubmission},
  };
  EXPECT_EQ(missing, known);
}

TEST(JobFields, AreOptionsOfTheCommandLineWithTheirHelp) {
  for (const Entrance entrance : {Entrance::command_line, Entrance::run}) {
    CLI::App app;
    Words said;
    client::add_field_options(app, entrance, said);
    for (const JobField& field : job_fields()) {
      const auto* const option = app.get_option_no_throw(as_written(field.name, entrance));
      EXPECT_EQ(option != nullptr, field.is_at(entrance)) << field.name;
      if (option == nullptr) continue;
      EXPECT_EQ(option->get_description().find(field.help), 0U) << field.name;
    }
  }
}

// As a person would type it.
std::vector<std::string> words_of(const JobField& field, const json& value) {
  if (field.shape == Shape::flag) return {"true"};
  if (field.name == "retry_on") return {"75,1"};
  if (!value.is_structured()) return {value.is_string() ? value.get<std::string>() : value.dump()};
  std::vector<std::string> words;
  for (const auto& [name, one] : value.items()) {
    const bool pair = field.shape == Shape::variables;
    words.push_back(pair ? name + "=" + one.get<std::string>() : one.get<std::string>());
  }
  return words;
}

TEST(JobFields, MeanTheSameOnTheCommandLine) {
  for (const JobField& field : job_fields()) {
    const auto example = examples().find(field.name);
    const bool typed = field.is_at(Entrance::command_line) && field.shape != Shape::contents;
    if (!typed || example == examples().end() || field.name == "json_lines") continue;
    JobDraft draft = draft_from(Entrance::command_line, kNow);
    draft.options.words = {"sim {}"};
    Words said;
    const json all = whole(example->second, field.name);
    for (const auto& [name, value] : all.items()) {
      if (name == "values") {
        draft.options.words = {"sim", ":::"};
        for (const json& one : value) draft.options.words.push_back(one);
      }
      const JobField* const one = find_field(name, Entrance::command_line);
      if (one != nullptr) said[name] = words_of(*one, value);
    }
    const auto set = set_words(said, draft);
    ASSERT_TRUE(set.ok()) << field.name << ": " << set.error().what;
    const auto ready = finish_job(std::move(draft), "jobs/j/input/");
    ASSERT_TRUE(ready.ok()) << field.name << ": " << ready.error().what;
    json back = spec_json(job_of(ready.value()));
    EXPECT_EQ(back[std::string(field.name)], example->second.value) << field.name;
  }
}

TEST(JobFields, AreKeysOfAJobFile) {
  for (const JobField& field : job_fields()) {
    const auto example = examples().find(field.name);
    if (!field.is_at(Entrance::job_file) || example == examples().end()) continue;
    std::string text = "[[job]]\n";
    const json all = whole(example->second, field.name);
    for (const auto& [name, value] : all.items()) {
      std::string shown = value.dump();
      if (value.is_object()) shown = R"({ A = "1=2", B = "" })";
      if (name == "json_lines") shown = R"([{ argv = ["a"] }, { x = 1 }])";
      text += name + " = " + shown + "\n";
    }
    const auto jobs =
        client::parse_jobs(text, "jobs.toml", kNow, [](size_t) { return "jobs/j/input/"; });
    ASSERT_TRUE(jobs.ok()) << text << jobs.error().what;
    const client::FileJob& job = jobs.value().front();
    json back = spec_json(job_of({.spec = job.spec, .key = job.key, .after = job.after_ids}));
    EXPECT_EQ(back[std::string(field.name)], example->second.value) << text;
  }
}

TEST(JobFields, AreNamesOfTheRestServiceAndOfItsSchema) {
  const json schema = json::parse(job_schema());
  for (const JobField& field : job_fields()) {
    EXPECT_EQ(schema["properties"].contains(std::string(field.name)), field.is_at(Entrance::rest))
        << field.name;
    const auto example = examples().find(field.name);
    if (!field.is_at(Entrance::rest) || example == examples().end()) continue;
    const json body = whole(example->second, field.name);
    const auto made = rest::read_submission(body, "j", kNow);
    ASSERT_TRUE(made.ok()) << body << made.error().what;
    model::Job job;
    *job.mutable_spec() = made.value().spec;
    job.set_key(made.value().options.key);
    EXPECT_EQ(json(spec_json(job))[std::string(field.name)], example->second.value) << body;
  }
}

TEST(JobFields, AreMembersOfTheSdksOptions) {
  std::set<std::string_view> known = {"values", "json_lines", "array", "env", "stdin"};
  for (const auto& [name, value] : sdk::fields_of({})) {
    EXPECT_NE(find_field(name, Entrance::sdk), nullptr) << name;
    known.insert(name);
  }
  for (const JobField& field : job_fields()) {
    EXPECT_EQ(known.contains(field.name), field.is_at(Entrance::sdk)) << field.name;
  }
}

TEST(JobFields, AreRefusedWithTheSameWordsEverywhereByTheNameThatWasWritten) {
  const std::string expected = " must be a number of 0 to 1000";
  EXPECT_EQ(why("retries", 5000, Entrance::rest), "retries" + expected + ", not 5000");
  EXPECT_EQ(why("retries", -1, Entrance::job_file), "retries" + expected + ", not -1");
  EXPECT_EQ(why("retries", "x", Entrance::sdk), "retries" + expected + ", not \"x\"");
  EXPECT_EQ(why("retries", 5000, Entrance::command_line), "--retries" + expected + ", not 5000");
  EXPECT_EQ(why("retries", 1.0, Entrance::run), "--retries" + expected + ", not 1.0");
  EXPECT_EQ(why("retry_on", "x", Entrance::command_line).find("--retry-on: the exit codes"), 0U);
  EXPECT_EQ(why("memory_max", "4X", Entrance::rest).find("memory_max: the size \"4X\""), 0U);
  EXPECT_EQ(why("priority", 3, Entrance::run).find("a job has no key \"priority\""), 0U);
  for (const std::string_view word : {"x", "-1", "0x10", "1.5"}) {
    JobDraft draft = draft_from(Entrance::command_line, kNow);
    const auto set = set_words({{"retries", {std::string(word)}}}, draft);
    ASSERT_FALSE(set.ok()) << word;
    EXPECT_EQ(set.error().what.find("--retries" + expected), 0U) << set.error().what;
  }
}

std::string refusal(const json& fields, Entrance entrance) {
  JobDraft draft = draft_from(entrance, kNow);
  for (const auto& [name, value] : fields.items()) {
    EXPECT_TRUE(set_field(name, value, draft).ok()) << name;
  }
  const auto ready = finish_job(std::move(draft), "jobs/j/input/");
  return ready.ok() ? "accepted" : ready.error().what;
}

TEST(JobFields, NameWhatIsWrongAmongMany) {
  EXPECT_NE(why("requires", {"gpu", "a b"}, Entrance::rest).find("the tag \"a b\""),
            std::string::npos);
  EXPECT_NE(why("requires", std::vector<std::string>(1001, "t"), Entrance::job_file)
                .find("1001 are too many: at most 1000"),
            std::string::npos);
  EXPECT_NE(why("values", {std::string((128 << 10) + 1, 'x')}, Entrance::rest)
                .find("a word has 131073 bytes, and at most 131072 are possible"),
            std::string::npos);
  EXPECT_EQ(why("keep", 3, Entrance::job_file).find("keep must be a duration"), 0U);
  EXPECT_EQ(why("json_lines", "f", Entrance::rest), "json_lines: it must be a list of objects");
  EXPECT_NE(why("array", {{"last", 1}, {"first", 3}}, Entrance::rest).find("ends before it begins"),
            std::string::npos);
  json variables = json::object();
  for (int i = 0; i <= 1000; ++i) variables[fmt::format("V{}", i)] = "1";
  EXPECT_EQ(refusal({{"command", "true"}, {"env", variables}}, Entrance::rest),
            "env: 1001 variables are too many: at most 1000");
}

// On the command line an empty word is as if the option was not given, as "$R" may be empty.
TEST(JobFields, WithoutAWordAreNotGiven) {
  for (const JobField& field : job_fields()) {
    const bool once = field.shape != Shape::list && field.shape != Shape::variables;
    if (!field.is_at(Entrance::command_line) || !once || field.name == "array") continue;
    JobDraft draft = draft_from(Entrance::command_line, kNow);
    EXPECT_TRUE(set_words({{std::string(field.name), {""}}}, draft).ok()) << field.name;
    EXPECT_FALSE(draft.has(field.name)) << field.name;
  }
}

Words words_after(const std::vector<std::string>& line) {
  CLI::App app;
  Words said;
  client::add_field_options(app, Entrance::command_line, said);
  std::vector<std::string> reversed(line.rbegin(), line.rend());
  app.parse(reversed);
  return said;
}

TEST(JobFields, ThatAreFlagsMayBeSwitchedOff) {
  for (const std::string flag : {"--csv", "--header", "--no-quote"}) {
    for (const std::string off : {"=false", "=0", "=off", "=no"}) {
      JobDraft draft = draft_from(Entrance::command_line, kNow);
      EXPECT_TRUE(set_words(words_after({flag + off}), draft).ok());
      EXPECT_TRUE(draft.said.empty()) << flag << off;
    }
    JobDraft draft = draft_from(Entrance::command_line, kNow);
    EXPECT_TRUE(set_words(words_after({flag}), draft).ok());
    EXPECT_TRUE(draft.options.csv || draft.options.header || draft.options.no_quote) << flag;
    for (const std::string odd : {"=l.txt", "=:", "=x", "=maybe"}) {
      EXPECT_THROW(words_after({flag + odd}), CLI::ParseError) << flag << odd;
    }
  }
}

TEST(JobFields, ThatCannotBeShownAreNamedAndNotSubmittedAgain) {
  const std::string bytes = "\xff\xfe";
  const std::vector<std::string> long_values(3000, "a value");
  const std::map<std::string, json> cases = {
      {"stdin", {{"command", "cat"}, {"stdin", std::string(3000, 'x')}}},
      {"values", {{"command", "echo {}"}, {"values", long_values}}},
      {"env", {{"command", "true"}, {"env", {{"A", bytes}}}}},
      {"command", {{"command", "echo " + bytes}}},
  };
  for (const auto& [field, fields] : cases) {
    const json shown = described(fields, Entrance::rest);
    EXPECT_EQ(shown["not_shown"], json::array({field})) << shown;
    EXPECT_FALSE(shown.contains(field)) << shown;
    EXPECT_EQ(why("not_shown", shown["not_shown"], Entrance::rest).find("not_shown names fields"),
              0U);
  }
  // A header that a regular expression has taken apart cannot be put together again.
  const json split = {
      {"command", "echo {k}"}, {"colsep", "\\t"}, {"header", true}, {"values", {"k\tv", "a\t1"}}};
  EXPECT_EQ(described(split, Entrance::rest)["not_shown"], json::array({"values"}));
  EXPECT_FALSE(described({{"command", "true"}}, Entrance::rest).contains("not_shown"));
}

TEST(JobFields, ADeadlineIsReadBackToTheSecondAndNotEarlier) {
  JobDraft draft = draft_from(Entrance::rest, kNow);
  ASSERT_TRUE(set_field("finish_by", "90001ms", draft).ok());
  model::Job job;
  *job.mutable_spec() = draft.spec;
  JobDraft again = draft_from(Entrance::rest, kNow);
  ASSERT_TRUE(set_field("finish_by", spec_json(job)["finish_by"], again).ok());
  EXPECT_EQ(again.spec.finish_by_ms(), draft.spec.finish_by_ms() + 999);
}

TEST(JobFields, AreAcceptedUnderTheirOldNamesWhereTheyHadThem) {
  EXPECT_EQ(described({{"line", "true"}}, Entrance::rest)["command"], "true");
  EXPECT_EQ(described({{"line", "true"}, {"tags", {"gpu"}}}, Entrance::rest)["requires"],
            json::array({"gpu"}));
  EXPECT_EQ(why("line", "true", Entrance::job_file).find("a job has no key \"line\""), 0U);
  EXPECT_EQ(why("tags", 1, Entrance::rest).find("tags must be a list of tags"), 0U);
  JobDraft draft = draft_from(Entrance::rest, kNow);
  ASSERT_TRUE(set_field("command", "a", draft).ok());
  const auto again = set_field("line", "b", draft);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().what, "command and line are the same field: give one of them");
}

TEST(JobFields, ThatDoNotGoTogetherAreNamedAsTheyWereWritten) {
  EXPECT_EQ(refusal({{"line", "a"}, {"argv", {"b"}}}, Entrance::rest),
            "the job has more than one kind of command, both argv and line: give one");
  EXPECT_EQ(refusal({{"command", "a"}, {"json", "o.json"}, {"csv", "f.csv"}}, Entrance::job_file),
            "the job has both csv and json: keep one of them and leave one out");
  EXPECT_EQ(refusal({{"array", "0-9"}, {"lines", "f"}}, Entrance::command_line),
            "the job has both --array and --lines: keep one of them and leave one out");
  EXPECT_EQ(refusal({{"partitions_max", 3}}, Entrance::command_line),
            "--partitions-max is for jobs with iterations");
  EXPECT_EQ(refusal({{"command", "a"}, {"values", {"x"}}, {"csv", true}, {"colsep", "ab"}},
                    Entrance::rest),
            "colsep: rows of CSV have one character between their fields, and not \"ab\"");
}

TEST(JobFields, StandInTheGuideAsInTheTable) {
  std::ifstream guide(DUNLIN_DOCS "/JOBS.md");
  std::stringstream text;
  text << guide.rdbuf();
  EXPECT_NE(text.str().find(fields_guide()), std::string::npos)
      << "docs/JOBS.md must have this table:\n\n"
      << fields_guide();
  for (const OldName& one : old_names()) {
    const std::string row = "| `" + std::string(one.old);
    EXPECT_NE(text.str().find(row), std::string::npos) << one.old << " is an old name";
  }
}

}  // namespace
}  // namespace dunlin::spec
