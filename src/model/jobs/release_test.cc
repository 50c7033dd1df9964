#include "model/jobs/release.h"

#include <gtest/gtest.h>

#include "testing/jobs.h"

namespace dunlin {
namespace {

class ReleaseTest : public TestJobs {
 protected:
  void submit_after(const std::string& id, const std::vector<std::string>& others) {
    model::Spec spec = spec_of(3);
    for (const std::string& other : others) spec.add_after(other);
    submit_job(id, spec);
  }
  bool waits(const std::string& id) {
    return get_row(store->table(), kWaits, id).value().version != 0;
  }
  model::End end_of(const std::string& id) {
    return read_record<model::End>(store->table(), kEnds, id).value().record;
  }
};

TEST_F(ReleaseTest, AJobWaitsForAllThatItComesAfter) {
  submit_job("a", 1);
  submit_job("b", 1);
  submit_after("c", {"a", "b"});
  end_job("a", model::End::DONE, 1, 0);
  ASSERT_TRUE(release_dependants(*store, "a", 7).ok());
  EXPECT_TRUE(waits("c"));
  EXPECT_TRUE(queued("c").empty());

  end_job("b", model::End::DONE, 1, 0);
  ASSERT_TRUE(release_dependants(*store, "b", 7).ok());
  EXPECT_FALSE(waits("c"));
  EXPECT_EQ(queued("c").at(0).last(), 3);
  EXPECT_TRUE(store->table().scan(kAfter, "", "", 10).value().empty());
}

TEST_F(ReleaseTest, WhatHasEndedBeforeNeedsNoWaiting) {
  submit_job("a", 1);
  end_job("a", model::End::DONE, 1, 0);
  submit_after("b", {"a"});
  EXPECT_FALSE(waits("b"));
  EXPECT_EQ(queued("b").size(), 1);
}

TEST_F(ReleaseTest, TwoWhoReleaseAtOnceStartTheJobOnce) {
  submit_job("a", 1);
  submit_after("b", {"a"});
  end_job("a", model::End::DONE, 1, 0);
  const auto job = read_job(store->table(), "b").value();
  ASSERT_TRUE(release_dependants(*store, "a", 7).ok());
  EXPECT_EQ(store->commit(go_writes(job, 7)).error().code, Code::conflict);
}

TEST_F(ReleaseTest, AFailureSkipsAllThatComesAfterIt) {
  submit_job("a", 1);
  submit_after("b", {"a"});
  submit_after("c", {"b"});
  submit_after("d", {"c", "a"});
  end_job("a", model::End::DONE, 0, 1);
  ASSERT_TRUE(release_dependants(*store, "a", 7).ok());
  for (const char* id : {"b", "c", "d"}) {
    EXPECT_EQ(end_of(id).kind(), model::End::SKIPPED) << id;
    EXPECT_FALSE(waits(id)) << id;
    EXPECT_TRUE(queued(id).empty()) << id;
  }
  EXPECT_EQ(end_of("b").why(), "job a had 1 of 1 tasks fail");
  EXPECT_EQ(end_of("c").why(), "job b was skipped");
  EXPECT_TRUE(store->table().scan(kAfter, "", "", 10).value().empty());
}

TEST_F(ReleaseTest, WhoRepeatsTheWorkOfOneThatDiedFindsTheRest) {
  submit_job("a", 1);
  submit_after("b", {"a"});
  submit_after("c", {"b"});
  end_job("a", model::End::CANCELLED, 0, 0);
  const auto job = read_job(store->table(), "b").value();
  ASSERT_TRUE(store->commit(skip_writes(job, "job a was cancelled", 7)).ok());  // And died.
  ASSERT_TRUE(release_dependants(*store, "a", 8).ok());
  EXPECT_EQ(end_of("c").kind(), model::End::SKIPPED);
  EXPECT_FALSE(waits("b"));
}

// Who looks at it sleeps meanwhile. The mark must be there when the job ends once more.
TEST_F(ReleaseTest, TheMarkOfAJobThatIsOpenAgainStays) {
  submit_job("a", 1);
  submit_after("b", {"a"});
  const auto fails = [&] {
    end_job("a", model::End::DONE, 1, 0);
    ASSERT_TRUE(release_dependants(*store, "a", 7).ok());
    submit_after("c", {"b"});
    end_job("b", model::End::DONE, 2, 1);
  };
  const auto opened = [&] { ASSERT_TRUE(store->table().erase(kEnds, "b", kAnyVersion).ok()); };
  // It reads the row of the job, that it waits, then how it stands; and those of `c`.
  Between slow(*store, Between::Before::request, {{3, fails}, {7, opened}});
  ASSERT_TRUE(release_if_ready(slow, "b", 7).ok());
  EXPECT_NE(get_row(store->table(), kAfter, after_key("b", "")).value().version, 0);
}

TEST_F(ReleaseTest, AJobCannotComeAfterOneThatDoesNotExist) {
  model::Spec spec = spec_of(1);
  spec.add_after("nobody");
  const auto refused = submit(*store, spec, {.id = "j"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::not_found);
  EXPECT_NE(refused.error().what.find("nobody"), std::string::npos);
}

}  // namespace
}  // namespace dunlin
