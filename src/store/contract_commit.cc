// The contract of commits: groups of writes that happen together, and once.
#include <algorithm>
#include <fmt/format.h>

#include "store/contract.h"
#include "store/contract_calls.h"

namespace dunlin::contract {

// Commit groups.

TEST_P(StoreContract, ACommitDoesAllItsWrites) {
  push_ids(*store, name, {"work"});
  const uint64_t old = put(*store, name, "old", "");
  const Lease lease = pull_one(*store, name).lease;
  const std::vector<Write> writes = {Put{name, "a", "1", 0}, Put{name + "x", "b", "2", 0},
                                     Erase{name, "old", old}, Push{name + "x", {{"reply", "r"}}},
                                     Finish{name, {lease}}};
  const uint64_t version = must(store->commit(writes));
  EXPECT_GT(version, old);
  EXPECT_EQ(get(*store, name, "a").version, version);
  EXPECT_EQ(get(*store, name + "x", "b").version, version);
  EXPECT_EQ(get(*store, name, "old").version, 0U);
  EXPECT_EQ(ids(pull(*store, name + "x")), (Strings{"reply"}));
  EXPECT_EQ(depth(*store, name), Depth{});
}

TEST_P(StoreContract, ACommitWithoutPutsHasVersionZero) {
  EXPECT_EQ(must(store->commit({})), 0U);
  const std::vector<Write> writes = {Push{name, {{"a", ""}}}, Erase{name, "none", 7}};
  EXPECT_EQ(must(store->commit(writes)), 0U);
  EXPECT_EQ(ids(pull(*store, name)), (Strings{"a"}));
}

TEST_P(StoreContract, TheWritesOfACommitAreAppliedInOrder) {
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name).lease;
  push_ids(*store, name, {"b"});
  const std::vector<Write> writes = {Finish{name, {lease}}, Push{name, {{"a", "again"}}}};
  EXPECT_EQ(outcome(store->commit(writes)), "ok");
  std::vector<Delivery> pulled = pull(*store, name);
  if (!subject->ordered()) {
    std::ranges::sort(pulled, std::greater<>(), [](const Delivery& one) { return one.lease.id; });
  }
  ASSERT_EQ(ids(pulled), (Strings{"b", "a"}));
  EXPECT_EQ(pulled[1].body, "again");
  EXPECT_EQ(pulled[1].attempt, 1U);

  const std::vector<Write> reversed = {Push{name, {{"b", "still queued"}}},
                                       Finish{name, {pulled[0].lease}}};
  EXPECT_EQ(outcome(store->commit(reversed)), "ok");
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 0, .leased = 1}));
}

TEST_P(StoreContract, ACommitThatConflictsWritesNothingAfterTheConflict) {
  put(*store, name, "taken", "1");
  const std::vector<Write> writes = {Put{name, "before", "", 0}, Put{name, "taken", "2", 0},
                                     Put{name, "after", "", 0}, Push{name, {{"after", ""}}}};
  EXPECT_EQ(outcome(store->commit(writes)), "conflict");
  EXPECT_EQ(get(*store, name, "taken").value, "1");
  EXPECT_EQ(get(*store, name, "after").version, 0U);
  EXPECT_EQ(get(*store, name, "before").version, 0U);
  EXPECT_TRUE(pull(*store, name).empty());
}

TEST_P(StoreContract, ACommitThatConflictsChangesNothing) {
  const uint64_t version = put(*store, name, "row", "1");
  push_ids(*store, name, {"mine", "stale"});
  const std::vector<Lease> held = leases(pull(*store, name));
  EXPECT_TRUE(must(store->queue().renew(name, {&held.at(1), 1}, Millis(0))).empty());
  pull_one(*store, name);
  const std::vector<Write> good = {Put{name, "row", "2", version}, Put{name, "new", "", 0},
                                   Push{name, {{"new", ""}}}, Finish{name, {held.at(0)}}};
  for (const Write& bad :
       {Write(Put{name, "other", "", version}), Write(Finish{name, {held.at(1)}}),
        Write(Put{name, "none", "", version})}) {
    std::vector<Write> writes = good;
    writes.push_back(bad);
    EXPECT_EQ(outcome(store->commit(writes)), "conflict");
  }
  std::vector<Write> erasing = {good.at(1), good.at(2), good.at(3),
                                Erase{name, "row", version + 1}};
  EXPECT_EQ(outcome(store->commit(erasing)), "conflict");
  EXPECT_EQ(get(*store, name, "row").version, version);
  EXPECT_EQ(get(*store, name, "new").version, 0U);
  EXPECT_EQ(depth(*store, name), (Depth{.ready = 0, .leased = 2}));
  EXPECT_EQ(outcome(store->commit(good)), "ok");
}

TEST_P(StoreContract, ACommitWithABadWriteIsRefusedWhole) {
  const Put good = {name, "good", "", 0};
  const auto refused = [&](const Write& bad) {
    const std::vector<Write> writes = {good, Push{name, {{"good", ""}}}, bad};
    EXPECT_EQ(outcome(store->commit(writes)), "invalid");
  };
  refused(Put{"odd name", "k", "", 0});
  refused(Put{name, "odd key", "", 0});
  refused(Put{name, "large", std::string(kValueMax + 1, 'v'), 0});
  refused(Erase{name, "", 0});
  refused(Push{name, {{"", ""}}});
  refused(Push{name, messages(kBatchMax)});
  refused(Push{name, messages(kBatchBytesMax / kValueMax, kValueMax)});
  refused(Finish{"", {}});
  refused(Put{name, "good", "twice", 0});
  refused(Erase{name, "good", 0});
  EXPECT_EQ(get(*store, name, "good").version, 0U);
  EXPECT_TRUE(pull(*store, name).empty());
}

// Repeats, as of a client that did not hear the first answer.

TEST_P(StoreContract, RepeatedCallsAreSafe) {
  push_ids(*store, name, {"a"});
  push_ids(*store, name, {"a"});
  const std::vector<Delivery> pulled = pull(*store, name);
  ASSERT_EQ(ids(pulled), (Strings{"a"}));
  EXPECT_EQ(finish(*store, name, leases(pulled)), "ok");
  EXPECT_EQ(finish(*store, name, leases(pulled)), "ok");
  EXPECT_TRUE(pull(*store, name).empty());

  // Another call, not a repeat of the first: it may not win, and a look shows whose value it is.
  const uint64_t version = put(*store, name, "k", "mine");
  EXPECT_EQ(outcome(store->table().put(name, {"k", "mine", 0})), "conflict");
  EXPECT_EQ(get(*store, name, "k").value, "mine");
  EXPECT_EQ(get(*store, name, "k").version, version);
  EXPECT_EQ(outcome(store->table().erase(name, "k", version)), "ok");
  EXPECT_EQ(outcome(store->table().erase(name, "k", version)), "ok");
}

TEST_P(StoreContract, ARequestThatArrivesTwiceIsAppliedOnce) {
  const std::unique_ptr<Store> echo = subject->connect_twice();
  const uint64_t created = put(*echo, name, "k", "1");
  EXPECT_EQ(get(*store, name, "k").version, created);
  const uint64_t changed = put(*echo, name, "k", "2", created);
  EXPECT_EQ(get(*store, name, "k").version, changed);
  EXPECT_EQ(outcome(echo->table().put(name, {"k", "3", created})), "conflict");
  const uint64_t forced = put(*echo, name, "k", "4", kAnyVersion);
  EXPECT_EQ(get(*store, name, "k").version, forced);
  for (int i = 0; i < 5; ++i) increment(*echo, name);
  EXPECT_EQ(get(*echo, name, "counter").value, "5");
  EXPECT_EQ(outcome(echo->table().erase(name, "k", kAnyVersion)), "ok");
  EXPECT_EQ(get(*store, name, "k").version, 0U);

  push_ids(*echo, name, {"a", "b"});
  const std::vector<Lease> held = leases(pull(*echo, name));
  EXPECT_TRUE(must(echo->queue().renew(name, held, kLong)).empty());
  EXPECT_EQ(finish(*echo, name, held), "ok");
  EXPECT_EQ(depth(*echo, name), Depth{});
}

TEST_P(StoreContract, ABlobWhosePartsArriveTwiceIsWrittenOnce) {
  const std::unique_ptr<Store> echo = subject->connect_twice();
  const std::string bytes = bytes_at(0, 2 * kBlobPart + 5);
  // Where it is one request, that arrives twice.
  Store& to = subject->blob_parts() ? *echo : *store;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(outcome(put_blob(to, name, bytes)), "ok");
  EXPECT_TRUE(read_blob(*echo, name, 0, bytes.size() + 1) == bytes);
  EXPECT_EQ(outcome(echo->blobs().erase(name)), "ok");
}

TEST_P(StoreContract, ACommitThatArrivesTwiceIsAppliedOnce) {
  const std::unique_ptr<Store> echo = subject->connect_twice();
  push_ids(*store, name, {"a"});
  const Lease lease = pull_one(*store, name).lease;
  // Applied again it would find a stale lease: the message that it pushed itself.
  const std::vector<Write> writes = {Put{name, "k", "1", 0}, Put{name, "any", "1", kAnyVersion},
                                     Finish{name, {lease}}, Push{name, {{"a", "again"}}}};
  const uint64_t version = must(echo->commit(writes));
  EXPECT_EQ(get(*store, name, "k").version, version);
  EXPECT_EQ(get(*store, name, "any").version, version);
  EXPECT_EQ(ids(pull(*store, name)), (Strings{"a"}));
}

// That a row is not there is compared like any version, also against who makes it at this moment.
TEST_P(StoreContract, OfTwoThatForbidEachOtherAtMostOneIsWritten) {
  std::vector<std::unique_ptr<Store>> writers(2);
  for (auto& writer : writers) writer = subject->connect();
  for (int round = 0; round < 20; ++round) {
    const Strings keys = {fmt::format("{}.a", round), fmt::format("{}.b", round)};
    const auto race = [&](size_t i) {
      const std::vector<Write> writes = {Put{name, keys[i], "", 0}, Erase{name, keys[1 - i], 0}};
      const std::string ended = outcome(writers[i]->commit(writes));
      EXPECT_TRUE(ended == "ok" || ended == "conflict") << ended;
    };
    do_all(subject->waits(), writers.size(), race);
    EXPECT_EQ(scan(*store, name, fmt::format("{}.", round), "", 10).size(), 1U);
  }
}

}  // namespace dunlin::contract
