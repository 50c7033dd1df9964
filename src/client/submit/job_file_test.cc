#include "client/submit/job_file.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fstream>

#include "model/jobs/inputs.h"
#include "testing/temp_folder.h"

namespace dunlin::client {
namespace {

constexpr WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));

std::string prefix(size_t job) { return "jobs/" + std::to_string(job) + "/in"; }

Result<std::vector<FileJob>> parse(std::string_view text, const std::string& file = "jobs.toml") {
  return parse_jobs(text, file, kNow, prefix);
}

std::string why(std::string_view text) {
  const auto parsed = parse(text);
  return parsed.ok() ? "accepted" : parsed.error().what;
}

TEST(JobFile, EveryKeyIsUnderstood) {
  const auto jobs = parse(R"(
[[job]]
name = "sim"
command = "./sim {#} > out"
array = "0-999"
env = { SEED = 7, MODE = "fast" }
cwd = "/data"
stdin = "in"
timeout = "5m"
retries = 3
losses = 100
backoff = "10s"
retry_on = [75, 1]
cleanup = "rm -f tmp"
requires = ["python3.11", "gpu=a100", "python3.11"]
cpus = 2
mem = "4G"
gpus = 1
priority = 9
delivery = "at-most-once"
output_max = "1M"

[[job]]
argv = ["gather", "{}"]
values = ["a b", 3]
after = ["sim", "j-123"]
)")
                        .value();
  ASSERT_EQ(jobs.size(), 2U);
  const model::Spec& sim = jobs[0].spec;
  EXPECT_EQ(jobs[0].line, 2U);
  EXPECT_EQ(sim.name(), "sim");
  EXPECT_EQ(sim.command().line(), "./sim {#} > out");
  EXPECT_EQ(sim.tasks(), 1000U);
  EXPECT_EQ(sim.env_size(), 2);
  EXPECT_EQ(sim.cwd(), "/data");
  EXPECT_EQ(sim.stdin(), "in");
  EXPECT_EQ(sim.timeout_ms(), 300'000U);
  EXPECT_EQ(sim.retries(), 3U);
  EXPECT_EQ(sim.losses(), 100U);
  EXPECT_EQ(sim.backoff_ms(), 10'000U);
  EXPECT_EQ(sim.retry_on_size(), 2);
  EXPECT_EQ(sim.cleanup(), "rm -f tmp");
  EXPECT_EQ(sim.requires_().tags_size(), 2);
  EXPECT_EQ(sim.requires_().tags(0), "gpu=a100");
  EXPECT_EQ(sim.requires_().cpus(), 2U);
  EXPECT_EQ(sim.requires_().mem_bytes(), uint64_t{4} << 30);
  EXPECT_EQ(sim.requires_().gpus(), 1U);
  EXPECT_EQ(sim.priority(), 9U);
  EXPECT_EQ(sim.delivery(), model::DELIVERY_AT_MOST_ONCE);
  EXPECT_EQ(sim.output_max(), 1U << 20);
  EXPECT_EQ(jobs[1].spec.priority(), 5U);
  EXPECT_EQ(jobs[1].after_jobs, std::vector<size_t>{0});
  EXPECT_EQ(jobs[1].after_ids, std::vector<std::string>{"j-123"});
  EXPECT_EQ(read_values(jobs[1].spec.inputs().sources(0).inline_()).value(),
            (std::vector<std::string>{"a b", "3"}));
}

TEST(JobFile, JobsMayShareIterations) {
  const auto jobs = parse(R"(
[[job]]
command = "./pi"
iterations = 1e6
partitions = 2
partitions_max = 20
span = "200ms"
finish_by = "25m"

[[job]]
command = "./pi"
iterations = 9007199254740991
retries = 0

[[job]]
command = "x"
array = "0-9"
finish_by = "2099-01-31 17:00"
)")
                        .value();
  const model::Spec& late = jobs[0].spec;
  EXPECT_EQ(late.iterations().total(), 1'000'000U);
  EXPECT_EQ(late.iterations().partitions(), 2U);
  EXPECT_EQ(late.iterations().span_ms(), 200U);
  EXPECT_EQ(late.tasks(), 20U);
  EXPECT_EQ(late.retries(), 3U);
  EXPECT_EQ(WallTime(Millis(late.finish_by_ms())), kNow + std::chrono::minutes(25));
  EXPECT_FALSE(jobs[0].by_slots);
  EXPECT_TRUE(jobs[1].by_slots);
  EXPECT_EQ(jobs[1].spec.iterations().total(), 9007199254740991U) << "exactly";
  EXPECT_EQ(jobs[1].spec.retries(), 0U);
  EXPECT_FALSE(jobs[2].spec.has_iterations());
  EXPECT_GT(jobs[2].spec.finish_by_ms(), 0);
}

TEST(JobFile, FilesThatItNamesStandBesideIt) {
  const TestFolder folder;
  const std::string file = folder.path() + "/jobs.toml";
  std::ofstream(folder.path() + "/in.csv") << "id,name\n1,\"a,b\"\n";
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "line " + std::to_string(i) + "\n";
  std::ofstream(folder.path() + "/in.txt") << lines;
  std::ofstream(folder.path() + "/in.json") << "{\"argv\":[\"x\"]}\n";
  std::ofstream(file) << "[[job]]\nargv = [\"x\", \"{name}\"]\ncsv = \"in.csv\"\n"
                      << "[[job]]\ncommand = \"x\"\nlines = \"in.txt\"\n"
                      << "[[job]]\njson = \"in.json\"\n";
  const auto jobs = read_jobs(file, kNow, prefix).value();
  EXPECT_EQ(jobs[0].spec.inputs().columns(1), "name");
  EXPECT_EQ(jobs[1].spec.tasks(), 1000U);
  ASSERT_EQ(jobs[1].blobs.size(), 1U);
  EXPECT_EQ(jobs[1].blobs[0].name, "jobs/1/in1");
  EXPECT_TRUE(jobs[2].spec.inputs().json());
}

TEST(JobFile, AnErrorNamesTheLineAndWhatIsExpected) {
  const auto of_key = [](const std::string& key) {
    return why("[[job]]\ncommand = \"x\"\n" + key);
  };
  EXPECT_EQ(of_key("timeout = 5"), "jobs.toml:3: timeout must be a duration like \"5m\", not 5");
  EXPECT_EQ(of_key("timeout = \"5y\"").find("jobs.toml:3: timeout: the duration \"5y\" has"), 0U);
  EXPECT_EQ(of_key("mem = \"4X\"").find("jobs.toml:3: mem: the size \"4X\" has"), 0U);
  EXPECT_EQ(of_key("priority = 10"), "jobs.toml:3: priority must be a number of 0 to 9, not 10");
  EXPECT_EQ(of_key("losses = 1").find("jobs.toml:3: losses must be a number of 2 to 1000000"), 0U);
  EXPECT_EQ(of_key("retries = -1").find("jobs.toml:3: retries must be a number"), 0U);
  EXPECT_EQ(of_key("retry_on = [256]").find("jobs.toml:3: retry_on must be a list"), 0U);
  EXPECT_EQ(of_key("name = \"a/b\"").find("jobs.toml:3: name must be a text of"), 0U);
  EXPECT_EQ(of_key("delivery = \"twice\"").find("jobs.toml:3: delivery must be \"once\""), 0U);
  EXPECT_EQ(of_key("cwd = \"here\"").find("jobs.toml:3: cwd must be the path"), 0U);
  EXPECT_EQ(of_key("env = { \"A=B\" = \"c\" }").find("jobs.toml:3: env: the variable \"A=B\" is"),
            0U);
  EXPECT_EQ(of_key("array = \"0-999999999999\"").find("jobs.toml:3: array: the array"), 0U);
  EXPECT_EQ(of_key("lines = \"-\"").find("jobs.toml:3: lines must be the name of a file"), 0U);
  EXPECT_NE(of_key("lines = \"none\"").find("cannot read none"), std::string::npos);
  EXPECT_EQ(of_key("timeout = ").find("jobs.toml:3: "), 0U);
  for (const char* bad : {"0", "-1", "0.5", "true", "\"1e6\"", "nan"}) {
    const std::string said = of_key(fmt::format("iterations = {}", bad));
    EXPECT_EQ(said.find("jobs.toml:3: iterations must be a number of 1 on"), 0U) << said;
  }
  EXPECT_EQ(of_key("iterations = 1.5").find("jobs.toml:3: iterations must be a number of 1 on"),
            0U);
  EXPECT_EQ(of_key("iterations = 1e30").find("jobs.toml:3: iterations must be a number of 1 on"),
            0U);
  EXPECT_EQ(of_key("iterations = 9\npartitions = 1001"),
            "jobs.toml:4: partitions must be a number of 1 to 1000, not 1001");
  EXPECT_EQ(of_key("iterations = 9\npartitions_max = 0"),
            "jobs.toml:4: partitions_max must be a number of 1 to 1000, not 0");
  EXPECT_EQ(of_key("iterations = 9\nspan = 1"),
            "jobs.toml:4: span must be a duration like \"1s\", not 1");
  EXPECT_EQ(of_key("finish_by = \"soon\"")
                .find("jobs.toml:3: finish_by: the deadline \"soon\" is not a time: write 25m"),
            0U);
  EXPECT_EQ(of_key("finish_by = 25").find("jobs.toml:3: finish_by must be a time like"), 0U);
  EXPECT_EQ(of_key("span = \"1s\""), "jobs.toml:1: span is for jobs with iterations");
  EXPECT_EQ(of_key("iterations = 9\narray = \"0-3\"").find("jobs.toml:1: the tasks of a job with"),
            0U);
}

TEST(JobFile, AnUnknownKeyIsRefusedWithTheNearestOne) {
  EXPECT_EQ(why("[[job]]\ncommand = \"x\"\ntimout = \"5m\"\n"),
            "jobs.toml:3: a job has no key \"timout\": did you mean timeout?");
  EXPECT_EQ(why("[[job]]\ncolour = 3\n").find("jobs.toml:2: a job has no key \"colour\": its keys"),
            0U);
  EXPECT_EQ(why("jobs = 3\n").find("jobs.toml:1: \"jobs\" is outside of a job"), 0U);
  EXPECT_EQ(why("[job]\nname = \"x\"\n").find("jobs.toml:1: job must be a list of tables"), 0U);
}

TEST(JobFile, AJobIsWholeAndUnambiguous) {
  EXPECT_EQ(why(""), "jobs.toml has no job: write [[job]] and its command");
  EXPECT_EQ(why("\n[[job]]\nname = \"a\"\n").find("jobs.toml:2: the job has no command"), 0U);
  EXPECT_NE(why("[[job]]\ncommand = \"x\"\nargv = [\"x\"]").find("both"), std::string::npos);
  EXPECT_NE(why("[[job]]\ncommand = \"x\"\narray = \"0-1\"\nvalues = [1]").find("keep one"),
            std::string::npos);
  EXPECT_NE(why("[[job]]\ncommand = \"x\"\nvalues = []").find("no task"), std::string::npos);
  EXPECT_NE(why("[[job]]\nargv = []").find("argv must be"), std::string::npos);
}

TEST(JobFile, JobsComeAfterJobsAbove) {
  const std::string a = "[[job]]\nname = \"a\"\ncommand = \"x\"\n";
  EXPECT_NE(why(a + a).find("jobs.toml:4: the name a is taken by the job on line 1"),
            std::string::npos);
  EXPECT_NE(why("[[job]]\ncommand = \"x\"\nafter = [\"a\"]\n" + a).find("stands further down"),
            std::string::npos);
  EXPECT_NE(why(a + "after = [\"a\"]\n").find("the job itself"), std::string::npos);
  EXPECT_NE(why(a + "after = [\"b/c\"]\n").find("after names \"b/c\""), std::string::npos);
}

}  // namespace
}  // namespace dunlin::client
