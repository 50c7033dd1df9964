#include "store/contract.h"
#include "store/contract_calls.h"

namespace dunlin::contract {

// Commit groups.

TEST_P(StoreContract, ACommitDoesAllItsWrites) {
  push_ids(*store_, name_, {"work"});
  const uint64_t old = put(*store_, name_, "old", "");
  const Lease lease = pull_one(*store_, name_).lease;
  const std::vector<Write> writes = {Put{name_, "a", "1", 0}, Put{name_ + "x", "b", "2", 0},
                                     Erase{name_, "old", old}, Push{name_ + "x", {{"reply", "r"}}},
                                     Finish{name_, {lease}}};
  const uint64_t version = must(store_->commit(writes));
  EXPECT_GT(version, old);
  EXPECT_EQ(get(*store_, name_, "a").version, version);
  EXPECT_EQ(get(*store_, name_ + "x", "b").version, version);
  EXPECT_EQ(get(*store_, name_, "old").version, 0U);
  EXPECT_EQ(ids(pull(*store_, name_ + "x")), (Strings{"reply"}));
  EXPECT_EQ(depth(*store_, name_), Depth{});
}

TEST_P(StoreContract, ACommitWithoutPutsHasVersionZero) {
  EXPECT_EQ(must(store_->commit({})), 0U);
  const std::vector<Write> writes = {Push{name_, {{"a", ""}}}, Erase{name_, "none", 7}};
  EXPECT_EQ(must(store_->commit(writes)), 0U);
  EXPECT_EQ(ids(pull(*store_, name_)), (Strings{"a"}));
}

TEST_P(StoreContract, TheWritesOfACommitAreAppliedInOrder) {
  push_ids(*store_, name_, {"a", "b"});
  const Lease lease = pull_one(*store_, name_).lease;
  const std::vector<Write> writes = {Finish{name_, {lease}}, Push{name_, {{"a", "again"}}}};
  EXPECT_EQ(outcome(store_->commit(writes)), "ok");
  const std::vector<Delivery> pulled = pull(*store_, name_);
  ASSERT_EQ(ids(pulled), (Strings{"b", "a"}));
  EXPECT_EQ(pulled[1].body, "again");
  EXPECT_EQ(pulled[1].attempt, 1U);

  const std::vector<Write> reversed = {Push{name_, {{"b", "still queued"}}},
                                       Finish{name_, {pulled[0].lease}}};
  EXPECT_EQ(outcome(store_->commit(reversed)), "ok");
  EXPECT_EQ(depth(*store_, name_), (Depth{.ready = 0, .leased = 1}));
}

TEST_P(StoreContract, ACommitThatConflictsWritesNothingAfterTheConflict) {
  put(*store_, name_, "taken", "1");
  const std::vector<Write> writes = {Put{name_, "before", "", 0}, Put{name_, "taken", "2", 0},
                                     Put{name_, "after", "", 0}, Push{name_, {{"after", ""}}}};
  EXPECT_EQ(outcome(store_->commit(writes)), "conflict");
  EXPECT_EQ(get(*store_, name_, "taken").value, "1");
  EXPECT_EQ(get(*store_, name_, "after").version, 0U);
  EXPECT_EQ(get(*store_, name_, "before").version == 0, subject_->atomic());
  EXPECT_TRUE(pull(*store_, name_).empty());
}

TEST_P(StoreContract, AnAtomicCommitThatConflictsChangesNothing) {
  if (!subject_->atomic()) GTEST_SKIP() << "its commits are not atomic";
  const uint64_t version = put(*store_, name_, "row", "1");
  push_ids(*store_, name_, {"mine", "stale"});
  const std::vector<Lease> held = leases(pull(*store_, name_));
  EXPECT_TRUE(must(store_->queue().renew(name_, {&held.at(1), 1}, Millis(0))).empty());
  pull_one(*store_, name_);
  const std::vector<Write> good = {Put{name_, "row", "2", version}, Put{name_, "new", "", 0},
                                   Push{name_, {{"new", ""}}}, Finish{name_, {held.at(0)}}};
  for (const Write& bad :
       {Write(Put{name_, "other", "", version}), Write(Finish{name_, {held.at(1)}}),
        Write(Put{name_, "none", "", version})}) {
    std::vector<Write> writes = good;
    writes.push_back(bad);
    EXPECT_EQ(outcome(store_->commit(writes)), "conflict");
  }
  std::vector<Write> erasing = {good.at(1), good.at(2), good.at(3),
                                Erase{name_, "row", version + 1}};
  EXPECT_EQ(outcome(store_->commit(erasing)), "conflict");
  EXPECT_EQ(get(*store_, name_, "row").version, version);
  EXPECT_EQ(get(*store_, name_, "new").version, 0U);
  EXPECT_EQ(depth(*store_, name_), (Depth{.ready = 0, .leased = 2}));
  EXPECT_EQ(outcome(store_->commit(good)), "ok");
}

TEST_P(StoreContract, ACommitWithABadWriteIsRefusedWhole) {
  const Put good = {name_, "good", "", 0};
  const auto refused = [&](const Write& bad) {
    const std::vector<Write> writes = {good, Push{name_, {{"good", ""}}}, bad};
    EXPECT_EQ(outcome(store_->commit(writes)), "invalid");
  };
  refused(Put{"odd name", "k", "", 0});
  refused(Put{name_, "odd key", "", 0});
  refused(Put{name_, "large", std::string(kValueMax + 1, 'v'), 0});
  refused(Erase{name_, "", 0});
  refused(Push{name_, {{"", ""}}});
  refused(Push{name_, messages(kBatchMax)});
  refused(Push{name_, messages(kBatchBytesMax / kValueMax, kValueMax)});
  refused(Finish{"", {}});
  refused(Put{name_, "good", "twice", 0});
  refused(Erase{name_, "good", 0});
  EXPECT_EQ(get(*store_, name_, "good").version, 0U);
  EXPECT_TRUE(pull(*store_, name_).empty());
}

// Repeats, as of a client that did not hear the first answer.

TEST_P(StoreContract, RepeatedCallsAreSafe) {
  push_ids(*store_, name_, {"a"});
  push_ids(*store_, name_, {"a"});
  const std::vector<Delivery> pulled = pull(*store_, name_);
  ASSERT_EQ(ids(pulled), (Strings{"a"}));
  EXPECT_EQ(finish(*store_, name_, leases(pulled)), "ok");
  EXPECT_EQ(finish(*store_, name_, leases(pulled)), "ok");
  EXPECT_TRUE(pull(*store_, name_).empty());

  // Another call, not a repeat of the first: it may not win, and a look shows whose value it is.
  const uint64_t version = put(*store_, name_, "k", "mine");
  EXPECT_EQ(outcome(store_->table().put(name_, {"k", "mine", 0})), "conflict");
  EXPECT_EQ(get(*store_, name_, "k").value, "mine");
  EXPECT_EQ(get(*store_, name_, "k").version, version);
  EXPECT_EQ(outcome(store_->table().erase(name_, "k", version)), "ok");
  EXPECT_EQ(outcome(store_->table().erase(name_, "k", version)), "ok");
}

TEST_P(StoreContract, ARequestThatArrivesTwiceIsAppliedOnce) {
  const std::unique_ptr<Store> echo = subject_->connect_twice();
  if (echo == nullptr) GTEST_SKIP() << "it does not recognise a repeated request";
  const uint64_t created = put(*echo, name_, "k", "1");
  EXPECT_EQ(get(*store_, name_, "k").version, created);
  const uint64_t changed = put(*echo, name_, "k", "2", created);
  EXPECT_EQ(get(*store_, name_, "k").version, changed);
  EXPECT_EQ(outcome(echo->table().put(name_, {"k", "3", created})), "conflict");
  const uint64_t forced = put(*echo, name_, "k", "4", kAnyVersion);
  EXPECT_EQ(get(*store_, name_, "k").version, forced);
  for (int i = 0; i < 5; ++i) increment(*echo, name_);
  EXPECT_EQ(get(*echo, name_, "counter").value, "5");
  EXPECT_EQ(outcome(echo->table().erase(name_, "k", kAnyVersion)), "ok");
  EXPECT_EQ(get(*store_, name_, "k").version, 0U);

  push_ids(*echo, name_, {"a", "b"});
  const std::vector<Lease> held = leases(pull(*echo, name_));
  EXPECT_TRUE(must(echo->queue().renew(name_, held, kLong)).empty());
  EXPECT_EQ(finish(*echo, name_, held), "ok");
  EXPECT_EQ(depth(*echo, name_), Depth{});

  const std::string bytes = bytes_at(0, 2 * kBlobPart + 5);
  EXPECT_EQ(outcome(put_blob(*echo, name_, bytes)), "ok");
  EXPECT_TRUE(read_blob(*echo, name_, 0, bytes.size() + 1) == bytes);
  EXPECT_EQ(outcome(echo->blobs().erase(name_)), "ok");
}

TEST_P(StoreContract, ACommitThatArrivesTwiceIsAppliedOnce) {
  const std::unique_ptr<Store> echo = subject_->connect_twice();
  if (echo == nullptr) GTEST_SKIP() << "it does not recognise a repeated request";
  push_ids(*store_, name_, {"a"});
  const Lease lease = pull_one(*store_, name_).lease;
  // Applied again it would find a stale lease: the message that it pushed itself.
  const std::vector<Write> writes = {Put{name_, "k", "1", 0}, Put{name_, "any", "1", kAnyVersion},
                                     Finish{name_, {lease}}, Push{name_, {{"a", "again"}}}};
  const uint64_t version = must(echo->commit(writes));
  EXPECT_EQ(get(*store_, name_, "k").version, version);
  EXPECT_EQ(get(*store_, name_, "any").version, version);
  EXPECT_EQ(ids(pull(*store_, name_)), (Strings{"a"}));
}

}  // namespace dunlin::contract
