#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"

namespace dunlin {

TEST(Bytes, WhatWasAppendedIsReadBack) {
  std::string bytes;
  append_fixed<uint32_t>(bytes, 0x01020304);
  for (const uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, UINT64_MAX}) {
    append_varint(bytes, value);
  }
  append_sized(bytes, "hello");
  bytes += "rest";

  ByteReader reader(bytes);
  EXPECT_EQ(reader.fixed<uint32_t>(), 0x01020304U);
  EXPECT_EQ(reader.varint(), 0U);
  EXPECT_EQ(reader.varint(), 127U);
  EXPECT_EQ(reader.varint(), 128U);
  EXPECT_EQ(reader.varint(), UINT64_MAX);
  EXPECT_EQ(reader.sized(), "hello");
  EXPECT_EQ(reader.rest(), "rest");
  EXPECT_TRUE(reader.ok());
}

TEST(Bytes, AReaderThatRanOutStaysFailed) {
  ByteReader short_string(
      "\x05"
      "ab");
  EXPECT_EQ(short_string.sized(), "");
  EXPECT_FALSE(short_string.ok());
  EXPECT_EQ(short_string.rest(), "");

  ByteReader endless_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  endless_varint.varint();
  EXPECT_FALSE(endless_varint.ok());
}

TEST(Crc32c, MatchesThePublishedCheckValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c("6789", crc32c("12345")), crc32c("123456789"));
}

}  // namespace dunlin
