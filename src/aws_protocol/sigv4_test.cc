// The examples are those that AWS publishes with the signature they must have.
#include "aws_protocol/sigv4.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace dunlin::aws {
namespace {

const Credentials kExample = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
constexpr std::string_view kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const WallTime kThen = parse_amz_time("20130524T000000Z").value();

Signable example(std::string method, std::string path, Query query, http::Headers more,
                 std::string_view hash = kEmptyHash) {
  Signable request{std::move(method), std::move(path), std::move(query), std::move(more),
                   std::string(hash)};
  request.headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  request.headers.emplace_back("x-amz-content-sha256", hash);
  request.headers.emplace_back("x-amz-date", "20130524T000000Z");
  return request;
}

std::string signed_with(const Signable& request, const std::vector<std::string>& names) {
  return signature(kExample.secret, "20130524T000000Z", {"20130524", "us-east-1", "s3"},
                   canonical_request(request, names, "s3"));
}

TEST(SigV4, ReadingAnObjectIsSignedAsAwsDoes) {
  EXPECT_EQ(signed_with(example("GET", "/test.txt", {}, {{"range", "bytes=0-9"}}),
                        {"host", "range", "x-amz-content-sha256", "x-amz-date"}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, WritingAnObjectIsSignedAsAwsDoes) {
  const Signable request = example(
      "PUT", "/test%24file.text", {},
      {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
      "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_EQ(signed_with(request, {"date", "host", "x-amz-content-sha256", "x-amz-date",
                                  "x-amz-storage-class"}),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4, QueriesAreSignedAsAwsDoes) {
  const std::vector<std::string> names = {"host", "x-amz-content-sha256", "x-amz-date"};
  EXPECT_EQ(signed_with(example("GET", "/", parse_query("lifecycle").value(), {}), names),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signed_with(example("GET", "/", parse_query("prefix=J&max-keys=2").value(), {}), names),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, APresignedUrlIsThatOfAws) {
  const Signable request = {
      "GET", "/test.txt", {}, {{"host", "examplebucket.s3.amazonaws.com"}}, ""};
  EXPECT_TRUE(presign(request, kExample, "us-east-1", kThen, 86400)
                  .ends_with("&X-Amz-Signature="
                             "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"));
}

TEST(SigV4, TheSigningKeyIsThatOfAws) {
  EXPECT_EQ(hex(signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                            {"20120215", "us-east-1", "iam"})),
            "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d");
}

// What a request claims at a time, and whether it is true.
std::string judge(Signable request, std::string_view secret, WallTime now) {
  const auto read = read_claim(request.query, request.headers, now);
  if (const auto* fault = std::get_if<ClaimFault>(&read)) {
    return std::to_string(static_cast<int>(fault->fault));
  }
  std::erase_if(request.query, [](const auto& one) { return one.first == "X-Amz-Signature"; });
  return verify(std::get<Claim>(read), request, secret) ? "true" : "false";
}
std::string fault(Fault fault) { return std::to_string(static_cast<int>(fault)); }

TEST(SigV4, WhatWasSignedIsVerifiedAndNothingElse) {
  Signable request = example("GET", "/a%20b", {{"x", "1 2"}}, {{"content-type", "text/plain"}});
  request.headers.emplace_back("authorization", authorize(request, kExample, "eu-1", "s3"));
  EXPECT_EQ(judge(request, kExample.secret, kThen), "true");
  EXPECT_EQ(judge(request, "another secret", kThen), "false");
  Signable other = request;
  other.path = "/a%20c";
  EXPECT_EQ(judge(other, kExample.secret, kThen), "false");
  other = request;
  other.query = {{"x", "1 3"}};
  EXPECT_EQ(judge(other, kExample.secret, kThen), "false");
  other = request;
  other.payload_hash = hex(sha256("body"));
  EXPECT_EQ(judge(other, kExample.secret, kThen), "false");
}

TEST(SigV4, ASignatureHoldsForFifteenMinutes) {
  Signable request = example("GET", "/", {}, {});
  request.headers.emplace_back("authorization", authorize(request, kExample, "eu-1", "s3"));
  EXPECT_EQ(judge(request, kExample.secret, kThen + std::chrono::minutes(15)), "true");
  EXPECT_EQ(judge(request, kExample.secret, kThen + std::chrono::minutes(16)),
            fault(Fault::skewed));
  EXPECT_EQ(judge(request, kExample.secret, kThen - std::chrono::minutes(16)),
            fault(Fault::skewed));
}

TEST(SigV4, APresignedUrlHoldsUntilItExpires) {
  Signable request = {"GET", "/k", {}, {{"host", "h"}}, ""};
  request.query = parse_query(presign(request, kExample, "eu-1", kThen, 60)).value();
  request.payload_hash = kUnsignedPayload;
  EXPECT_EQ(judge(request, kExample.secret, kThen + std::chrono::seconds(60)), "true");
  EXPECT_EQ(judge(request, kExample.secret, kThen + std::chrono::seconds(61)),
            fault(Fault::expired));
}

TEST(SigV4, AHeaderOfAwsThatWasNotSignedIsAFault) {
  Signable request = example("PUT", "/k", {}, {{"content-type", "text/plain"}});
  request.headers.emplace_back("authorization", authorize(request, kExample, "eu-1", "s3"));
  request.headers.emplace_back("accept", "*/*");
  EXPECT_EQ(judge(request, kExample.secret, kThen), "true");
  request.headers.emplace_back("x-amz-acl", "private");
  EXPECT_EQ(judge(request, kExample.secret, kThen), fault(Fault::unsigned_header));
  Signable by_url = {"PUT", "/k", {}, {{"host", "h"}}, ""};
  by_url.query = parse_query(presign(by_url, kExample, "eu-1", kThen, 60)).value();
  by_url.payload_hash = kUnsignedPayload;
  EXPECT_EQ(judge(by_url, kExample.secret, kThen), "true");
  by_url.headers.emplace_back("x-amz-acl", "private");
  EXPECT_EQ(judge(by_url, kExample.secret, kThen), fault(Fault::unsigned_header));
}

TEST(SigV4, WhatIsNoClaimIsSaidToBeNone) {
  EXPECT_EQ(judge({"GET", "/", {}, {}, ""}, "", kThen), fault(Fault::unsigned_request));
  for (const std::string text :
       {"", "Basic abc", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=a/b, Signature=x",
        "AWS4-HMAC-SHA256 Credential=k/20130524/r/s3/aws4_request, SignedHeaders=host",
        "AWS4-HMAC-SHA256 Credential=k/20130524/r/s3/aws4_request, SignedHeaders=x, Signature=0"}) {
    EXPECT_EQ(judge({"GET", "/", {}, {{"authorization", text}}, ""}, "", kThen),
              fault(Fault::malformed))
        << text;
  }
}

TEST(SigV4, TimesAreReadAsTheyAreWritten) {
  EXPECT_EQ(amz_time(kThen), "20130524T000000Z");
  for (const std::string_view text : {"20130524T240000Z", "20131324T000000Z", "20130524 000000Z",
                                      "2013052xT000000Z", "20130524T00000"}) {
    EXPECT_FALSE(parse_amz_time(text)) << text;
  }
}

}  // namespace
}  // namespace dunlin::aws
