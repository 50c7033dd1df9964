#include "model/owned.h"

#include <gtest/gtest.h>

#include "model/jobs/submit.h"

namespace dunlin {
namespace {

const std::string kPlain = "1m7fmn20pnfpf";

TEST(Owned, AnIdTellsItsOwnerAndAPlainOneNobody) {
  const std::string id = owned_job_id(kPlain, "ann");
  EXPECT_EQ(id, "1m7fmn20pnfpf.ann");
  EXPECT_EQ(owner_of_job(id), "ann");
  EXPECT_EQ(owned_job_id(kPlain, ""), kPlain);
  EXPECT_EQ(owner_of_job(kPlain), "");
  Random random(1);
  EXPECT_TRUE(is_job_id(make_job_id(random, WallTime(Millis(1'800'000'000'000)))));
  for (const auto* good : {"1m7fmn20pnfpf", "1m7fmn20pnfpf.ann", "1m7fmn20pnfpf.a_B-9"}) {
    EXPECT_TRUE(is_job_id(good)) << good;
  }
}

TEST(Owned, NothingElseIsAnIdOfAnOwner) {
  for (const auto* bad : {"", "1m7fmn20pnfp", "1m7fmn20pnfpfx", "1m7fmn20pnfpf.",
                          "1m7fmn20pnfpf.a.b", "1m7fmn20pnfpf/ann", "1M7fmn20pnfpf.ann", "bob.ann",
                          "1m7fmn20pnfpf.ann/x", "1m7fmn20pnfpf.bob.ann", "../x/20pnfpf.ann"}) {
    EXPECT_FALSE(is_job_id(bad)) << bad;
  }
  EXPECT_EQ(owner_of_job("1m7fmn20pnfpf.bob.ann"), "");
  EXPECT_EQ(owner_of_job(kPlain + "." + std::string(kOwnerMax + 1, 'a')), "");
}

TEST(Owned, NamesOfOwnersHaveNoDotAndABound) {
  EXPECT_TRUE(is_owner("ann"));
  EXPECT_TRUE(is_owner(std::string(kOwnerMax, 'a')));
  for (const std::string bad : {"", "a.b", "a/b", "a b", "a@b", ".", "-é"}) {
    EXPECT_FALSE(is_owner(bad)) << bad;
  }
  EXPECT_FALSE(is_owner(std::string(kOwnerMax + 1, 'a')));
}

TEST(Owned, KeysOfOwnersDoNotMeet) {
  EXPECT_EQ(key_row(kPlain, "nightly"), "nightly");
  EXPECT_EQ(key_row(kPlain + ".ann", "nightly"), "ann/nightly");
  EXPECT_EQ(key_row(kPlain + ".bob", "nightly"), "bob/nightly");
  EXPECT_EQ(key_row(kPlain + ".ann", ""), "");
}

TEST(Owned, ReplyQueuesAreTheirOwners) {
  EXPECT_EQ(reply_queue("x", ""), "reply.x");
  EXPECT_TRUE(is_reply_queue_of("ann", reply_queue("x", "ann")));
  EXPECT_TRUE(is_reply_queue_of("ann", "reply." + kPlain + ".ann"));
  for (const auto* other : {"reply.x.bob", "reply.x", "reply.ann", "reply..ann", "reply.xann",
                            "x.ann", "work.5.ann", "reply.", "reply.x.ann.bob"}) {
    EXPECT_FALSE(is_reply_queue_of("ann", other)) << other;
  }
  EXPECT_FALSE(is_reply_queue_of("", "reply.x"));
}

TEST(Owned, WhoeverIsBoundSubmitsForThatOwnerOnly) {
  EXPECT_EQ(choose_owner("", "", "me").value(), "me");
  EXPECT_EQ(choose_owner("", "bob", "me").value(), "bob");
  EXPECT_EQ(choose_owner("ann", "", "me").value(), "ann");
  EXPECT_EQ(choose_owner("ann", "ann", "me").value(), "ann");
  const auto other = choose_owner("ann", "bob", "me");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::denied);
  EXPECT_NE(other.error().what.find("dunlin token --owner"), std::string::npos);
}

}  // namespace
}  // namespace dunlin
