// The client of AWS's services against what speaks like them: the hub's own door, and stand-ins of
// others. DUNLIN_TEST_CLOUD has the endpoints (tests/e2e/engine_aws.sh starts what is behind them),
// as aws:REGION/PREFIX can be told of them.

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <set>
#include <thread>

#include "base/env_posix.h"
#include "base/wait.h"
#include "store/contract.h"
#include "store/memory.h"
#include "stores/aws/dynamo_table.h"
#include "stores/aws/manage.h"
#include "stores/aws/s3_blobs.h"
#include "stores/aws/sqs_hints.h"

namespace dunlin::cloud {
namespace {

CloudAddress address_of(const std::string& prefix) {
  const char* const endpoints = std::getenv("DUNLIN_TEST_CLOUD");
  CHECK(endpoints != nullptr);
  auto address = parse_cloud_address("aws:us-east-1/" + prefix, endpoints);
  CHECK(address.ok());
  return std::move(address).value();
}

// Rows and blobs in the cloud, queues in memory.
class PartsStore final : public Store {
 public:
  PartsStore(std::unique_ptr<Store> rows, const CloudAddress& address, RequestStore& queues)
      : rows_(std::move(rows)), blobs_(address, {}, posix_clock(), posix_disk()), queues_(queues) {}

  Queue& queue() override { return queues_.queue(); }
  Table& table() override { return rows_->table(); }
  Blobs& blobs() override { return blobs_; }
  Result<uint64_t> commit(std::span<const Write> writes) override { return rows_->commit(writes); }

 private:
  std::unique_ptr<Store> rows_;
  S3Blobs blobs_;
  RequestStore& queues_;
};

class CloudSubject final : public StoreSubject {
 public:
  std::unique_ptr<Store> connect() override { return with(rows()); }
  std::unique_ptr<Store> connect_twice() override { return with(twice(rows())); }
  bool waits() const override { return true; }
  void wait(Millis time) override { wait_until(posix_clock().now() + time, posix_clock()); }

 private:
  std::unique_ptr<RequestStore> rows() const {
    return std::make_unique<DynamoTable>(address_, CloudOptions(), posix_clock(), posix_disk());
  }
  std::unique_ptr<Store> with(std::unique_ptr<Store> rows) {
    return std::make_unique<PartsStore>(std::move(rows), address_, *queues_);
  }

  const CloudAddress address_ = address_of("contract");
  const std::unique_ptr<RequestStore> queues_ = memory_store(posix_clock());
};

std::unique_ptr<StoreSubject> parts() { return std::make_unique<CloudSubject>(); }
INSTANTIATE_TEST_SUITE_P(Cloud, StoreContract, testing::Values(&parts));

// --- What the contract does not say ---

class Cloud : public testing::Test {
 protected:
  const std::string prefix = fmt::format("t{:x}", random_seed());
  const CloudAddress address = address_of(prefix);
};

using CloudTable = Cloud;
using CloudHints = Cloud;
using CloudBlobs = Cloud;
using CloudWhole = Cloud;

template <typename T>
T must(Result<T>&& result) {
  if (!result.ok()) ADD_FAILURE() << result.error().what;
  CHECK(result.ok());
  return std::move(result).value();
}
template <typename T>
Code code_of(const Result<T>& result) {
  CHECK(!result.ok());
  return result.error().code;
}

TEST_F(CloudTable, ACommitHasLimits) {
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  std::vector<Write> writes;
  for (size_t i = 0; i < kCloudWritesMax; ++i) {
    writes.emplace_back(Put{"t", fmt::format("k{:03}", i), std::string(1000, 'x'), 0});
  }
  const uint64_t version = must(table.commit(writes));
  const auto rows = must(table.table().scan("t", "k", "", 1000));
  EXPECT_EQ(rows.size(), kCloudWritesMax);
  for (const Row& row : rows) EXPECT_EQ(row.version, version);
  writes.emplace_back(Put{"t", "one more", "", 0});
  std::get<Put>(writes.back()).key = "one-more";
  EXPECT_EQ(code_of(table.commit(writes)), Code::unsupported);
  const std::vector<Write> push = {Push{"q", {{"a", ""}}}};
  EXPECT_EQ(code_of(table.commit(push)), Code::unsupported);
  EXPECT_EQ(code_of(table.queue().depth("q")), Code::unsupported);
  const Info info = must(table.info());
  ASSERT_EQ(info.tables.size(), 1U);
  EXPECT_EQ(info.tables[0].rows, kCloudWritesMax);
}

TEST_F(CloudTable, AConflictNamesTheRow) {
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  const uint64_t version = must(table.table().put("t", {"k", "1", 0}));
  const auto again = table.table().put("t", {"k", "2", 7});
  EXPECT_EQ(again.error().what,
            fmt::format("row k of table t has version {}, not 7: read it again", version));
}

TEST_F(CloudTable, ARepeatIsKnownEvenIfSomeRowsChangedSince) {
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  const Commit commit = {42, {Put{"t", "a", "1", kAnyVersion}, Put{"t", "b", "1", kAnyVersion}}};
  const auto first = std::get<Committed>(table.ask(Commit(commit)));
  must(table.table().put("t", {"a", "2", first.version}));
  EXPECT_EQ(std::get<Committed>(table.ask(Commit(commit))).version, first.version);
  EXPECT_EQ(must(table.table().get("t", std::vector<std::string>{"a"})).at(0).value, "2");
}

// Also where connections are cut: each commit is applied once, and is told the version it got.
TEST_F(CloudTable, WhatOneWriterCountsIsExact) {
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  uint64_t single = 0;
  uint64_t both = 0;
  for (int i = 1; i <= 100; ++i) {
    single = must(table.table().put("t", {"single", std::to_string(i), single}));
    const std::vector<Write> writes = {Put{"t", "a", std::to_string(i), both},
                                       Put{"t", "b", std::to_string(i), both},
                                       Erase{"t", fmt::format("none-{}", i), 0}};
    both = must(table.commit(writes));
  }
  const auto rows = must(table.table().scan("t", "", "", 10));
  ASSERT_EQ(rows.size(), 3U);
  for (const Row& row : rows) EXPECT_EQ(row.value, "100");
}

TEST_F(CloudTable, AClockThatIsBehindWritesLargerVersions) {
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  struct Behind final : Clock {
    Instant now() const override { return posix_clock().now(); }
    // As far as a signature may be.
    WallTime wall() const override { return posix_clock().wall() - std::chrono::minutes(10); }
  } behind;
  DynamoTable late(address, {}, behind, posix_disk());
  const uint64_t first = must(table.table().put("t", {"k", "1", 0}));
  const uint64_t second = must(late.table().put("t", {"k", "2", first}));
  EXPECT_GT(second, first);
  const uint64_t third = must(late.table().put("t", {"k", "3", kAnyVersion}));
  EXPECT_GT(third, second);
  must(table.table().put("t", {"other", "1", 0}));
  const uint64_t forced = must(late.table().put("t", {"other", "3", kAnyVersion}));
  EXPECT_EQ(must(table.table().get("t", std::vector<std::string>{"other"})).at(0).version, forced);
}

TEST_F(CloudTable, AnotherProgramsTableIsLeftAlone) {
  CloudLink link(address, {}, posix_clock(), posix_disk());
  const json keys = {{{"AttributeName", "id"}, {"KeyType", "HASH"}}};
  const json types = {{{"AttributeName", "id"}, {"AttributeType", "S"}}};
  const Reply made = must(link.call(Service::dynamodb, "CreateTable",
                                    {{"TableName", address.rows_table()},
                                     {"BillingMode", "PAY_PER_REQUEST"},
                                     {"KeySchema", keys},
                                     {"AttributeDefinitions", types}}));
  ASSERT_TRUE(made.ok() || made.error == "ResourceInUseException") << made.error;  // A repeat.
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  const auto put = table.table().put("t", {"k", "", 0});
  EXPECT_EQ(code_of(put), Code::conflict);
  EXPECT_NE(put.error().what.find("belongs to another program"), std::string::npos);
  EXPECT_EQ(code_of(destroy_cloud(address, kAllParts, {}, posix_clock(), posix_disk())),
            Code::conflict);
}

TEST_F(CloudTable, ATableThatIsGoneIsMadeAgain) {
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  must(table.table().put("t", {"k", "", 0}));
  CloudLink link(address, {}, posix_clock(), posix_disk());
  must(link.call(Service::dynamodb, "DeleteTable", {{"TableName", address.rows_table()}}));
  EXPECT_EQ(must(table.table().get("t", std::vector<std::string>{"k"})).at(0).version, 0U);
  must(link.call(Service::dynamodb, "DeleteTable", {{"TableName", address.rows_table()}}));
  must(table.table().put("t", {"k", "", 0}));
}

std::vector<mixed::Hint> drain(SqsHints& hints, std::string_view queue) {
  std::vector<mixed::Hint> all;
  while (true) {
    std::vector<mixed::Hint> some = must(hints.receive(queue, 100, Millis(1000)));
    if (some.empty()) return all;
    std::vector<std::string> receipts;
    for (mixed::Hint& hint : some) {
      receipts.push_back(hint.receipt);
      all.push_back(std::move(hint));
    }
    EXPECT_TRUE(hints.settle(queue, receipts).ok());
  }
}

TEST_F(CloudHints, ComeAsTheyWereSent) {
  SqsHints hints(address, {}, posix_clock(), posix_disk());
  EXPECT_TRUE(must(hints.receive("jobs.ready", 10, Millis(0))).empty());
  EXPECT_TRUE(hints.settle("jobs.ready", std::vector<std::string>{"x"}).ok());
  std::vector<std::string> sent;
  std::set<std::string> wanted;
  for (int i = 0; i < 25; ++i) {
    sent.push_back(fmt::format("{}-", i) + std::string(1, static_cast<char>(i)) + "\xff");
  }
  for (int i = 0; i < 11; ++i) {
    sent.emplace_back(hints.bytes_max(), static_cast<char>('a' + i));
  }
  wanted.insert(sent.begin(), sent.end());
  ASSERT_TRUE(hints.send("jobs.ready", sent).ok());
  const Result<void> large =
      hints.send("jobs.ready", std::vector<std::string>{std::string(hints.bytes_max() + 1, 'x')});
  EXPECT_EQ(code_of(large), Code::invalid);
  SqsHints other(address, {}, posix_clock(), posix_disk());
  std::multiset<std::string> got;
  for (const mixed::Hint& hint : drain(other, "jobs.ready")) got.insert(hint.bytes);
  EXPECT_EQ(got.size(), sent.size());
  EXPECT_EQ(std::set<std::string>(got.begin(), got.end()), wanted);
}

TEST_F(CloudHints, QueuesDoNotShareThem) {
  SqsHints hints(address, {}, posix_clock(), posix_disk());
  ASSERT_TRUE(hints.send("a.b", std::vector<std::string>{"1"}).ok());
  ASSERT_TRUE(hints.send("a_b", std::vector<std::string>{"2"}).ok());
  const auto got = must(hints.receive("a_b", 10, Millis(0)));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].bytes, "2");
}

TEST_F(CloudHints, WhoWaitsIsWoken) {
  SqsHints hints(address, {}, posix_clock(), posix_disk());
  const Instant begun = posix_clock().now();
  std::thread sender([&] {
    SqsHints other(address, {}, posix_clock(), posix_disk());
    wait_until(posix_clock().now() + Millis(700), posix_clock());
    EXPECT_TRUE(other.send("q", std::vector<std::string>{"x"}).ok());
  });
  const auto got = must(hints.receive("q", 10, Millis(20'000)));
  sender.join();
  EXPECT_EQ(got.size(), 1U);
  EXPECT_LT(posix_clock().now() - begun, Millis(10'000));
}

TEST_F(CloudHints, AWaitEnds) {
  SqsHints hints(address, {}, posix_clock(), posix_disk());
  const Instant begun = posix_clock().now();
  EXPECT_TRUE(must(hints.receive("q", 10, Millis(900))).empty());
  EXPECT_GE(posix_clock().now() - begun, Millis(850));
  EXPECT_LT(posix_clock().now() - begun, Millis(5000));
}

TEST_F(CloudHints, StopEndsAWaitAndAllLaterOnes) {
  SqsHints hints(address, {}, posix_clock(), posix_disk());
  ASSERT_TRUE(must(hints.receive("q", 1, Millis(100))).empty());
  const Instant begun = posix_clock().now();
  std::thread stopper([&] {
    wait_until(posix_clock().now() + Millis(300), posix_clock());
    hints.stop();
  });
  EXPECT_TRUE(must(hints.receive("q", 10, Millis(20'000))).empty());
  stopper.join();
  EXPECT_TRUE(must(hints.receive("q", 10, Millis(20'000))).empty());
  EXPECT_LT(posix_clock().now() - begun, Millis(3000));
  // Of another queue, as a service may still hand this one's to the wait that ended.
  EXPECT_TRUE(hints.send("r", std::vector<std::string>{"x"}).ok());
  EXPECT_EQ(must(hints.receive("r", 10, Millis(20'000))).size(), 1U);
}

TEST_F(CloudHints, AQueueThatIsGoneIsMadeAgain) {
  SqsHints hints(address, {}, posix_clock(), posix_disk());
  ASSERT_TRUE(hints.send("q", std::vector<std::string>{"x"}).ok());
  CloudLink link(address, {}, posix_clock(), posix_disk());
  const Reply found =
      must(link.call(Service::sqs, "GetQueueUrl", {{"QueueName", address.queue_name("q")}}));
  must(link.call(Service::sqs, "DeleteQueue", {{"QueueUrl", found.body.at("QueueUrl")}}));
  const Result<void> again = hints.send("q", std::vector<std::string>{"y"});
  if (!again.ok()) {  // SQS itself makes us wait for a minute, and so do stand-ins.
    EXPECT_EQ(code_of(again), Code::unavailable) << again.error().what;
    return;
  }
  EXPECT_EQ(must(hints.receive("q", 10, Millis(1000))).at(0).bytes, "y");
}

Result<void> put_bytes(Blobs& blobs, const std::string& name, const std::string& bytes) {
  return blobs.put(name, bytes.size(), [&](uint64_t offset, size_t max) -> Result<std::string> {
    return bytes.substr(offset, max);
  });
}

TEST_F(CloudBlobs, LargeOnesAreWrittenOnce) {
  S3Blobs blobs(address, {}, posix_clock(), posix_disk());
  std::string bytes(2 * kPartMin + 12'345, 'a');
  for (size_t i = 0; i < bytes.size(); i += 97) bytes[i] = static_cast<char>(i);
  ASSERT_TRUE(put_bytes(blobs, "dir/large", bytes).ok());
  EXPECT_TRUE(put_bytes(blobs, "dir/large", bytes).ok());
  bytes.back() = '!';
  EXPECT_EQ(code_of(put_bytes(blobs, "dir/large", bytes)), Code::conflict);
  EXPECT_EQ(must(blobs.get("dir/large", bytes.size() - 3, 100)).size(), 3U);
}

TEST_F(CloudBlobs, ASourceThatChangesIsNotedAndLeavesNothing) {
  S3Blobs blobs(address, {}, posix_clock(), posix_disk());
  size_t asked = 0;
  const auto source = [&](uint64_t /*offset*/, size_t max) -> Result<std::string> {
    return std::string(max, static_cast<char>('a' + asked++ % 26));
  };
  EXPECT_EQ(code_of(blobs.put("b", 2 * kPartMin + 1, source)), Code::conflict);
  EXPECT_EQ(code_of(blobs.get("b", 0, 1)), Code::not_found);
  EXPECT_TRUE(must(blobs.list("", "", 10)).empty());
}

TEST_F(CloudBlobs, AnObjectThatTellsNoHashIsCompared) {
  S3Blobs blobs(address, {}, posix_clock(), posix_disk());
  ASSERT_TRUE(put_bytes(blobs, "x", "first").ok());
  CloudLink link(address, {}, posix_clock(), posix_disk());
  const Reply put = must(link.s3({.method = "PUT",
                                  .path = "/" + address.blobs_bucket() + "/plain",
                                  .query = {},
                                  .headers = {},
                                  .body = "bytes"}));
  ASSERT_TRUE(put.ok()) << put.error;
  EXPECT_TRUE(put_bytes(blobs, "plain", "bytes").ok());
  EXPECT_EQ(code_of(put_bytes(blobs, "plain", "bytez")), Code::conflict);
}

TEST_F(CloudBlobs, ABucketOfTheUsersHoldsMoreThanOurs) {
  S3Blobs theirs(address, {}, posix_clock(), posix_disk());
  ASSERT_TRUE(put_bytes(theirs, "mine/a", "theirs").ok());
  CloudAddress ours = address;
  ours.bucket = address.blobs_bucket();
  ours.prefix = "mine-2";
  S3Blobs blobs(ours, {}, posix_clock(), posix_disk());
  for (const char* name : {"a", "b/c", "b/d"}) ASSERT_TRUE(put_bytes(blobs, name, name).ok());
  EXPECT_EQ(must(theirs.get("mine-2/b/c", 0, 9)), "b/c");
  EXPECT_EQ(must(blobs.get("b/c", 0, 9)), "b/c");
  EXPECT_EQ(must(blobs.list("", "", 10)).size(), 3U);
  EXPECT_EQ(must(blobs.list("b/", "b/c", 10)).at(0).name, "b/d");
  ASSERT_TRUE(blobs.erase("a").ok());
  const CloudParts only = {.blobs = true};
  const auto list = must(list_cloud(ours, only, {}, posix_clock(), posix_disk()));
  EXPECT_EQ(list, (std::vector<CloudThing>{{Service::s3, ours.bucket + "/mine-2/"}}));
  ASSERT_TRUE(destroy_cloud(ours, only, {}, posix_clock(), posix_disk()).ok());
  EXPECT_TRUE(must(blobs.list("", "", 10)).empty());
  EXPECT_EQ(must(theirs.list("", "", 10)).at(0).name, "mine/a");

  ours.bucket = prefix + "-missing";
  S3Blobs nowhere(ours, {}, posix_clock(), posix_disk());
  const Result<void> put = put_bytes(nowhere, "a", "a");
  EXPECT_EQ(code_of(put), Code::not_found);
  EXPECT_NE(put.error().what.find(ours.bucket), std::string::npos);
}

TEST_F(CloudWhole, IsListedAndDestroyed) {
  using Things = std::vector<CloudThing>;
  const auto list = [](const CloudAddress& at) {
    return must(list_cloud(at, kAllParts, {}, posix_clock(), posix_disk()));
  };
  const auto destroy = [](const CloudAddress& at, CloudParts parts) {
    const Result<void> gone = destroy_cloud(at, parts, {}, posix_clock(), posix_disk());
    EXPECT_TRUE(gone.ok()) << gone.error().what;
  };
  EXPECT_TRUE(list(address).empty());
  // A neighbour whose prefix begins with ours.
  const CloudAddress neighbour = address_of(prefix + "-2");
  SqsHints hints(address, {}, posix_clock(), posix_disk());
  SqsHints others(neighbour, {}, posix_clock(), posix_disk());
  ASSERT_TRUE(hints.send("b", std::vector<std::string>{"x"}).ok());
  ASSERT_TRUE(others.send("c", std::vector<std::string>{"x"}).ok());
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  EXPECT_EQ(code_of(table.prepare(false)), Code::not_found);
  EXPECT_TRUE(must(table.prepare()));
  EXPECT_FALSE(must(table.prepare()));
  S3Blobs blobs(address, {}, posix_clock(), posix_disk());
  for (const char* name : {"a", "b/c", "d&<e"}) ASSERT_TRUE(put_bytes(blobs, name, name).ok());

  const Things all = {{Service::sqs, prefix + "_b"},
                      {Service::dynamodb, prefix + "-rows"},
                      {Service::s3, prefix + "-blobs"}};
  EXPECT_EQ(list(address), all);
  for (int i = 0; i < 2; ++i) destroy(address, {.queues = true});
  EXPECT_EQ(list(address), (Things{all[1], all[2]}));
  for (int i = 0; i < 2; ++i) destroy(address, kAllParts);
  EXPECT_TRUE(list(address).empty());
  EXPECT_EQ(list(neighbour).size(), 1U);
}

// --- What is said when something is wrong ---

TEST_F(CloudWhole, WrongKeysAreDenied) {
  const std::string secret = environment_variable("AWS_SECRET_ACCESS_KEY").value_or("");
  ASSERT_EQ(setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret", 1), 0);
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  SqsHints hints(address, {}, posix_clock(), posix_disk());
  S3Blobs blobs(address, {}, posix_clock(), posix_disk());
  const std::vector<Error> errors = {table.table().put("t", {"k", "", 0}).error(),
                                     hints.send("q", std::vector<std::string>{"x"}).error(),
                                     blobs.get("b", 0, 1).error()};
  ASSERT_EQ(setenv("AWS_SECRET_ACCESS_KEY", secret.c_str(), 1), 0);
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, Code::denied);
    EXPECT_NE(error.what.find("AWS_ACCESS_KEY_ID"), std::string::npos) << error.what;
    EXPECT_EQ(error.what.find("not-the-secret"), std::string::npos) << error.what;
  }
}

TEST_F(CloudWhole, AClockThatIsWrongIsNamed) {
  struct Off final : Clock {
    Instant now() const override { return posix_clock().now(); }
    WallTime wall() const override { return posix_clock().wall() + std::chrono::hours(2); }
  } off;
  DynamoTable table(address, {}, off, posix_disk());
  const Error error = table.table().put("t", {"k", "", 0}).error();
  EXPECT_EQ(error.code, Code::denied);
  EXPECT_NE(error.what.find("ahead of"), std::string::npos) << error.what;
}

TEST_F(CloudWhole, NobodyThereIsUnavailable) {
  const CloudOptions hasty = {.connect_wait = Millis(1500)};
  auto nowhere = parse_cloud_address("aws:us-east-1/lab", "http://127.0.0.1:1");
  DynamoTable table(nowhere.value(), hasty, posix_clock(), posix_disk());
  const Error error = table.table().put("t", {"k", "", 0}).error();
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_NE(error.what.find("127.0.0.1:1"), std::string::npos) << error.what;
  auto unknown = parse_cloud_address("aws:no-such-1/lab", "https://sqs.no-such-1.invalid");
  SqsHints hints(unknown.value(), hasty, posix_clock(), posix_disk());
  const Error no_host = hints.send("q", std::vector<std::string>{"x"}).error();
  EXPECT_EQ(no_host.code, Code::unavailable);
  EXPECT_NE(no_host.what.find("check the region"), std::string::npos) << no_host.what;
}

TEST_F(CloudWhole, RequestsAreCounted) {
  DynamoTable table(address, {}, posix_clock(), posix_disk());
  ASSERT_TRUE(table.prepare().ok());
  const Sent before = requests_sent();
  must(table.table().put("t", {"k", "", 0}));
  EXPECT_EQ(requests_sent().dynamodb, before.dynamodb + 1);
  EXPECT_EQ(requests_sent().s3, before.s3);
}

}  // namespace
}  // namespace dunlin::cloud
