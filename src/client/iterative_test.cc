#include "client/iterative.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

namespace dunlin {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class Deadlines : public testing::Test {
 protected:
  Deadlines() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  // 2027-01-15 08:00 UTC.
  const WallTime now_ = WallTime(seconds(1'800'000'000));

  WallTime at(std::string_view text) {
    const auto time = parse_deadline(text, now_);
    EXPECT_TRUE(time.ok()) << text;
    return time.ok() ? time.value() : WallTime();
  }
};

TEST_F(Deadlines, AreDurationsTimesOfDayOrDates) {
  EXPECT_EQ(at("25m"), now_ + minutes(25));
  EXPECT_EQ(at("17:00"), now_ + hours(9));
  EXPECT_EQ(at("07:59"), now_ + hours(24) - minutes(1)) << "tomorrow";
  EXPECT_EQ(at("08:00"), now_ + hours(24)) << "that is over";
  EXPECT_EQ(at("2027-01-15 09:30"), now_ + minutes(90));
  EXPECT_EQ(at("2027-01-16T08:00"), now_ + hours(24));
}

TEST_F(Deadlines, OthersAreRefused) {
  for (const char* text : {"", "soon", "24:00", "12:60", "5:00", "0s", "-5m", "2027-13-01 00:00",
                           "2027-01-32 00:00", "2027-01-15 07:00", "2027-01-15", "17:00:00"}) {
    EXPECT_FALSE(parse_deadline(text, now_).ok()) << text;
  }
}

TEST(Iterations, AreNumbers) {
  EXPECT_EQ(parse_iterations("1000000").value(), 1'000'000U);
  EXPECT_EQ(parse_iterations("1e6").value(), 1'000'000U);
  EXPECT_EQ(parse_iterations("2.5e3").value(), 2'500U);
  for (const char* text : {"", "-1", "1.5", "1e30", "six", "1e6x", "nan", "inf", "0x10"}) {
    EXPECT_FALSE(parse_iterations(text).ok()) << text;
  }
}

TEST(Iterations, BecomePartitions) {
  const WallTime now = WallTime(seconds(1'800'000'000));
  model::Spec spec;
  spec.mutable_inputs()->set_single(true);
  SubmitVerb verb{.iterations = "100"};
  EXPECT_TRUE(set_iterations(verb, now, spec).value()) << "by slots";
  set_partitions(16, spec);
  EXPECT_EQ(spec.tasks(), 16U);
  EXPECT_EQ(spec.retries(), 3U);
  verb.finish_by = "10m";
  EXPECT_FALSE(set_iterations(verb, now, spec).value());
  EXPECT_EQ(spec.tasks(), 100U);
  EXPECT_EQ(spec.iterations().partitions(), 1U);
  verb.partitions = 200;
  EXPECT_FALSE(set_iterations(verb, now, spec).value());
  EXPECT_EQ(spec.tasks(), 200U);
}

}  // namespace
}  // namespace dunlin
