#include "hub/access/scopes.h"

#include <gtest/gtest.h>

namespace dunlin::hub {
namespace {

TEST(Scopes, AScopeReachesThoseBeforeIt) {
  EXPECT_TRUE(Scopes(Scope::worker).reach(Scope::submit));
  EXPECT_TRUE((Scopes(Scope::read) | Scope::worker).reach(Scope::worker));
  EXPECT_FALSE(Scopes(Scope::submit).reach(Scope::worker));
  EXPECT_FALSE((Scopes(Scope::read) | Scope::submit).reach(Scope::worker));
  EXPECT_FALSE(Scopes().reach(Scope::read));
}

TEST(Scopes, TextAndBack) {
  const Scopes all = Scopes(Scope::read) | Scope::submit | Scope::worker | Scope::admin;
  EXPECT_EQ(to_text(all), "read,submit,worker,admin");
  EXPECT_EQ(parse_scopes("admin,worker,submit,read").value(), all);
  EXPECT_EQ(parse_scopes("submit").value(), Scopes(Scope::submit));
  for (const auto* bad : {"", "root", "read,", ",read", "read;submit", "READ", "read, submit"}) {
    ASSERT_FALSE(parse_scopes(bad).ok()) << bad;
    EXPECT_EQ(parse_scopes(bad).error().code, Code::invalid);
  }
}

}  // namespace
}  // namespace dunlin::hub
