#include "hub/access/rights.h"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <vector>

namespace dunlin::hub {
namespace {

const std::vector<Scope> kScopes = {Scope::read, Scope::submit, Scope::worker, Scope::admin};

// Allowed with this scope and those above it, and with none below.
void expect_least(std::optional<Scope> least, const Request& request, const std::string& what,
                  bool door = false) {
  for (const Scope scope : kScopes) {
    Rights rights(scope);
    rights.door = door;
    const Result<void> allowed = allows(rights, request);
    EXPECT_EQ(allowed.ok(), least && scope >= *least) << what << " with " << name_of(scope);
    if (!allowed.ok()) {
      EXPECT_EQ(allowed.error().code, Code::denied);
    }
  }
  EXPECT_FALSE(allows(Rights(), request).ok()) << what << " without a scope";
}

Request put(const std::string& table, const std::string& key = "k", uint64_t version = 0) {
  return Commit{1, {Put{table, key, "v", version}}};
}
Request erase(const std::string& table, const std::string& key = "k") {
  return Commit{1, {Erase{table, key, kAnyVersion}}};
}

// The whole of what docs/SECURITY.md promises about tables.
TEST(Rights, EachTableIsReadWrittenAndErasedByTheScopesThatNeedIt) {
  constexpr Scope kRead = Scope::read;
  constexpr Scope kSubmit = Scope::submit;
  constexpr Scope kWorker = Scope::worker;
  constexpr Scope kAdmin = Scope::admin;
  const std::vector<std::tuple<std::string, Scope, Scope, Scope>> rules = {
      // Get, put, erase.
      {"jobs", kRead, kSubmit, kAdmin},      {"ends", kRead, kSubmit, kSubmit},
      {"waits", kRead, kSubmit, kSubmit},    {"after", kRead, kSubmit, kSubmit},
      {"keys", kRead, kSubmit, kAdmin},      {"routes", kRead, kAdmin, kAdmin},
      {"expiry", kRead, kSubmit, kAdmin},    {"history", kRead, kSubmit, kAdmin},
      {"pages", kRead, kSubmit, kSubmit},    {"nodes", kRead, kSubmit, kSubmit},
      {"outputs", kRead, kWorker, kSubmit},  {"ledgers", kRead, kWorker, kSubmit},
      {"workers", kRead, kWorker, kWorker},  {"retention", kRead, kAdmin, kAdmin},
      {"_owned", kRead, kAdmin, kAdmin},     {"tascaas", kAdmin, kAdmin, kAdmin},
      {"aws.sqs", kRead, kAdmin, kAdmin},    {"aws.sqs.later", kRead, kAdmin, kAdmin},
      {"aws.dynamo", kRead, kAdmin, kAdmin}, {"aws.s3", kRead, kAdmin, kAdmin},
      {"s3.bucket", kRead, kAdmin, kAdmin},  {"s3x.0123", kRead, kAdmin, kAdmin},
      {"ddb.table", kRead, kAdmin, kAdmin},  {"ddbx.0123", kRead, kAdmin, kAdmin},
      {"settings", kRead, kSubmit, kSubmit},  // A user's own.
  };
  for (const auto& [table, read, write, gone] : rules) {
    expect_least(read, Get{table, {"k"}}, "get " + table);
    expect_least(read, Scan{table, "", "", 1}, "scan " + table);
    expect_least(write, put(table), "put " + table);
    expect_least(write, put(table, "k", 7), "replace " + table);
    expect_least(gone, erase(table), "erase " + table);
    expect_least(gone, EraseAll{table, "k"}, "erase all " + table);
  }
}

// Workers pull from whatever has a route.
TEST(Rights, RoutesAreThoseOfQueuesWithWork) {
  expect_least(Scope::submit, put("routes", "work.5.0123456789abcdef"), "a route");
  expect_least(Scope::submit, put("routes", "work.5.0123456789abcdef", 7), "a route");
  for (const auto* key : {"tascaas.physics", "reply.x", "a/b", "work.5/x", "work.5 x", "x"}) {
    expect_least(Scope::admin, put("routes", key), key);
  }
}

TEST(Rights, SecretsOfTaScaaSAreForAdminsAlone) {
  for (const auto* key : {"signing", "secret/0123", "tenant/physics", "node/1", "job/1",
                          "dispatch/physics", "file/physics/input/a", "retiring"}) {
    expect_least(Scope::admin, Get{"tascaas", {key}}, key);
    expect_least(Scope::admin, Get{"tascaas", {"dispatch/", key}}, key);
    expect_least(Scope::admin, put("tascaas", key), key);
    expect_least(Scope::admin, erase("tascaas", key), key);
  }
  // Workers that follow the advice.
  expect_least(Scope::worker, Get{"tascaas", {"dispatch/"}}, "own advice");
  expect_least(Scope::worker, put("tascaas", "dispatch/", 3), "own advice");
  expect_least(Scope::admin, Scan{"tascaas", "dispatch/", "", 1}, "all advice");
  expect_least(Scope::admin, BlobGet{"tascaas/physics/1", 0, 1}, "a file");
  expect_least(Scope::admin, BlobEnd{1, "tascaas/physics/1", 1}, "a file");
  expect_least(Scope::admin, BlobErase{"tascaas/physics/1"}, "a file");
  expect_least(Scope::admin, BlobList{"tascaas/", "", 1}, "all files");
  expect_least(Scope::admin, Pull{"tascaas.physics", 1, Millis(1), Millis(0)}, "a partition");
  expect_least(Scope::admin, Commit{1, {Push{"tascaas.physics", {{"1", ""}}}}}, "a partition");
}

TEST(Rights, QueuesAreTakenFromByWorkersAndRepliesByWhoSubmits) {
  for (const auto& [queue, least] :
       {std::pair("work.5.0", Scope::worker), std::pair("q", Scope::worker),
        std::pair("sqs.work", Scope::worker), std::pair("reply", Scope::worker),
        std::pair("x.reply.", Scope::worker), std::pair("reply.a", Scope::submit)}) {
    expect_least(least, Pull{queue, 1, Millis(1), Millis(0)}, queue);
    expect_least(least, Renew{queue, {{"1", 1}}, Millis(1)}, queue);
    expect_least(least, Commit{1, {Finish{"reply.b", {}}, Finish{queue, {{"1", 1}}}}}, queue);
    expect_least(least, Commit{1, {Keep{queue, {"1", 1}, 0, ""}}}, queue);
    expect_least(Scope::submit, Commit{1, {Push{queue, {{"1", ""}}}}}, queue);
    expect_least(Scope::read, AskDepth{queue}, queue);
    // As rows of a mixed store.
    const std::string row = std::string(queue) + "/1";
    expect_least(Scope::submit, put("_messages", row), queue);
    expect_least(Scope::submit, put("_bodies", row), queue);
    expect_least(least, put("_messages", row, 4), queue);
    expect_least(least, put("_messages", row, kAnyVersion), queue);
    expect_least(least, erase("_messages", row), queue);
    expect_least(least, erase("_bodies", row), queue);
  }
}

TEST(Rights, APrefixThatCoversTheServicesQueuesIsForAdmins) {
  for (const char* table : {"_messages", "_bodies"}) {
    for (const char* prefix : {"", "t", "tascaas", "tascaas.", "tascaas.q/"}) {
      expect_least(Scope::admin, EraseAll{table, prefix}, prefix);
    }
    expect_least(Scope::worker, EraseAll{table, "work.5.0/"}, table);
    expect_least(Scope::worker, EraseAll{table, "tab"}, table);
  }
}

TEST(Rights, BlobsAreWrittenByWhoeverHasSomethingToPutThere) {
  expect_least(Scope::submit, BlobPart{1, 0, "x"}, "a part");
  for (const auto& [name, least] :
       {std::pair("data/a", Scope::submit), std::pair("jobs/1/input/stdin", Scope::submit),
        std::pair("jobs/1/000000000/1/out", Scope::worker), std::pair("jobs/1", Scope::worker),
        std::pair("jobs/input/x", Scope::worker), std::pair("aws.s3/01-1", Scope::admin)}) {
    expect_least(least, BlobEnd{1, name, 1}, name);
    expect_least(Scope::read, BlobGet{name, 0, 1}, name);
  }
  expect_least(Scope::worker, BlobErase{"data/a"}, "erase");
  expect_least(Scope::admin, BlobErase{"aws.s3/01-1"}, "erase");
  expect_least(Scope::read, BlobList{"", "", 1}, "list");
  expect_least(Scope::read, AskInfo{}, "info");
}

TEST(Rights, TheDoorWritesItsOwnTablesAndNoOthersMoreThanItsKeyMay) {
  for (const auto* table : {"aws.sqs", "ddb.table", "s3.bucket"}) {
    expect_least(Scope::submit, put(table), table, true);
    expect_least(Scope::submit, erase(table), table, true);
  }
  expect_least(Scope::submit, BlobEnd{1, "aws.s3/01-1", 1}, "bytes", true);
  expect_least(Scope::admin, put("tascaas"), "tascaas", true);
  expect_least(Scope::admin, put("retention", "rule"), "retention", true);
}

TEST(Rights, OneWriteOfManyIsEnoughToRefuseThemAll) {
  expect_least(Scope::admin,
               Commit{1, {Put{"settings", "k", "", 0}, Erase{"tascaas", "signing", 0}}}, "both");
}

TEST(Rights, ADenialNamesTheMissingScopeAndTheCommand) {
  const Result<void> result = allows(Scopes(Scope::read) | Scope::submit, BlobErase{"b"});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("'worker'"), std::string::npos);
  EXPECT_NE(result.error().what.find("'read,submit'"), std::string::npos);
  EXPECT_NE(result.error().what.find("dunlin token --scope worker"), std::string::npos);
}

TEST(Rights, EndAtTheirTimeAndNoPullWaitsForLonger) {
  Rights rights(Scope::worker);
  Request pull = Pull{"q", 1, Millis(1), Millis(60'000)};
  ASSERT_TRUE(limit_to_life(rights, WallTime::max() - Millis(1), pull).ok());
  rights.until = WallTime(Millis(1'000'000));
  ASSERT_TRUE(limit_to_life(rights, WallTime(Millis(999'000)), pull).ok());
  EXPECT_EQ(std::get<Pull>(pull).wait, Millis(1000));
  for (const int64_t late : {0, 1, 5000}) {
    Request get = Get{"t", {"k"}};
    const auto ended = limit_to_life(rights, WallTime(Millis(1'000'000 + late)), get);
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().code, Code::denied);
    EXPECT_NE(ended.error().what.find("token expired"), std::string::npos);
  }
}

}  // namespace
}  // namespace dunlin::hub
