#include "bench/report.h"

#include <gtest/gtest.h>

namespace dunlin::bench {
namespace {

Report two_rows() {
  Report report("speed");
  report.set("payload", uint64_t{0});
  report.add({{"what", "hub"}, {"tasks_per_s", Value(1234567.4, 0)}});
  report.add({{"what", "bare, \"loop\""}, {"p50_us", Value(12.345, 1)}, {"payload", 7U}});
  report.note("a note");
  return report;
}

TEST(Report, ShowsSettingsOnceAndAlignsNumbers) {
  const std::string text = two_rows().plain();
  EXPECT_NE(text.find("payload 0\n"), std::string::npos);
  EXPECT_NE(text.find("what          tasks_per_s  p50_us  payload\n"
                      "hub             1,234,567\n"
                      "bare, \"loop\"                 12.3        7\n"
                      "a note\n"),
            std::string::npos)
      << text;
}

TEST(Report, RepeatsSettingsInEveryObject) {
  const std::string lines = two_rows().json();
  const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  const auto second = nlohmann::json::parse(lines.substr(lines.find('\n')));
  EXPECT_EQ(first["bench"], "speed");
  EXPECT_EQ(first["tasks_per_s"], 1234567.0);
  EXPECT_EQ(first["payload"], 0);
  EXPECT_FALSE(first.contains("p50_us"));
  EXPECT_EQ(second["p50_us"], 12.3);
  EXPECT_EQ(second["payload"], 7);  // The row's own.
}

TEST(Report, QuotesWhatCsvWouldSplit) {
  const std::string text = two_rows().csv();
  EXPECT_TRUE(text.starts_with("bench,what,tasks_per_s,p50_us,payload,cores\nspeed,hub,1234567.0,"))
      << text;
  EXPECT_NE(text.find("\nspeed,\"bare, \"\"loop\"\"\",,12.3,7,"), std::string::npos) << text;
}

}  // namespace
}  // namespace dunlin::bench
