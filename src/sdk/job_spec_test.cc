#include "sdk/job_spec.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/keys.h"

namespace dunlin::sdk {
namespace {

constexpr WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));

model::Spec whole_spec(const JobOptions& options) {
  auto made = submission_of(options, "j1", kNow);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().what);
  if (!made.ok()) return {};
  EXPECT_TRUE(made.value().blobs.empty());
  return std::move(made).value().spec;
}

std::string refusal(const JobOptions& options) {
  const auto made = submission_of(options, "j1", kNow);
  return made.ok() ? "" : made.error().what;
}

TEST(JobSpec, OptionsBecomeTheSpec) {
  using std::chrono::seconds;
  const model::Spec spec = whole_spec({.argv = {"./sim", "{}"},
                                       .array = 10,
                                       .first = 5,
                                       .step = 2,
                                       .name = "sim",
                                       .env = {{"A", "1=2"}},
                                       .timeout = seconds(5),
                                       .retries = 3,
                                       .backoff = seconds(2),
                                       .losses = kUnlimitedLosses,
                                       .requires_tags = {"gpu"},
                                       .priority = 9,
                                       .delivery = Delivery::at_most_once,
                                       .after = {"j0"}});
  EXPECT_EQ(spec.tasks(), 10);
  EXPECT_EQ(spec.inputs().first(), 5);
  EXPECT_EQ(spec.inputs().step(), 2);
  EXPECT_EQ(spec.command().argv(1), "{}");
  EXPECT_EQ(spec.env(0).value(), "1=2");
  EXPECT_EQ(spec.timeout_ms(), 5000);
  EXPECT_EQ(spec.backoff_ms(), 2000);
  EXPECT_EQ(losses_max(spec), kLossesUnlimited);
  EXPECT_EQ(spec.requires_().tags(0), "gpu");
  EXPECT_EQ(spec.priority(), 9);
  EXPECT_EQ(spec.delivery(), model::DELIVERY_AT_MOST_ONCE);
  EXPECT_EQ(spec.after(0), "j0");
  EXPECT_FALSE(spec.owner().empty());
}

TEST(JobSpec, WhatOthersMaySayProgramsMaySayToo) {
  const model::Spec spec = whole_spec({.command = "./sim {x}",
                                       .no_quote = true,
                                       .values = {"x,y", "1,2", "3,4"},
                                       .csv = true,
                                       .header = true,
                                       .retry_on = {75, 1},
                                       .cleanup = "rm tmp",
                                       .output_max = 1000,
                                       .memory_max = 2000,
                                       .file_max = 3000});
  EXPECT_EQ(spec.tasks(), 2);
  EXPECT_EQ(spec.inputs().columns(1), "y");
  EXPECT_TRUE(spec.command().no_quote());
  EXPECT_EQ(spec.retry_on(1), 1);
  EXPECT_EQ(spec.cleanup(), "rm tmp");
  EXPECT_EQ(spec.output_max(), 1000);
  EXPECT_EQ(spec.memory_max(), 2000);
  EXPECT_EQ(spec.file_max(), 3000);
  const model::Spec late = whole_spec({.line = "./pi",
                                       .retries = kNoRetries,
                                       .iterations = 1000,
                                       .partitions_max = 7,
                                       .span = std::chrono::milliseconds(200),
                                       .finish_by = "25m"});
  EXPECT_EQ(late.command().line(), "./pi") << "by its old name";
  EXPECT_EQ(late.iterations().span_ms(), 200);
  EXPECT_EQ(late.tasks(), 7);
  EXPECT_EQ(late.retries(), 0);
  EXPECT_EQ(WallTime(Millis(late.finish_by_ms())), kNow + std::chrono::minutes(25));
  EXPECT_TRUE(submission_of({.command = "a", .iterations = 9}, "j1", kNow).value().by_slots);
  const model::Spec objects = whole_spec({.json_lines = {R"({"argv":["a"]})"}});
  EXPECT_TRUE(objects.inputs().json());
}

TEST(JobSpec, ValuesOfFunctionsMayBeAnyBytes) {
  const std::string bytes("a\0b\xff", 4);
  const model::Spec spec = whole_spec({.function = "area", .values = {bytes}});
  EXPECT_NE(spec.inputs().sources(0).inline_().find(bytes), std::string::npos);
}

TEST(JobSpec, AFunctionNeedsAWorkerThatHasIt) {
  const model::Spec spec = whole_spec({.function = "area"});
  EXPECT_EQ(spec.requires_().tags(0), "function:area");
  EXPECT_TRUE(spec.inputs().single());
  EXPECT_EQ(spec.tasks(), 1);
}

TEST(JobSpec, LargeInputsAreBlobs) {
  const JobOptions options{.line = "wc {}",
                           .values = std::vector<std::string>(1000, "value"),
                           .stdin_bytes = std::string(5000, 'x')};
  const Submission made = submission_of(options, "j1", kNow).value();
  const auto& [spec, blobs, by_slots] = made;
  ASSERT_EQ(blobs.size(), 2);
  EXPECT_EQ(blobs[0].name, "jobs/j1/input/values");
  EXPECT_EQ(blobs[1].name, spec.stdin_blob());
  EXPECT_EQ(spec.tasks(), 1000);
}

TEST(JobSpec, WhatCannotBeIsRefusedWithItsName) {
  EXPECT_NE(refusal({}).find("no command"), std::string::npos);
  EXPECT_NE(refusal({.argv = {"a"}, .line = "b"}).find("more than one"), std::string::npos);
  EXPECT_NE(refusal({.line = "a", .values = {"x"}, .array = 3}).find("both"), std::string::npos);
  EXPECT_NE(refusal({.function = "a b"}).find("function \"a b\""), std::string::npos);
  EXPECT_NE(refusal({.function = std::string(60, 'f')}).find("55"), std::string::npos);
  EXPECT_NE(refusal({.line = "a", .array = 1, .timeout = std::chrono::seconds(-1)}).find("timeout"),
            std::string::npos);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_NE(refusal({.line = "a", .array = 3, .first = kMost}).find("array: 3 numbers from"),
            std::string::npos);
  EXPECT_NE(refusal({.line = "a", .array = 3, .step = 0}).find("array: the step is 0"),
            std::string::npos);
  EXPECT_NE(refusal({.line = "a", .array = UINT64_MAX}).find("array:"), std::string::npos);
  EXPECT_NE(refusal({.line = "a", .priority = 11}).find("priority must be a number of 0 to 9"),
            std::string::npos);
}

}  // namespace
}  // namespace dunlin::sdk
