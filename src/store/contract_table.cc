// The contract of Table: compare-and-set, scans and sizes.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "store/contract.h"
#include "store/contract_calls.h"

namespace dunlin::contract {

// Tables: compare and set.

TEST_P(StoreContract, ARowIsReadAsItWasWritten) {
  const uint64_t version = put(*store, name, "k", "value");
  EXPECT_GT(version, 0U);
  EXPECT_LT(version, kAnyVersion);
  const Row row = get(*subject->connect(), name, "k");
  EXPECT_EQ(row.key, "k");
  EXPECT_EQ(row.value, "value");
  EXPECT_EQ(row.version, version);
}

TEST_P(StoreContract, GetAnswersEachKeyInItsPlace) {
  put(*store, name, "a", "1");
  put(*store, name, "b", "2");
  const std::vector<Row> rows = must(store->table().get(name, Strings{"b", "none", "a", "b"}));
  EXPECT_EQ(keys(rows), (Strings{"b", "none", "a", "b"}));
  EXPECT_EQ(rows.at(0).value + rows.at(2).value + rows.at(3).value, "212");
  EXPECT_EQ(rows.at(1).version, 0U);
  EXPECT_EQ(rows.at(1).value, "");
  EXPECT_TRUE(must(store->table().get(name, {})).empty());
}

TEST_P(StoreContract, APutNeedsTheStoredVersion) {
  const uint64_t first = put(*store, name, "k", "1");
  EXPECT_EQ(outcome(store->table().put(name, {"k", "2", 0})), "conflict");
  EXPECT_EQ(outcome(store->table().put(name, {"k", "2", first + 1})), "conflict");
  const uint64_t second = put(*store, name, "k", "2", first);
  EXPECT_GT(second, first);
  EXPECT_EQ(outcome(store->table().put(name, {"k", "3", first})), "conflict");
  EXPECT_EQ(outcome(store->table().put(name, {"other", "3", second})), "conflict");
  EXPECT_EQ(get(*store, name, "k").value, "2");
  EXPECT_EQ(get(*store, name, "other").version, 0U);
}

TEST_P(StoreContract, AnyVersionMatchesWhateverIsStored) {
  const uint64_t first = put(*store, name, "k", "1", kAnyVersion);
  const uint64_t second = put(*store, name, "k", "2", kAnyVersion);
  EXPECT_GT(second, first);
  EXPECT_EQ(get(*store, name, "k").value, "2");
  EXPECT_EQ(outcome(store->table().erase(name, "k", kAnyVersion)), "ok");
  EXPECT_EQ(get(*store, name, "k").version, 0U);
}

TEST_P(StoreContract, AnEraseNeedsTheStoredVersion) {
  const uint64_t first = put(*store, name, "k", "1");
  const uint64_t second = put(*store, name, "k", "2", first);
  EXPECT_EQ(outcome(store->table().erase(name, "k", first)), "conflict");
  EXPECT_EQ(outcome(store->table().erase(name, "k", 0)), "conflict");
  EXPECT_EQ(get(*store, name, "k").version, second);
  EXPECT_EQ(outcome(store->table().erase(name, "k", second)), "ok");
  EXPECT_EQ(get(*store, name, "k").version, 0U);
  EXPECT_EQ(outcome(store->table().erase(name, "k", second)), "ok");  // Already gone.
}

TEST_P(StoreContract, AVersionIsNeverUsedAgain) {
  std::set<uint64_t> seen;
  uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const uint64_t version = put(*store, name, "k", "same");
    EXPECT_GT(version, last);
    EXPECT_EQ(outcome(store->table().erase(name, "k", version)), "ok");
    for (const uint64_t old : seen) {
      EXPECT_EQ(outcome(store->table().put(name, {"k", "x", old})), "conflict");
    }
    seen.insert(version);
    last = version;
  }
  EXPECT_EQ(seen.size(), 5U);
  put(*store, name, "k", "new");
  EXPECT_EQ(outcome(store->table().erase(name, "k", last)), "conflict");
}

TEST_P(StoreContract, TablesDoNotShareRows) {
  put(*store, name, "k", "here");
  EXPECT_EQ(get(*store, name + "x", "k").version, 0U);
  put(*store, name + "x", "k", "there");
  EXPECT_EQ(get(*store, name, "k").value, "here");
  EXPECT_EQ(scan(*store, name, "", "", 10).size(), 1U);
}

TEST_P(StoreContract, OneOfManyRacingWritersWins) {
  std::vector<std::unique_ptr<Store>> writers(8);
  for (auto& writer : writers) writer = subject->connect();
  for (int round = 0; round < 10; ++round) {
    const uint64_t stored = get(*store, name, "k").version;
    std::vector<std::string> ended(writers.size());
    const auto race = [&](size_t i) {
      ended[i] = outcome(writers[i]->table().put(name, {"k", std::to_string(i), stored}));
    };
    do_all(subject->waits(), writers.size(), race);
    ASSERT_EQ(std::ranges::count(ended, "ok"), 1);
    ASSERT_EQ(std::ranges::count(ended, "conflict"), std::ssize(ended) - 1);
    const auto winner = std::ranges::find(ended, "ok") - ended.begin();
    EXPECT_EQ(get(*store, name, "k").value, std::to_string(winner));
  }
}

TEST_P(StoreContract, ACounterThatManyIncrementLosesNothing) {
  constexpr size_t kTimes = 25;
  std::vector<std::unique_ptr<Store>> writers(8);
  for (auto& writer : writers) writer = subject->connect();
  const auto work = [&](size_t i) {
    for (size_t time = 0; time < kTimes; ++time) increment(*writers[i], name);
  };
  do_all(subject->waits(), writers.size(), work);
  EXPECT_EQ(get(*store, name, "counter").value, std::to_string(writers.size() * kTimes));
}

// Tables: scans and sizes.

TEST_P(StoreContract, AScanFindsThePrefixInKeyOrder) {
  for (const char* key :
       {"b", "a/~", "a", "a/2", "a0", "a/", "A/1", "a/10", "a.", "a/~~", "~", "a/2/x"}) {
    put(*store, name, key, std::string("of ") + key);
  }
  const Strings within = {"a/", "a/10", "a/2", "a/2/x", "a/~", "a/~~"};
  for (const size_t max : {size_t{1}, size_t{2}, size_t{6}, size_t{7}, kBatchMax}) {
    EXPECT_EQ(keys(scan(*store, name, "a/", "", max)), within) << max;
  }
  const Row row = scan(*store, name, "a/2/", "", 10).at(0);
  EXPECT_EQ(row.value, "of a/2/x");
  EXPECT_EQ(row.version, get(*store, name, "a/2/x").version);
  EXPECT_EQ(keys(scan(*store, name, "~", "", 10)), (Strings{"~"}));
  EXPECT_EQ(keys(scan(*store, name, "a/~~", "", 10)), (Strings{"a/~~"}));
  EXPECT_EQ(keys(scan(*store, name, "nothing", "", 10)), (Strings{}));
  EXPECT_EQ(scan(*store, name, "", "", 5).size(), 12U);
}

TEST_P(StoreContract, AScanGoesOnAfterAnyKey) {
  for (const char* key : {"a", "p1", "p2", "p3", "q"}) put(*store, name, key, "");
  EXPECT_EQ(keys(scan(*store, name, "p", "p1", 10)), (Strings{"p2", "p3"}));
  EXPECT_EQ(keys(scan(*store, name, "p", "p11", 10)), (Strings{"p2", "p3"}));
  EXPECT_EQ(keys(scan(*store, name, "p", "p3", 10)), (Strings{}));
  EXPECT_EQ(keys(scan(*store, name, "p", "a", 10)), (Strings{"p1", "p2", "p3"}));
  EXPECT_EQ(keys(scan(*store, name, "p", "p", 10)), (Strings{"p1", "p2", "p3"}));
  EXPECT_EQ(keys(scan(*store, name, "p", "q", 10)), (Strings{}));
  EXPECT_EQ(keys(scan(*store, name, "", "p3", 10)), (Strings{"q"}));
}

TEST_P(StoreContract, AScanSeesNoErasedRows) {
  std::map<std::string, uint64_t> versions;
  for (const char* key : {"a", "b", "c"}) versions[key] = put(*store, name, key, "");
  EXPECT_EQ(outcome(store->table().erase(name, "b", versions["b"])), "ok");
  EXPECT_EQ(keys(scan(*store, name, "", "", 1)), (Strings{"a", "c"}));
}

TEST_P(StoreContract, LargeBatchesOfRowsAreReadWhole) {
  for (const size_t count : {size_t{1'000}, kBatchMax}) {
    const std::string table = fmt::format("{}-{}", name, count);
    std::vector<Write> writes;
    Strings names;
    for (size_t i = 0; i < count; ++i) {
      names.push_back(fmt::format("k{:05}", i));
      writes.emplace_back(Put{table, names.back(), std::to_string(i)});
    }
    EXPECT_GT(must(store->commit(writes)), 0U);
    const std::vector<Row> rows = must(store->table().get(table, names));
    ASSERT_EQ(rows.size(), count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(rows[i].value, std::to_string(i));
    EXPECT_EQ(keys(scan(*store, table, "k", "", kBatchMax)), names);
    EXPECT_EQ(keys(scan(*store, table, "k", "", 999)), names);
  }
}

TEST_P(StoreContract, RowsOfMoreBytesThanAnAnswerHoldsAreReadWhole) {
  Strings names;
  for (size_t i = 0; i < 40; ++i) {
    names.push_back(fmt::format("k{:02}", i));
    put(*store, name, names.back(), std::string(kValueMax, static_cast<char>('a' + i % 26)));
  }
  for (const std::vector<Row>& rows :
       {must(store->table().get(name, names)), scan(*store, name, "", "", kBatchMax)}) {
    ASSERT_EQ(keys(rows), names);
    for (size_t i = 0; i < 40; ++i) {
      EXPECT_TRUE(rows[i].value == std::string(kValueMax, static_cast<char>('a' + i % 26)));
    }
  }
}

TEST_P(StoreContract, ValuesMayHoldAnyBytesOrNone) {
  put(*store, name, "all", all_bytes());
  const uint64_t version = put(*store, name, "none", "");
  EXPECT_EQ(get(*store, name, "all").value, all_bytes());
  EXPECT_EQ(get(*store, name, "none").value, "");
  EXPECT_EQ(get(*store, name, "none").version, version);
}

TEST_P(StoreContract, KeysMayHoldAnyVisibleByte) {
  Strings names;
  for (char byte = 0x21; byte <= 0x7e; ++byte) names.push_back({'k', byte});
  for (const std::string& key : names) put(*store, name, key, key);
  EXPECT_EQ(keys(scan(*store, name, "k", "", 10)), names);
  for (const std::string& key : names) {
    EXPECT_EQ(get(*store, name, key).value, key);
    EXPECT_EQ(keys(scan(*store, name, key, "", 10)), (Strings{key}));
  }
}

TEST_P(StoreContract, RowsHaveLimits) {
  const std::string longest = name + std::string(kNameMax - name.size(), 'x');
  const std::string key(kKeyMax, '~');
  put(*store, longest, key, std::string(kValueMax, 'v'));
  EXPECT_EQ(get(*store, longest, key).value.size(), kValueMax);
  EXPECT_EQ(keys(scan(*store, longest, key, "", 10)), (Strings{key}));

  Table& table = store->table();
  EXPECT_EQ(outcome(table.put(name, {"k", std::string(kValueMax + 1, 'v'), 0})), "invalid");
  EXPECT_EQ(outcome(table.put(name, {key + "~", "", 0})), "invalid");
  EXPECT_EQ(outcome(table.get(name, Strings(kBatchMax + 1, "k"))), "invalid");
  EXPECT_EQ(outcome(table.scan(name, "", "", 0)), "invalid");
  EXPECT_EQ(outcome(table.scan(name, "", "", kBatchMax + 1)), "invalid");
  EXPECT_TRUE(scan(*store, name, "", "", 10).empty());
}

TEST_P(StoreContract, OddTableNamesAndKeysAreRefused) {
  Table& table = store->table();
  for (const std::string& odd : odd_names()) {
    EXPECT_EQ(outcome(table.put(odd, {"k", "", 0})), "invalid");
    EXPECT_EQ(outcome(table.get(odd, Strings{"k"})), "invalid");
    EXPECT_EQ(outcome(table.erase(odd, "k", 0)), "invalid");
    EXPECT_EQ(outcome(table.scan(odd, "", "", 1)), "invalid");
  }
  for (const std::string& key : odd_keys()) {
    EXPECT_EQ(outcome(table.put(name, {key, "", 0})), "invalid");
    EXPECT_EQ(outcome(table.get(name, Strings{key})), "invalid");
    EXPECT_EQ(outcome(table.erase(name, key, 0)), "invalid");
    if (key.empty()) continue;
    EXPECT_EQ(outcome(table.scan(name, key, "", 1)), "invalid");
    EXPECT_EQ(outcome(table.scan(name, "", key, 1)), "invalid");
  }
}

}  // namespace dunlin::contract
