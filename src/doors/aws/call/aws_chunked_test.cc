#include "doors/aws/call/aws_chunked.h"

#include <gtest/gtest.h>

namespace dunlin::aws {
namespace {

// The example that AWS publishes: 65 KiB of 'a' in two chunks.
ChunkSigner example_signer() {
  const Scope scope = {"20130524", "us-east-1", "s3"};
  return {signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", scope), "20130524T000000Z",
          scope.text(), "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"};
}
const std::string kExample =
    "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n" +
    std::string(65536, 'a') +
    "\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n" +
    std::string(1024, 'a') +
    "\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n"
    "\r\n";

TEST(AwsChunked, SignedChunksAreThoseOfAwsHoweverTheyAreCut) {
  for (const size_t size : {1U, 7U, 4096U, 1U << 20U}) {
    ChunkDecoder decoder(example_signer());
    std::string out;
    for (size_t at = 0; at < kExample.size(); at += size) {
      ASSERT_TRUE(decoder.feed(std::string_view(kExample).substr(at, size), out).ok());
    }
    EXPECT_TRUE(decoder.done());
    EXPECT_EQ(out, std::string(66560, 'a'));
  }
}

TEST(AwsChunked, AChangedByteIsDenied) {
  std::string body = kExample;
  body[100] = 'b';
  std::string out;
  const Result<void> fed = ChunkDecoder(example_signer()).feed(body, out);
  ASSERT_FALSE(fed.ok());
  EXPECT_EQ(fed.error().code, Code::denied);
}

TEST(AwsChunked, UnsignedChunksHaveTheirChecksumBehind) {
  ChunkDecoder decoder(std::nullopt);
  std::string out;
  ASSERT_TRUE(decoder.feed("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n", out).ok());
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(out, "hello");
  EXPECT_EQ(*http::find_header(decoder.trailers(), "x-amz-checksum-crc32"), "NhCmhg==");
  EXPECT_EQ(crc32_base64(crc32(0, "hello")), "NhCmhg==");
}

TEST(AwsChunked, WhatIsNotChunkedIsRefused) {
  for (const std::string_view body :
       {"x\r\n", "\r\n", "5\nhello", "2\r\nhello\r\n", "0\r\n\r\nmore", "0\r\nno colon\r\n"}) {
    std::string out;
    EXPECT_FALSE(ChunkDecoder(std::nullopt).feed(body, out).ok()) << body;
  }
  std::string out;
  EXPECT_FALSE(ChunkDecoder(std::nullopt).feed(std::string(2000, '0'), out).ok());
}

}  // namespace
}  // namespace dunlin::aws
