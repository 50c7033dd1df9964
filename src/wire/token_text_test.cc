#include "wire/token_text.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

TEST(TokenText, SaysScopesOwnerAndExpiry) {
  const auto bound = parse_token_text("d1.read,submit@ann.1000.0123.abcd");
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->scopes, "read,submit");
  EXPECT_EQ(bound->owner, "ann");
  EXPECT_EQ(bound->expires_s, 1000);
  EXPECT_FALSE(bound->has_expired(WallTime(Millis(999'999))));
  EXPECT_TRUE(bound->has_expired(WallTime(Millis(1'000'000))));
  EXPECT_EQ(owner_in_token("d1.submit@ann.0.0123.abcd"), "ann");
  EXPECT_EQ(owner_in_token("d1.submit.0.0123.abcd"), "");
  EXPECT_FALSE(parse_token_text("d1.submit.0.0123.abcd")->has_expired(WallTime::max()));
}

TEST(TokenText, OtherTextIsNoToken) {
  for (const auto* bad : {"", "d1", "d1.", "d1.read", "d1.read.0.n", "d1.read.x.n.m",
                          "d1.read.0x.n.m", "d1.read..n.m", "d1.read@.0.n.m", "d1.read.0.n.m.more",
                          "d2.read.0.n.m", "0123456789abcdef"}) {
    EXPECT_FALSE(parse_token_text(bad)) << bad;
    EXPECT_EQ(owner_in_token(bad), "") << bad;
  }
}

}  // namespace
}  // namespace dunlin
