#include "doors/rest/bodies/signed_url.h"

#include <gtest/gtest.h>

#include "url/percent.h"

namespace dunlin::rest {
namespace {

const WallTime kNow{std::chrono::seconds(1'700'000'000)};
const Permit kPermit{"GET", "physics", "input/water 1.in"};

struct Parts {
  std::string path;
  std::string expires;
  std::string signature;
};

Parts parts_of(const std::string& url) {
  const size_t question = url.find('?');
  const Query query = parse_query(url.substr(question + 1)).value();
  return {url.substr(0, question), *find(query, "expires"), *find(query, "signature")};
}

Signature check(const Permit& permit, const Parts& parts, WallTime now = kNow,
                std::string_view key = "key") {
  return check_signature(permit, parts.expires, parts.signature, key, now);
}

TEST(SignedUrl, IsAbsoluteAndNeedsNoQuotes) {
  const Parts parts =
      parts_of(signed_url("http://host:1/pre", kPermit, "key", kNow, std::chrono::seconds(20)));
  EXPECT_EQ(parts.path, "http://host:1/pre/signed/physics/input/water%201.in");
  EXPECT_EQ(parts.expires, "1700000020");
  EXPECT_EQ(parts.signature.size(), 64U);
}

TEST(SignedUrl, IsGoodForOneMethodAndFileUntilATime) {
  const Parts parts = parts_of(signed_url("", kPermit, "key", kNow, std::chrono::seconds(20)));
  EXPECT_EQ(check(kPermit, parts), Signature::good);
  EXPECT_EQ(check(kPermit, parts, kNow + std::chrono::seconds(19)), Signature::good);
  EXPECT_EQ(check(kPermit, parts, kNow + std::chrono::seconds(20)), Signature::expired);
  EXPECT_EQ(check({"PUT", kPermit.tenant, kPermit.key}, parts), Signature::wrong);
  EXPECT_EQ(check({"GET", "others", kPermit.key}, parts), Signature::wrong);
  EXPECT_EQ(check({"GET", kPermit.tenant, "input/water"}, parts), Signature::wrong);
  EXPECT_EQ(check({"GET", kPermit.tenant, kPermit.key, 1}, parts), Signature::wrong);
  EXPECT_EQ(check(kPermit, parts, kNow, "another key"), Signature::wrong);
}

TEST(SignedUrl, CannotBeMadeToLastLonger) {
  Parts parts = parts_of(signed_url("", kPermit, "key", kNow, std::chrono::seconds(20)));
  parts.expires = "1900000000";
  EXPECT_EQ(check(kPermit, parts), Signature::wrong);
  parts.expires = "";
  EXPECT_EQ(check(kPermit, parts), Signature::wrong);
  EXPECT_EQ(check(kPermit, {"", "1900000000", ""}), Signature::wrong);
}

TEST(SignedUrl, PartsCannotBeMovedFromOneNameToTheNext) {
  const Parts parts =
      parts_of(signed_url("", {"GET", "a", "b/c"}, "key", kNow, std::chrono::seconds(20)));
  EXPECT_EQ(check({"GET", "a/b", "c"}, parts), Signature::wrong);
}

}  // namespace
}  // namespace dunlin::rest
