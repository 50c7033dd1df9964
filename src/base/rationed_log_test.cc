#include "base/rationed_log.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dunlin {
namespace {

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(RationedLog, AFloodIsAFewLinesAndACount) {
  RationedLog log("strangers");
  Instant now{Millis(5000)};
  testing::internal::CaptureStderr();
  for (int i = 0; i < 10'000; ++i) log.warning("a stranger", now);
  std::string seen = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_of(seen), 20U);
  EXPECT_EQ(log.left_out(), 9980U);

  const std::optional<Instant> next = log.tell(now);
  ASSERT_TRUE(next);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(log.tell(*next));
  seen = testing::internal::GetCapturedStderr();
  EXPECT_NE(seen.find("9980 more lines about strangers were left out"), std::string::npos) << seen;
  EXPECT_FALSE(log.tell(*next)) << "once";
}

TEST(RationedLog, ALineASecondIsNeverLeftOut) {
  RationedLog log("strangers");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 200; ++i) log.warning("a stranger", Instant(Millis(i * 1000)));
  EXPECT_EQ(lines_of(testing::internal::GetCapturedStderr()), 200U);
  EXPECT_EQ(log.left_out(), 0U);
}

}  // namespace
}  // namespace dunlin
