#include "store_cli/store_verbs.h"

#include <gtest/gtest.h>

namespace dunlin::store_cli {
namespace {

using Leases = std::vector<Lease>;

TEST(StoreVerbs, LeasesAreNamedByIdAndToken) {
  EXPECT_EQ(parse_leases({"a:1", "b:c:2"}).value(), (Leases{{"a", 1}, {"b:c", 2}}));
  EXPECT_EQ(parse_leases({"a:7"}).value(), (Leases{{"a", 7}}));
}

TEST(StoreVerbs, OneLeaseMayBeTwoArguments) {
  EXPECT_EQ(parse_leases({"a", "7"}).value(), (Leases{{"a", 7}}));
  EXPECT_EQ(parse_leases({"a:1", "7"}).value(), (Leases{{"a:1", 7}}));
}

TEST(StoreVerbs, ALeaseWithoutItsTokenIsRefusedByName) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"odd"}, {"a:1", "odd"}, {"a:1", "b:2", "odd"}, {"odd:"}, {"odd:x"}, {"odd:-1"}}) {
    const auto leases = parse_leases(arguments);
    ASSERT_FALSE(leases.ok()) << arguments.back();
    EXPECT_EQ(leases.error().code, Code::invalid);
    EXPECT_NE(leases.error().what.find("token"), std::string::npos) << leases.error().what;
  }
}

TEST(StoreVerbs, APushTakesItsBodyFromOnePlace) {
  for (const PushVerb& verb :
       {PushVerb{.queue = "q"}, PushVerb{.queue = "q", .body = "x", .lines = true},
        PushVerb{.queue = "q", .body = "x", .body_file = "f"}}) {
    const auto ran = run(verb, {.at = "memory:"});
    ASSERT_FALSE(ran.ok());
    EXPECT_NE(ran.error().what.find("--body"), std::string::npos) << ran.error().what;
  }
}

TEST(StoreVerbs, APutTakesItsValueFromOnePlace) {
  for (const PutVerb& verb : {PutVerb{.table = "t", .key = "k"},
                              PutVerb{.table = "t", .key = "k", .value = "v", .value_file = "f"}}) {
    const auto ran = run(verb, {.at = "memory:"});
    ASSERT_FALSE(ran.ok());
    EXPECT_NE(ran.error().what.find("VALUE"), std::string::npos) << ran.error().what;
  }
}

TEST(StoreVerbs, BadNamesAreRefusedBeforeTheStoreIsOpened) {
  const cli::StoreTarget nowhere{.at = "dunlin://no-such-host.invalid:1"};
  EXPECT_EQ(run(PullVerb{.queue = "bad name"}, nowhere).error().code, Code::invalid);
  EXPECT_EQ(run(PullVerb{.queue = "q", .hold = "5"}, nowhere).error().code, Code::invalid);
  EXPECT_EQ(run(DepthVerb{.queue = ""}, nowhere).error().code, Code::invalid);
  EXPECT_EQ(run(GetVerb{.table = "t", .keys = {"bad key"}}, nowhere).error().code, Code::invalid);
  EXPECT_EQ(run(BlobGetVerb{.name = ""}, nowhere).error().code, Code::invalid);
  EXPECT_EQ(run(BlobPutVerb{.name = "b", .file = "/no/such"}, nowhere).error().code, Code::invalid);
}

}  // namespace
}  // namespace dunlin::store_cli
