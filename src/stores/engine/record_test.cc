#include "stores/engine/record.h"

#include <gtest/gtest.h>

#include <vector>

#include "store/store.h"

namespace dunlin::engine {
namespace {

template <typename R, typename... More>
std::optional<Record> recoded(const R& record, const More&... more) {
  static std::string payload;  // The record has views of it.
  payload.clear();
  encode(record, more..., payload);
  return decode(payload);
}

constexpr uint64_t kTooLong = static_cast<uint64_t>(kHoldMax.count()) + 1;
const std::vector<uint64_t> kNumbers = {1, 5, 5, kCountMax};

}  // namespace

TEST(Record, WhatTheEngineWritesComesBack) {
  const std::string longest(kValueMax, 'v');
  EXPECT_TRUE(recoded(BatchRecord{.number = 1, .stamp = 0}));
  EXPECT_TRUE(recoded(PutRecord{"t", "k", 1, UINT64_MAX, longest}));
  EXPECT_TRUE(recoded(EraseRecord{"t", "k"}));
  EXPECT_TRUE(recoded(PushRecord{"q", "m", kCountMax, UINT32_MAX, 0, kTooLong - 1, longest}));
  EXPECT_TRUE(recoded(LeaseRecord{.queue = "q", .token = 1, .hold_ms = 1}, kNumbers));
  EXPECT_TRUE(recoded(RenewRecord{.queue = "q", .hold_ms = 0}, kNumbers));
  EXPECT_TRUE(recoded(FinishRecord{.queue = "q"}, kNumbers));
  EXPECT_TRUE(recoded(BlobRecord{"b", 0, 0}));
  EXPECT_TRUE(recoded(BlobEraseRecord{"b"}));
}

TEST(Record, AFieldOutOfBoundsMakesItNoRecordOfOurs) {
  const std::string name(kNameMax + 1, 'n');
  const std::string key(kKeyMax + 1, 'k');
  const std::string value(kValueMax + 1, 'v');
  EXPECT_FALSE(recoded(BatchRecord{.number = 0, .stamp = 1}));
  EXPECT_FALSE(recoded(BatchRecord{.number = UINT64_MAX, .stamp = 1}));
  EXPECT_FALSE(recoded(BatchRecord{.number = 1, .stamp = kCountMax + 1}));
  EXPECT_FALSE(recoded(PutRecord{"t", "k", 0, 1, "v"}));
  EXPECT_FALSE(recoded(PutRecord{"t", "k", UINT64_MAX, 1, "v"}));
  EXPECT_FALSE(recoded(PutRecord{"", "k", 1, 1, "v"}));
  EXPECT_FALSE(recoded(PutRecord{"t", key, 1, 1, "v"}));
  EXPECT_FALSE(recoded(PutRecord{"t", "k", 1, 1, value}));
  EXPECT_FALSE(recoded(EraseRecord{name, "k"}));
  EXPECT_FALSE(recoded(PushRecord{"q", "m", 0, 0, 0, 0, ""}));
  EXPECT_FALSE(recoded(PushRecord{"q", "m", 1, uint64_t{UINT32_MAX} + 1, 0, 0, ""}));
  EXPECT_FALSE(recoded(PushRecord{"q", "m", 1, 0, UINT64_MAX, 0, ""}));
  EXPECT_FALSE(recoded(PushRecord{"q", "m", 1, 0, 0, kTooLong, ""}));
  EXPECT_FALSE(recoded(PushRecord{"q", "m", 1, 0, 0, 0, value}));
  EXPECT_FALSE(recoded(LeaseRecord{.queue = "q", .token = 0, .hold_ms = 1}, kNumbers));
  EXPECT_FALSE(recoded(LeaseRecord{.queue = "q", .token = 1, .hold_ms = UINT64_MAX}, kNumbers));
  EXPECT_FALSE(recoded(RenewRecord{.queue = "q", .hold_ms = kTooLong}, kNumbers));
  EXPECT_FALSE(recoded(FinishRecord{.queue = name}, kNumbers));
  EXPECT_FALSE(recoded(BlobRecord{"b", UINT64_MAX, 1}));
  EXPECT_FALSE(recoded(BlobRecord{"b", 1, UINT64_MAX}));
  EXPECT_FALSE(recoded(BlobEraseRecord{key}));
}

TEST(Record, NumbersThatAreCutShortOrTooLargeMakeItNoRecordOfOurs) {
  std::string payload;
  encode(FinishRecord{.queue = "q"}, kNumbers, payload);
  EXPECT_TRUE(decode(payload));
  EXPECT_FALSE(decode(payload + '\x01'));  // Above kCountMax.
  EXPECT_FALSE(decode(payload + '\x80'));  // A number without an end.
  EXPECT_FALSE(decode(payload + std::string(10, '\xff') + '\x01'));
}

}  // namespace dunlin::engine
