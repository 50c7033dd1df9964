#include <gtest/gtest.h>

#include "store/request.h"

namespace dunlin {
namespace {

// Empty if the request is fine, else what is wrong with it.
std::string complaint(const Request& request) {
  const Result<void> valid = validate(request);
  if (valid.ok()) return "";
  EXPECT_EQ(valid.error().code, Code::invalid);
  EXPECT_FALSE(valid.error().what.empty());
  return valid.error().what;
}

bool fine(const Request& request) { return complaint(request).empty(); }

bool says(const Request& request, std::string_view part) {
  const std::string what = complaint(request);
  EXPECT_NE(what.find(part), std::string::npos) << what;
  return !what.empty();
}

Commit one(Write write) { return {.nonce = 1, .writes = {std::move(write)}}; }

std::vector<Message> messages(size_t count, size_t body) {
  return std::vector<Message>(count, Message{.id = "i", .body = std::string(body, 'b')});
}

std::string long_text(size_t size) { return std::string(size, 'x'); }

}  // namespace

TEST(Validate, EmptyBatchesAreFine) {
  EXPECT_TRUE(fine(Commit{}));
  EXPECT_TRUE(fine(one(Push{.queue = "q", .messages = {}})));
  EXPECT_TRUE(fine(one(Finish{.queue = "q", .leases = {}})));
  EXPECT_TRUE(fine(Renew{.queue = "q", .leases = {}, .hold = Millis(0)}));
  EXPECT_TRUE(fine(Get{.table = "t", .keys = {}}));
  EXPECT_TRUE(fine(AskInfo{}));
}

TEST(Validate, EveryRequestWithANameIsRefusedIfTheNameIsOdd) {
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a/b"), std::string("a\nb"),
        std::string(1, '\0'), std::string("\xc3\xa9"), long_text(kNameMax + 1)}) {
    EXPECT_TRUE(says(one(Push{.queue = name, .messages = {}}), "queue name"));
    EXPECT_TRUE(says(one(Finish{.queue = name, .leases = {}}), "queue name"));
    EXPECT_TRUE(says(one(Put{.table = name, .key = "k", .value = ""}), "table name"));
    EXPECT_TRUE(says(one(Erase{.table = name, .key = "k"}), "table name"));
    EXPECT_TRUE(says(Pull{.queue = name, .max = 1, .hold = Millis(1)}, "queue name"));
    EXPECT_TRUE(says(Renew{.queue = name, .leases = {}}, "queue name"));
    EXPECT_TRUE(says(AskDepth{.queue = name}, "queue name"));
    EXPECT_TRUE(says(Get{.table = name, .keys = {}}, "table name"));
    EXPECT_TRUE(says(Scan{.table = name, .prefix = "", .after = "", .max = 1}, "table name"));
  }
  EXPECT_TRUE(fine(AskDepth{.queue = long_text(kNameMax)}));
}

TEST(Validate, KeysAreVisibleAsciiOfLimitedLength) {
  EXPECT_TRUE(fine(Get{.table = "t", .keys = {"!~/", long_text(kKeyMax)}}));
  for (const std::string& key : {std::string(), std::string("a b"), std::string("a\x7f"),
                                 std::string("\xc3\xa9"), long_text(kKeyMax + 1)}) {
    EXPECT_TRUE(says(Get{.table = "t", .keys = {"fine", key}}, "key"));
    EXPECT_TRUE(says(one(Put{.table = "t", .key = key, .value = ""}), "key"));
    EXPECT_TRUE(says(one(Erase{.table = "t", .key = key}), "key"));
    EXPECT_TRUE(says(BlobEnd{.upload = 1, .name = key, .size = 0}, "blob name"));
    EXPECT_TRUE(says(BlobGet{.name = key, .offset = 0, .max = 1}, "blob name"));
    EXPECT_TRUE(says(BlobErase{.name = key}, "blob name"));
  }
}

TEST(Validate, MessageIdsAreVisibleAsciiOfLimitedLength) {
  EXPECT_TRUE(fine(one(Push{.queue = "q", .messages = {{long_text(kIdMax), ""}}})));
  for (const std::string& id : {std::string(), std::string("a b"), long_text(kIdMax + 1)}) {
    EXPECT_TRUE(says(one(Push{.queue = "q", .messages = {{"fine", ""}, {id, ""}}}), "message id"));
    EXPECT_TRUE(says(one(Finish{.queue = "q", .leases = {{id, 1}}}), "message id"));
    EXPECT_TRUE(says(Renew{.queue = "q", .leases = {{id, 1}}}, "message id"));
  }
}

TEST(Validate, AComplaintNamesTheThingItsSizeAndTheLimit) {
  const std::string what = complaint(Get{.table = "t", .keys = {long_text(513)}});
  EXPECT_NE(what.find("xxx"), std::string::npos) << what;
  EXPECT_NE(what.find("513"), std::string::npos) << what;
  EXPECT_NE(what.find("512"), std::string::npos) << what;
  EXPECT_LT(what.size(), 200U);
}

TEST(Validate, ValuesAndBodiesHaveALargestSize) {
  EXPECT_TRUE(fine(one(Put{.table = "t", .key = "k", .value = long_text(kValueMax)})));
  EXPECT_TRUE(says(one(Put{.table = "t", .key = "k", .value = long_text(kValueMax + 1)}),
                   "value of key \"k\" in table t has 262145 bytes: the limit is 262144"));
  EXPECT_TRUE(fine(one(Push{.queue = "q", .messages = messages(1, kValueMax)})));
  EXPECT_TRUE(says(one(Push{.queue = "q", .messages = messages(1, kValueMax + 1)}),
                   "body of message \"i\" has 262145 bytes: the limit is 262144"));
}

TEST(Validate, ABatchHasALargestCount) {
  EXPECT_TRUE(fine(one(Push{.queue = "q", .messages = messages(kBatchMax, 0)})));
  EXPECT_TRUE(says(one(Push{.queue = "q", .messages = messages(kBatchMax + 1, 0)}), "10001"));
  const std::vector<Lease> leases(kBatchMax + 1, Lease{.id = "i", .token = 1});
  EXPECT_TRUE(says(one(Finish{.queue = "q", .leases = leases}), "10001"));
  EXPECT_TRUE(says(Renew{.queue = "q", .leases = leases}, "10001"));
  EXPECT_TRUE(
      says(Get{.table = "t", .keys = std::vector<std::string>(kBatchMax + 1, "k")}, "10001"));
}

TEST(Validate, ACommitCountsAllItsWritesTogether) {
  Commit commit = one(Push{.queue = "q", .messages = messages(kBatchMax - 1, 0)});
  commit.writes.emplace_back(Put{.table = "t", .key = "k", .value = ""});
  EXPECT_TRUE(fine(commit));
  commit.writes.emplace_back(Erase{.table = "t", .key = "l"});
  EXPECT_TRUE(says(commit, "10001"));
  EXPECT_TRUE(
      says(Commit{.nonce = 1, .writes = std::vector<Write>(kBatchMax + 1, Write(Push{"q", {}}))},
           "10001"));
}

TEST(Validate, ABatchHasALargestSumOfBytes) {
  // 32 bodies of 256 KiB fill the limit exactly; their ids and the queue's name have no room left.
  EXPECT_TRUE(fine(one(Push{.queue = "q", .messages = messages(31, kValueMax)})));
  EXPECT_TRUE(says(one(Push{.queue = "q", .messages = messages(32, kValueMax)}), "8388641 bytes"));
  std::vector<Message> exact = messages(32, kValueMax);
  exact[0].body.resize(kValueMax - 33);
  EXPECT_TRUE(fine(one(Push{.queue = "q", .messages = exact})));
}

TEST(Validate, ACommitNamesEachRowOnce) {
  const Put put = {.table = "t", .key = "k", .value = ""};
  EXPECT_TRUE(
      fine(Commit{.nonce = 1, .writes = {put, Put{.table = "u", .key = "k", .value = ""}}}));
  EXPECT_TRUE(says(Commit{.nonce = 1, .writes = {put, put}}, "twice"));
  EXPECT_TRUE(says(Commit{.nonce = 1, .writes = {put, Erase{.table = "t", .key = "k"}}}, "twice"));
}

TEST(Validate, TimesHaveBounds) {
  const Pull pull = {.queue = "q", .max = 1, .hold = Millis(1), .wait = Millis(0)};
  const auto with = [&](Millis hold, Millis wait) {
    Pull other = pull;
    other.hold = hold;
    other.wait = wait;
    return fine(other);
  };
  EXPECT_TRUE(with(Millis(1), Millis(0)));
  EXPECT_TRUE(with(kHoldMax, kWaitMax));
  EXPECT_FALSE(with(Millis(0), Millis(0)));
  EXPECT_FALSE(with(kHoldMax + Millis(1), Millis(0)));
  EXPECT_FALSE(with(Millis(1), Millis(-1)));
  EXPECT_FALSE(with(Millis(1), kWaitMax + Millis(1)));
  EXPECT_TRUE(fine(Renew{.queue = "q", .leases = {}, .hold = kHoldMax}));
  EXPECT_FALSE(fine(Renew{.queue = "q", .leases = {}, .hold = Millis(-1)}));
  EXPECT_FALSE(fine(Renew{.queue = "q", .leases = {}, .hold = kHoldMax + Millis(1)}));
}

TEST(Validate, PagesHaveBounds) {
  for (const uint64_t max : {uint64_t{0}, uint64_t{kBatchMax + 1}, UINT64_MAX}) {
    EXPECT_FALSE(fine(Pull{.queue = "q", .max = max, .hold = Millis(1)}));
    EXPECT_FALSE(fine(Scan{.table = "t", .prefix = "", .after = "", .max = max}));
    EXPECT_FALSE(fine(BlobList{.prefix = "", .after = "", .max = max}));
  }
  EXPECT_TRUE(fine(Pull{.queue = "q", .max = kBatchMax, .hold = Millis(1)}));
  EXPECT_TRUE(fine(Scan{.table = "t", .prefix = "", .after = "", .max = kBatchMax}));
  EXPECT_TRUE(fine(BlobList{.prefix = "a", .after = "b", .max = kBatchMax}));
  EXPECT_TRUE(fine(BlobGet{.name = "b", .offset = UINT64_MAX, .max = kBatchBytesMax}));
  EXPECT_FALSE(fine(BlobGet{.name = "b", .offset = 0, .max = 0}));
  EXPECT_FALSE(fine(BlobGet{.name = "b", .offset = 0, .max = kBatchBytesMax + 1}));
}

TEST(Validate, PrefixesAreVisibleAsciiToo) {
  EXPECT_FALSE(fine(Scan{.table = "t", .prefix = "a b", .after = "", .max = 1}));
  EXPECT_FALSE(fine(Scan{.table = "t", .prefix = "", .after = long_text(kKeyMax + 1), .max = 1}));
  EXPECT_FALSE(fine(BlobList{.prefix = "\n", .after = "", .max = 1}));
  EXPECT_FALSE(fine(BlobList{.prefix = "", .after = "\xff", .max = 1}));
}

TEST(Validate, BlobPartsStandAtMultiplesOfTheirSize) {
  const auto part = [](uint64_t offset, size_t size) {
    return fine(BlobPart{.upload = 1, .offset = offset, .bytes = long_text(size)});
  };
  EXPECT_TRUE(part(0, 1));
  EXPECT_TRUE(part(kBlobPart, kBlobPart));
  EXPECT_TRUE(part(kBlobMax - kBlobPart, kBlobPart));
  EXPECT_FALSE(part(1, 1));
  EXPECT_FALSE(part(kBlobMax, 1));
  EXPECT_FALSE(part(0, kBlobPart + 1));
  EXPECT_FALSE(part(kBlobPart, 0));
  EXPECT_TRUE(part(0, 0));  // It gives the upload up.
  EXPECT_TRUE(fine(BlobEnd{.upload = 1, .name = "b", .size = kBlobMax}));
  EXPECT_FALSE(fine(BlobEnd{.upload = 1, .name = "b", .size = kBlobMax + 1}));
}

}  // namespace dunlin
