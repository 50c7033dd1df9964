#include "hub/scopes.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

const std::vector<Request> kReads = {AskDepth{"q"},      Get{"t", {"k"}},     Scan{"t", "", "", 1},
                                     BlobGet{"b", 0, 1}, BlobList{"", "", 1}, AskInfo{}};
const std::vector<Request> kWrites = {Commit{1, {Put{"t", "k", "v", 0}, Push{"q", {{"1", ""}}}}},
                                      BlobPart{1, 0, "x"}, BlobEnd{1, "b", 1}};
const std::vector<Request> kReplies = {
    Pull{"reply.a", 1, Millis(1), Millis(0)}, Renew{"reply.a", {{"1", 1}}, Millis(1)},
    Commit{1, {Finish{"reply.a", {{"1", 1}}}}}, Commit{1, {Keep{"reply.a", {"1", 1}, 0, ""}}},
    EraseAll{"t", "k"}};
const std::vector<Request> kTakes = {Pull{"q", 1, Millis(1), Millis(0)},
                                     Renew{"q", {{"1", 1}}, Millis(1)},
                                     Commit{1, {Finish{"reply.a", {}}, Finish{"q", {{"1", 1}}}}},
                                     BlobErase{"b"}, Commit{1, {Keep{"q", {"1", 1}, 0, ""}}}};

void expect_each(Scopes scopes, const std::vector<Request>& requests, bool allowed) {
  for (const Request& request : requests) {
    const Result<void> result = allows(scopes, request);
    EXPECT_EQ(result.ok(), allowed) << to_text(scopes) << " request " << request.index();
    if (result.ok()) continue;
    EXPECT_EQ(result.error().code, Code::denied);
  }
}

TEST(Scopes, AReaderLooksAndChangesNothing) {
  expect_each(Scope::read, kReads, true);
  for (const auto& others : {kWrites, kReplies, kTakes}) expect_each(Scope::read, others, false);
}

TEST(Scopes, ASubmitterWritesAndTakesOnlyReplies) {
  for (const auto& some : {kReads, kWrites, kReplies}) expect_each(Scope::submit, some, true);
  expect_each(Scope::submit, kTakes, false);
}

TEST(Scopes, AWorkerAndAnAdminDoEverything) {
  for (const Scope scope : {Scope::worker, Scope::admin}) {
    for (const auto& some : {kReads, kWrites, kReplies, kTakes}) expect_each(scope, some, true);
  }
}

TEST(Scopes, OnlyAnAdminSaysHowLongJobsAreKept) {
  const std::vector<Request> rules = {Commit{1, {Put{"retention", "rule", "", 0}}},
                                      Commit{1, {Erase{"retention", "rule", 0}}},
                                      EraseAll{"retention", "r"}};
  expect_each(Scope::worker, rules, false);
  expect_each(Scope::admin, rules, true);
}

TEST(Scopes, NoScopeAllowsNothing) {
  for (const auto& some : {kReads, kWrites, kReplies, kTakes}) expect_each(Scopes(), some, false);
}

TEST(Scopes, AQueueWhoseNameOnlyContainsReplyIsNotAReplyQueue) {
  expect_each(Scope::submit, {Pull{"x.reply.", 1, {}, {}}, Pull{"reply", 1, {}, {}}}, false);
}

TEST(Scopes, ADenialNamesTheMissingScopeAndTheCommand) {
  const Result<void> result = allows(Scopes(Scope::read) | Scope::submit, Request(BlobErase{"b"}));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("'worker'"), std::string::npos);
  EXPECT_NE(result.error().what.find("'read,submit'"), std::string::npos);
  EXPECT_NE(result.error().what.find("dunlin token --scope worker"), std::string::npos);
}

TEST(Scopes, TextAndBack) {
  const Scopes all = Scopes(Scope::read) | Scope::submit | Scope::worker | Scope::admin;
  EXPECT_EQ(to_text(all), "read,submit,worker,admin");
  EXPECT_EQ(parse_scopes("admin,worker,submit,read").value(), all);
  EXPECT_EQ(parse_scopes("submit").value(), Scopes(Scope::submit));
  for (const auto* bad : {"", "root", "read,", ",read", "read;submit", "READ", "read, submit"}) {
    ASSERT_FALSE(parse_scopes(bad).ok()) << bad;
    EXPECT_EQ(parse_scopes(bad).error().code, Code::invalid);
  }
}

}  // namespace
}  // namespace dunlin
