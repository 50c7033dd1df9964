#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <thread>

#include "store/contract.h"
#include "store/contract_calls.h"

namespace dunlin::contract {

// Tables: compare and set.

TEST_P(StoreContract, ARowIsReadAsItWasWritten) {
  const uint64_t version = put(*store_, name_, "k", "value");
  EXPECT_GT(version, 0U);
  EXPECT_LT(version, kAnyVersion);
  const Row row = get(*subject_->connect(), name_, "k");
  EXPECT_EQ(row.key, "k");
  EXPECT_EQ(row.value, "value");
  EXPECT_EQ(row.version, version);
}

TEST_P(StoreContract, GetAnswersEachKeyInItsPlace) {
  put(*store_, name_, "a", "1");
  put(*store_, name_, "b", "2");
  const std::vector<Row> rows = must(store_->table().get(name_, Strings{"b", "none", "a", "b"}));
  EXPECT_EQ(keys(rows), (Strings{"b", "none", "a", "b"}));
  EXPECT_EQ(rows.at(0).value + rows.at(2).value + rows.at(3).value, "212");
  EXPECT_EQ(rows.at(1).version, 0U);
  EXPECT_EQ(rows.at(1).value, "");
  EXPECT_TRUE(must(store_->table().get(name_, {})).empty());
}

TEST_P(StoreContract, APutNeedsTheStoredVersion) {
  const uint64_t first = put(*store_, name_, "k", "1");
  EXPECT_EQ(outcome(store_->table().put(name_, {"k", "2", 0})), "conflict");
  EXPECT_EQ(outcome(store_->table().put(name_, {"k", "2", first + 1})), "conflict");
  const uint64_t second = put(*store_, name_, "k", "2", first);
  EXPECT_GT(second, first);
  EXPECT_EQ(outcome(store_->table().put(name_, {"k", "3", first})), "conflict");
  EXPECT_EQ(outcome(store_->table().put(name_, {"other", "3", second})), "conflict");
  EXPECT_EQ(get(*store_, name_, "k").value, "2");
  EXPECT_EQ(get(*store_, name_, "other").version, 0U);
}

TEST_P(StoreContract, AnyVersionMatchesWhateverIsStored) {
  const uint64_t first = put(*store_, name_, "k", "1", kAnyVersion);
  const uint64_t second = put(*store_, name_, "k", "2", kAnyVersion);
  EXPECT_GT(second, first);
  EXPECT_EQ(get(*store_, name_, "k").value, "2");
  EXPECT_EQ(outcome(store_->table().erase(name_, "k", kAnyVersion)), "ok");
  EXPECT_EQ(get(*store_, name_, "k").version, 0U);
}

TEST_P(StoreContract, AnEraseNeedsTheStoredVersion) {
  const uint64_t first = put(*store_, name_, "k", "1");
  const uint64_t second = put(*store_, name_, "k", "2", first);
  EXPECT_EQ(outcome(store_->table().erase(name_, "k", first)), "conflict");
  EXPECT_EQ(outcome(store_->table().erase(name_, "k", 0)), "conflict");
  EXPECT_EQ(get(*store_, name_, "k").version, second);
  EXPECT_EQ(outcome(store_->table().erase(name_, "k", second)), "ok");
  EXPECT_EQ(get(*store_, name_, "k").version, 0U);
  EXPECT_EQ(outcome(store_->table().erase(name_, "k", second)), "ok");  // Already gone.
}

TEST_P(StoreContract, AVersionIsNeverUsedAgain) {
  std::set<uint64_t> seen;
  uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const uint64_t version = put(*store_, name_, "k", "same");
    EXPECT_GT(version, last);
    EXPECT_EQ(outcome(store_->table().erase(name_, "k", version)), "ok");
    for (const uint64_t old : seen) {
      EXPECT_EQ(outcome(store_->table().put(name_, {"k", "x", old})), "conflict");
    }
    seen.insert(version);
    last = version;
  }
  EXPECT_EQ(seen.size(), 5U);
  put(*store_, name_, "k", "new");
  EXPECT_EQ(outcome(store_->table().erase(name_, "k", last)), "conflict");
}

TEST_P(StoreContract, TablesDoNotShareRows) {
  put(*store_, name_, "k", "here");
  EXPECT_EQ(get(*store_, name_ + "x", "k").version, 0U);
  put(*store_, name_ + "x", "k", "there");
  EXPECT_EQ(get(*store_, name_, "k").value, "here");
  EXPECT_EQ(scan(*store_, name_, "", "", 10).size(), 1U);
}

TEST_P(StoreContract, OneOfManyRacingWritersWins) {
  std::vector<std::unique_ptr<Store>> writers(8);
  for (auto& writer : writers) writer = subject_->connect();
  std::vector<uint64_t> versions(writers.size());
  for (int round = 0; round < 10; ++round) {
    const uint64_t stored = get(*store_, name_, "k").version;
    std::vector<std::string> ended(writers.size());
    const auto race = [&](size_t i) {
      ended[i] = outcome(writers[i]->table().put(name_, {"k", std::to_string(i), stored}));
    };
    std::vector<std::thread> threads;
    for (size_t i = 0; i < writers.size(); ++i) {
      if (subject_->waits()) {
        threads.emplace_back(race, i);
      } else {
        race(i);
      }
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(std::ranges::count(ended, "ok"), 1);
    ASSERT_EQ(std::ranges::count(ended, "conflict"), std::ssize(ended) - 1);
    const auto winner = std::ranges::find(ended, "ok") - ended.begin();
    EXPECT_EQ(get(*store_, name_, "k").value, std::to_string(winner));
  }
}

TEST_P(StoreContract, ACounterThatManyIncrementLosesNothing) {
  constexpr size_t kTimes = 25;
  std::vector<std::unique_ptr<Store>> writers(8);
  for (auto& writer : writers) writer = subject_->connect();
  const auto work = [&](size_t i) {
    for (size_t time = 0; time < kTimes; ++time) increment(*writers[i], name_);
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < writers.size(); ++i) {
    if (subject_->waits()) {
      threads.emplace_back(work, i);
    } else {
      work(i);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(get(*store_, name_, "counter").value, std::to_string(writers.size() * kTimes));
}

// Tables: scans and sizes.

TEST_P(StoreContract, AScanFindsThePrefixInKeyOrder) {
  for (const char* key :
       {"b", "a/~", "a", "a/2", "a0", "a/", "A/1", "a/10", "a.", "a/~~", "~", "a/2/x"}) {
    put(*store_, name_, key, std::string("of ") + key);
  }
  const Strings within = {"a/", "a/10", "a/2", "a/2/x", "a/~", "a/~~"};
  for (const size_t max : {size_t{1}, size_t{2}, size_t{6}, size_t{7}, kBatchMax}) {
    EXPECT_EQ(keys(scan(*store_, name_, "a/", "", max)), within) << max;
  }
  const Row row = scan(*store_, name_, "a/2/", "", 10).at(0);
  EXPECT_EQ(row.value, "of a/2/x");
  EXPECT_EQ(row.version, get(*store_, name_, "a/2/x").version);
  EXPECT_EQ(keys(scan(*store_, name_, "~", "", 10)), (Strings{"~"}));
  EXPECT_EQ(keys(scan(*store_, name_, "a/~~", "", 10)), (Strings{"a/~~"}));
  EXPECT_EQ(keys(scan(*store_, name_, "nothing", "", 10)), (Strings{}));
  EXPECT_EQ(scan(*store_, name_, "", "", 5).size(), 12U);
}

TEST_P(StoreContract, AScanGoesOnAfterAnyKey) {
  for (const char* key : {"a", "p1", "p2", "p3", "q"}) put(*store_, name_, key, "");
  EXPECT_EQ(keys(scan(*store_, name_, "p", "p1", 10)), (Strings{"p2", "p3"}));
  EXPECT_EQ(keys(scan(*store_, name_, "p", "p11", 10)), (Strings{"p2", "p3"}));
  EXPECT_EQ(keys(scan(*store_, name_, "p", "p3", 10)), (Strings{}));
  EXPECT_EQ(keys(scan(*store_, name_, "p", "a", 10)), (Strings{"p1", "p2", "p3"}));
  EXPECT_EQ(keys(scan(*store_, name_, "p", "p", 10)), (Strings{"p1", "p2", "p3"}));
  EXPECT_EQ(keys(scan(*store_, name_, "p", "q", 10)), (Strings{}));
  EXPECT_EQ(keys(scan(*store_, name_, "", "p3", 10)), (Strings{"q"}));
}

TEST_P(StoreContract, AScanSeesNoErasedRows) {
  std::map<std::string, uint64_t> versions;
  for (const char* key : {"a", "b", "c"}) versions[key] = put(*store_, name_, key, "");
  EXPECT_EQ(outcome(store_->table().erase(name_, "b", versions["b"])), "ok");
  EXPECT_EQ(keys(scan(*store_, name_, "", "", 1)), (Strings{"a", "c"}));
}

TEST_P(StoreContract, LargeBatchesOfRowsAreReadWhole) {
  for (const size_t count : {size_t{1'000}, kBatchMax}) {
    const std::string table = fmt::format("{}-{}", name_, count);
    std::vector<Write> writes;
    Strings names;
    for (size_t i = 0; i < count; ++i) {
      names.push_back(fmt::format("k{:05}", i));
      writes.emplace_back(Put{table, names.back(), std::to_string(i)});
    }
    EXPECT_GT(must(store_->commit(writes)), 0U);
    const std::vector<Row> rows = must(store_->table().get(table, names));
    ASSERT_EQ(rows.size(), count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(rows[i].value, std::to_string(i));
    EXPECT_EQ(keys(scan(*store_, table, "k", "", kBatchMax)), names);
    EXPECT_EQ(keys(scan(*store_, table, "k", "", 999)), names);
  }
}

TEST_P(StoreContract, RowsOfMoreBytesThanAnAnswerHoldsAreReadWhole) {
  Strings names;
  for (size_t i = 0; i < 40; ++i) {
    names.push_back(fmt::format("k{:02}", i));
    put(*store_, name_, names.back(), std::string(kValueMax, static_cast<char>('a' + i % 26)));
  }
  for (const std::vector<Row>& rows :
       {must(store_->table().get(name_, names)), scan(*store_, name_, "", "", kBatchMax)}) {
    ASSERT_EQ(keys(rows), names);
    for (size_t i = 0; i < 40; ++i) {
      EXPECT_TRUE(rows[i].value == std::string(kValueMax, static_cast<char>('a' + i % 26)));
    }
  }
}

TEST_P(StoreContract, ValuesMayHoldAnyBytesOrNone) {
  put(*store_, name_, "all", all_bytes());
  const uint64_t version = put(*store_, name_, "none", "");
  EXPECT_EQ(get(*store_, name_, "all").value, all_bytes());
  EXPECT_EQ(get(*store_, name_, "none").value, "");
  EXPECT_EQ(get(*store_, name_, "none").version, version);
}

TEST_P(StoreContract, KeysMayHoldAnyVisibleByte) {
  Strings names;
  for (char byte = 0x21; byte <= 0x7e; ++byte) names.push_back({'k', byte});
  for (const std::string& key : names) put(*store_, name_, key, key);
  EXPECT_EQ(keys(scan(*store_, name_, "k", "", 10)), names);
  for (const std::string& key : names) {
    EXPECT_EQ(get(*store_, name_, key).value, key);
    EXPECT_EQ(keys(scan(*store_, name_, key, "", 10)), (Strings{key}));
  }
}

TEST_P(StoreContract, RowsHaveLimits) {
  const std::string longest = name_ + std::string(kNameMax - name_.size(), 'x');
  const std::string key(kKeyMax, '~');
  put(*store_, longest, key, std::string(kValueMax, 'v'));
  EXPECT_EQ(get(*store_, longest, key).value.size(), kValueMax);
  EXPECT_EQ(keys(scan(*store_, longest, key, "", 10)), (Strings{key}));

  Table& table = store_->table();
  EXPECT_EQ(outcome(table.put(name_, {"k", std::string(kValueMax + 1, 'v'), 0})), "invalid");
  EXPECT_EQ(outcome(table.put(name_, {key + "~", "", 0})), "invalid");
  EXPECT_EQ(outcome(table.get(name_, Strings(kBatchMax + 1, "k"))), "invalid");
  EXPECT_EQ(outcome(table.scan(name_, "", "", 0)), "invalid");
  EXPECT_EQ(outcome(table.scan(name_, "", "", kBatchMax + 1)), "invalid");
  EXPECT_TRUE(scan(*store_, name_, "", "", 10).empty());
}

TEST_P(StoreContract, OddTableNamesAndKeysAreRefused) {
  Table& table = store_->table();
  for (const std::string& name : odd_names()) {
    EXPECT_EQ(outcome(table.put(name, {"k", "", 0})), "invalid");
    EXPECT_EQ(outcome(table.get(name, Strings{"k"})), "invalid");
    EXPECT_EQ(outcome(table.erase(name, "k", 0)), "invalid");
    EXPECT_EQ(outcome(table.scan(name, "", "", 1)), "invalid");
  }
  for (const std::string& key : odd_keys()) {
    EXPECT_EQ(outcome(table.put(name_, {key, "", 0})), "invalid");
    EXPECT_EQ(outcome(table.get(name_, Strings{key})), "invalid");
    EXPECT_EQ(outcome(table.erase(name_, key, 0)), "invalid");
    if (key.empty()) continue;
    EXPECT_EQ(outcome(table.scan(name_, key, "", 1)), "invalid");
    EXPECT_EQ(outcome(table.scan(name_, "", key, 1)), "invalid");
  }
}

}  // namespace dunlin::contract
