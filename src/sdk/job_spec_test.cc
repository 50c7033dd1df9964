#include "sdk/job_spec.h"

#include <gtest/gtest.h>

#include "model/keys.h"

namespace dunlin::sdk {
namespace {

model::Spec whole_spec(const JobOptions& options) {
  model::Spec spec = spec_of(options).value();
  EXPECT_TRUE(add_inputs(options, "j1", spec).value().empty());
  return spec;
}

std::string refusal(const JobOptions& options) {
  auto spec = spec_of(options);
  if (!spec.ok()) return spec.error().what;
  model::Spec made = std::move(spec).value();
  const auto added = add_inputs(options, "j1", made);
  return added.ok() ? "" : added.error().what;
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
  model::Spec spec = spec_of(options).value();
  const auto blobs = add_inputs(options, "j1", spec).value();
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
  EXPECT_NE(refusal({.line = "a", .priority = 11}).find("priority 11"), std::string::npos);
}

}  // namespace
}  // namespace dunlin::sdk
