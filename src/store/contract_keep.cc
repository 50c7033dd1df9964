// The contract of Keep, by which a holder goes on with a message, and of erasing rows by prefix.
#include "store/contract.h"
#include "store/contract_calls.h"

namespace dunlin::contract {
namespace {

Keep keep(const std::string& queue, const Lease& lease, uint64_t step, const std::string& note,
          Millis hold = kLong) {
  return {queue, lease, step, note, hold};
}

std::string commit(Store& store, const std::vector<Write>& writes) {
  return outcome(store.commit(writes));
}

}  // namespace

// Going on with a lease.

TEST_P(StoreContract, ANoteComesWithTheNextDelivery) {
  push(*store, name, {{"a", "body"}});
  const Delivery first = pull_one(*store, name, subject->hold());
  EXPECT_EQ(first.note, "");
  EXPECT_EQ(commit(*store, {keep(name, first.lease, 0, "half", subject->hold())}), "ok");
  EXPECT_EQ(commit(*store, {keep(name, first.lease, 1, all_bytes(), subject->hold())}), "ok");
  subject->wait(subject->hold() + subject->hold() / 2);
  const Delivery second = pull_one(*store, name);
  EXPECT_EQ(second.note, all_bytes());
  EXPECT_EQ(second.body, "body");
  EXPECT_EQ(second.attempt, 2U);
  // A new lease counts its steps anew, and a note stays until another takes its place.
  EXPECT_EQ(commit(*store, {keep(name, second.lease, 0, "", Millis(0))}), "ok");
  const Delivery third = pull_one(*store, name);
  EXPECT_EQ(third.note, "");
  EXPECT_EQ(third.attempt, 3U);
  EXPECT_EQ(commit(*store, {Finish{name, {third.lease}, true}}), "ok");
  EXPECT_EQ(depth(*store, name), Depth{});
}

TEST_P(StoreContract, AKeepProvesItsLease) {
  push_ids(*store, name, {"a"});
  const Lease old = pull_one(*store, name).lease;
  EXPECT_TRUE(must(store->queue().renew(name, {&old, 1}, Millis(0))).empty());
  const Lease now = pull_one(*store, name).lease;
  const Push push{name + "x", {{"tail", ""}}};
  const Put put{name, "row", "", 0};
  EXPECT_EQ(commit(*store, {put, push, keep(name, old, 0, "")}), "conflict");
  EXPECT_EQ(commit(*store, {put, push, keep(name, {"none", 7}, 0, "")}), "conflict");
  EXPECT_EQ(commit(*store, {put, push, keep(name, now, 1, "")}), "conflict");
  EXPECT_EQ(commit(*store, {put, push, keep(name, {"a", 0}, 0, "")}), "conflict");
  EXPECT_EQ(get(*store, name, "row").version, 0U);
  EXPECT_EQ(depth(*store, name + "x"), Depth{});
  EXPECT_EQ(commit(*store, {put, push, keep(name, now, 0, "")}), "ok");
  EXPECT_EQ(commit(*store, {push, keep(name, now, 0, "")}), "conflict");
  EXPECT_EQ(commit(*store, {Finish{name, {now}}}), "ok");
  EXPECT_EQ(commit(*store, {push, keep(name, now, 1, "")}), "conflict");
  EXPECT_EQ(ids(pull(*store, name + "x")), (Strings{"tail"}));
}

TEST_P(StoreContract, AKeptMessageIsHiddenForItsHold) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name, subject->hold()).lease;
  EXPECT_EQ(commit(*store, {keep(name, lease, 0, "")}), "ok");
  subject->wait(subject->hold() + subject->hold() / 2);
  EXPECT_TRUE(pull(*store, name).empty());
  EXPECT_EQ(commit(*store, {keep(name, lease, 1, "", Millis(0))}), "ok");
  EXPECT_EQ(ids(pull(*store, name)), (Strings{"a"}));
}

TEST_P(StoreContract, AStrictFinishNeedsItsMessage) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name).lease;
  const Push push{name + "x", {{"next", ""}}};
  EXPECT_EQ(commit(*store, {push, Finish{name, {{"none", 7}}, true}}), "conflict");
  EXPECT_EQ(depth(*store, name + "x"), Depth{});
  EXPECT_EQ(commit(*store, {push, Finish{name, {lease}, true}}), "ok");
  EXPECT_EQ(ids(pull(*store, name + "x")), (Strings{"next"}));
  EXPECT_EQ(commit(*store, {Push{name + "y", {{"z", ""}}}, Finish{name, {lease}, true}}),
            "conflict");
  EXPECT_EQ(depth(*store, name + "y"), Depth{});
  EXPECT_EQ(commit(*store, {Finish{name, {lease}}}), "ok");
}

TEST_P(StoreContract, AGroupWithAKeepThatArrivesTwiceIsAppliedOnce) {
  const std::unique_ptr<Store> echo = subject->connect_twice();
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name).lease;
  EXPECT_EQ(commit(*echo, {Push{name + "x", {{"t1", ""}}}, keep(name, lease, 0, "1")}), "ok");
  const std::vector<Write> both = {Put{name, "row", "", 0}, Push{name + "x", {{"t2", ""}}},
                                   keep(name, lease, 1, "2")};
  const uint64_t version = must(echo->commit(both));
  EXPECT_EQ(get(*store, name, "row").version, version);
  EXPECT_EQ(depth(*store, name + "x"), (Depth{.ready = 2, .leased = 0}));
  EXPECT_EQ(commit(*store, {keep(name, lease, 2, "3")}), "ok");
}

TEST_P(StoreContract, KeepsHaveLimits) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name).lease;
  const auto refused = [&](const std::vector<Write>& writes) {
    EXPECT_EQ(commit(*store, writes), "invalid");
  };
  refused({keep("odd name", lease, 0, "")});
  refused({keep(name, {"odd id", 1}, 0, "")});
  refused({keep(name, lease, 0, std::string(kNoteMax + 1, 'n'))});
  refused({keep(name, lease, 0, "", kHoldMax + Millis(1))});
  refused({keep(name, lease, 0, "", Millis(-1))});
  refused({keep(name, lease, 0, ""), keep(name, lease, 1, "")});
  refused({keep(name, lease, 0, ""), Finish{name, {lease}}});
  refused({keep(name, lease, 0, ""), Push{name, {{"a", ""}}}});
  EXPECT_EQ(commit(*store, {keep(name, lease, 0, std::string(kNoteMax, 'n'))}), "ok");
}

// Many rows at once.

TEST_P(StoreContract, RowsAreErasedByPrefix) {
  for (int i = 0; i < 60; ++i) put(*store, name, "job/" + std::to_string(i), "v");
  put(*store, name, "job", "stays");
  put(*store, name, "job0", "stays");
  put(*store, name, "jo/1", "stays");
  put(*store, name + "x", "job/1", "stays");
  uint64_t erased = 0;
  while (const uint64_t some = must(store->table().erase_all(name, "job/"))) erased += some;
  EXPECT_EQ(erased, 60U);
  EXPECT_EQ(keys(scan(*store, name, "", "", 100)), (Strings{"jo/1", "job", "job0"}));
  EXPECT_EQ(get(*store, name + "x", "job/1").value, "stays");
  EXPECT_EQ(must(store->table().erase_all(name, "job/")), 0U);
  EXPECT_EQ(must(store->table().erase_all("none", "job/")), 0U);
  // A row that comes again has a version that none had before.
  EXPECT_GT(put(*store, name, "job/1", "again"), get(*store, name, "job").version);
  EXPECT_EQ(outcome(store->table().erase_all(name, "")), "invalid");
  EXPECT_EQ(outcome(store->table().erase_all("odd name", "k")), "invalid");
  EXPECT_EQ(outcome(store->table().erase_all(name, "odd prefix")), "invalid");
}

}  // namespace dunlin::contract
