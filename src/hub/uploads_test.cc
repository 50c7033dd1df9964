#include "hub/uploads.h"

#include <gtest/gtest.h>

namespace dunlin::hub {
namespace {

constexpr Instant kStart = Instant(Millis(1'000'000));

TEST(Uploads, OneThatGoesOnIsNeverGivenUp) {
  Uploads uploads;
  Instant now = kStart;
  for (int part = 0; part < 100; ++part) {
    uploads.went_on(7, 1, now);
    now += kUploadIdle - Millis(1);
    EXPECT_TRUE(uploads.take_overdue(now).empty());
    EXPECT_EQ(uploads.take_left(), std::nullopt);
  }
  EXPECT_EQ(uploads.next_overdue(), now + Millis(1));
  EXPECT_EQ(uploads.take_overdue(now + Millis(1)), std::vector<uint64_t>{7});
  EXPECT_EQ(uploads.size(), 0U);
  EXPECT_EQ(uploads.size(1), 0U);
}

TEST(Uploads, OneThatWasLeftGoesFirstAndSoon) {
  Uploads uploads;
  uploads.went_on(1, 10, kStart);
  uploads.went_on(2, 20, kStart);
  uploads.went_on(3, 10, kStart);
  uploads.left(10, kStart + Millis(5));
  EXPECT_EQ(uploads.size(), 3U);
  EXPECT_EQ(uploads.size(10), 0U);
  EXPECT_EQ(uploads.take_left(), 1U);
  EXPECT_TRUE(uploads.take_overdue(kStart + Uploads::kUploadLeft).empty());
  EXPECT_EQ(uploads.take_overdue(kStart + Millis(5) + Uploads::kUploadLeft),
            std::vector<uint64_t>{3});
  EXPECT_EQ(uploads.take_left(), std::nullopt);
  EXPECT_TRUE(uploads.has(2));
}

TEST(Uploads, WhoGoesOnWithALeftOneKeepsIt) {
  Uploads uploads;
  uploads.went_on(1, 10, kStart);
  uploads.left(10, kStart);
  uploads.went_on(1, 11, kStart + Millis(1));
  EXPECT_EQ(uploads.size(11), 1U);
  uploads.left(10, kStart + Millis(2));  // The old connection is noticed late.
  EXPECT_EQ(uploads.take_left(), std::nullopt);
  EXPECT_TRUE(uploads.take_overdue(kStart + Uploads::kUploadLeft + Millis(2)).empty());
  uploads.ended(1);
  EXPECT_EQ(uploads.size(), 0U);
  EXPECT_EQ(uploads.next_overdue(), std::nullopt);
}

}  // namespace
}  // namespace dunlin::hub
