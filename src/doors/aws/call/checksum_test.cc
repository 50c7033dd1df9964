#include "doors/aws/call/checksum.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "base/digest.h"

namespace dunlin::aws {
namespace {

std::string sum_of(ChecksumKind kind, std::string_view bytes) {
  ChecksumSum sum(kind);
  sum.update(bytes);
  return sum.finish().text;
}

std::string in_hex(ChecksumKind kind, std::string_view bytes) {
  return hex(from_base64(sum_of(kind, bytes)).value_or(""));
}

// The check values that the catalogues of CRCs give for these nine bytes.
TEST(Checksum, SumsAreThoseOfTheCatalogues) {
  constexpr std::string_view kCheck = "123456789";
  EXPECT_EQ(in_hex(ChecksumKind::crc32, kCheck), "cbf43926");
  EXPECT_EQ(in_hex(ChecksumKind::crc32c, kCheck), "e3069283");
  EXPECT_EQ(in_hex(ChecksumKind::crc64nvme, kCheck), "ae8b14860a799888");
  EXPECT_EQ(in_hex(ChecksumKind::sha1, kCheck), "f7c3bc1d808e04732adf679965ccc34ca7ae3441");
  EXPECT_EQ(in_hex(ChecksumKind::sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum_of(ChecksumKind::crc32, ""), "AAAAAA==");
}

RC_GTEST_PROP(Checksum, PiecesMakeTheSameSum, (std::string first, std::string second)) {
  for (const ChecksumKind kind : kChecksums) {
    ChecksumSum sum(kind);
    sum.update(first);
    sum.update(second);
    RC_ASSERT(sum.finish().text == sum_of(kind, first + second));
    if (!is_crc(kind)) continue;
    RC_ASSERT(joined(kind, sum_of(kind, first), sum_of(kind, second), second.size()) ==
              sum_of(kind, first + second));
  }
}

TEST(Checksum, LargePiecesAreJoined) {
  const std::string first(5 << 20, 'a');
  const std::string second((8 << 20) + 13, 'b');
  for (const ChecksumKind kind : {ChecksumKind::crc32, ChecksumKind::crc32c, kChecksumOfS3}) {
    EXPECT_EQ(joined(kind, sum_of(kind, first), sum_of(kind, second), second.size()),
              sum_of(kind, first + second));
  }
}

TEST(Checksum, WordsAreKnownInAnyCase) {
  EXPECT_EQ(checksum_of_word("CRC64NVME"), ChecksumKind::crc64nvme);
  EXPECT_EQ(checksum_of_word("sha256"), ChecksumKind::sha256);
  EXPECT_FALSE(checksum_of_word("md5"));
  EXPECT_FALSE(checksum_of_word(""));
  EXPECT_EQ(checksum_header(ChecksumKind::crc32c), "x-amz-checksum-crc32c");
  EXPECT_EQ(checksum_element(ChecksumKind::sha1), "ChecksumSHA1");
}

TEST(Checksum, WhatIsNoChecksumIsSeen) {
  EXPECT_TRUE(is_checksum(ChecksumKind::crc32, "AAAAAA=="));
  EXPECT_FALSE(is_checksum(ChecksumKind::crc32c, "AAAA"));
  EXPECT_FALSE(is_checksum(ChecksumKind::sha256, "not base64"));
  EXPECT_FALSE(joined(ChecksumKind::crc32, "x", "AAAAAA==", 1));
}

}  // namespace
}  // namespace dunlin::aws
