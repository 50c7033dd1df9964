#include "stores/aws/retry.h"

#include <gtest/gtest.h>

#include "stores/aws/dynamo_table.h"
#include "stores/aws/s3_blobs.h"

namespace dunlin::cloud {
namespace {

TEST(Retry, WhatIsAskedAgain) {
  EXPECT_EQ(judge(200, ""), Verdict::done);
  EXPECT_EQ(judge(204, ""), Verdict::done);
  EXPECT_EQ(judge(404, "NoSuchKey"), Verdict::refused);
  EXPECT_EQ(judge(400, "ValidationException"), Verdict::refused);
  EXPECT_EQ(judge(400, "ThrottlingException"), Verdict::throttled);
  EXPECT_EQ(judge(400, "ProvisionedThroughputExceededException"), Verdict::throttled);
  EXPECT_EQ(judge(503, "SlowDown"), Verdict::throttled);
  EXPECT_EQ(judge(503, ""), Verdict::throttled);
  EXPECT_EQ(judge(500, "InternalError"), Verdict::again);
  EXPECT_EQ(judge(400, "TransactionInProgressException"), Verdict::again);
  EXPECT_EQ(judge(409, "OperationAborted"), Verdict::again);
  EXPECT_EQ(judge(501, "NotImplemented"), Verdict::refused);
}

TEST(Retry, ACancelledTransactionHasReasons) {
  const auto cancelled = [](std::string_view reasons) {
    return judge(400, "TransactionCanceledException", reasons);
  };
  EXPECT_EQ(cancelled("None ConditionalCheckFailed"), Verdict::refused);
  EXPECT_EQ(cancelled("TransactionConflict ConditionalCheckFailed"), Verdict::refused);
  EXPECT_EQ(cancelled("None TransactionConflict"), Verdict::again);
  EXPECT_EQ(cancelled("ThrottlingError"), Verdict::throttled);
  EXPECT_EQ(cancelled("ProvisionedThroughputExceeded"), Verdict::throttled);
  EXPECT_EQ(cancelled("ItemCollectionSizeLimitExceeded"), Verdict::refused);
}

TEST(Retry, NamesOfErrorsAreBare) {
  EXPECT_EQ(bare_error("com.amazonaws.sqs#QueueDoesNotExist"), "QueueDoesNotExist");
  EXPECT_EQ(bare_error("SlowDown:http://internal.amazon.com/"), "SlowDown");
  EXPECT_EQ(bare_error("a#b:http://x/#frag"), "frag");
  EXPECT_EQ(bare_error(""), "");
}

TEST(Retry, PausesGrowAndAreBounded) {
  Random random(1);
  Millis most = Millis(0);
  for (int tries = 1; tries < 40; ++tries) {
    for (int i = 0; i < 50; ++i) {
      const Millis pause = backoff(tries, random);
      EXPECT_LE(pause, tries == 1 ? Millis(50) : Millis(5000));
      most = std::max(most, pause);
    }
  }
  EXPECT_GT(most, Millis(4000));
}

TEST(Pace, IsFreeUntilThrottledAndRecovers) {
  Pace pace;
  Instant now = Instant(Millis(1'000'000));
  for (int i = 0; i < 400; ++i) {
    EXPECT_EQ(pace.next(now), Millis(0));
    now += Millis(10);  // A hundred a second.
  }
  pace.throttled(now);
  EXPECT_NEAR(pace.rate(), 50, 10);
  pace.throttled(now);
  EXPECT_NEAR(pace.rate(), 25, 5);
  EXPECT_EQ(pace.next(now), Millis(0));
  EXPECT_NEAR(static_cast<double>(pace.next(now).count()), 40, 8);
  for (int i = 0; i < 100; ++i) pace.throttled(now);
  EXPECT_EQ(pace.rate(), 1);
  now += std::chrono::minutes(2);
  EXPECT_EQ(pace.next(now), Millis(0));
  EXPECT_EQ(pace.rate(), 0);
}

TEST(Versions, GrowWithTimeAndAboveWhatTheyReplace) {
  const WallTime now = WallTime(Millis(1'794'767'400'000));
  const uint64_t version = make_version(now, 0, 0);
  EXPECT_GT(make_version(now, 1, 0), version);
  EXPECT_GT(make_version(now + Millis(1), 0, 0), make_version(now, UINT64_MAX, 0));
  EXPECT_EQ(make_version(now, 0, version), version + 1);
  EXPECT_EQ(make_version(now, 0, version + 77), version + 78);
  EXPECT_LT(make_version(now + std::chrono::hours(24 * 365 * 100), UINT64_MAX, 0), kAnyVersion);
  EXPECT_GT(make_version(WallTime(Millis(0)), 0, 0), 0U);  // A clock that was never set.
}

TEST(Parts, AreAsSmallAsTheirNumberAllows) {
  EXPECT_EQ(part_size(0), kPartMin);
  EXPECT_EQ(part_size(kPartMin * kPartsMax), kPartMin);
  for (const uint64_t size : {kPartMin * kPartsMax + 1, kBlobMax - 1, kBlobMax}) {
    EXPECT_LE((size + part_size(size) - 1) / part_size(size), kPartsMax);
    EXPECT_LE(part_size(size), 106U << 20U);
  }
}

}  // namespace
}  // namespace dunlin::cloud
