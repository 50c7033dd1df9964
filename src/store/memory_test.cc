#include "store/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "store/contract.h"
#include "store/uploads.h"
#include "testing/clock.h"

namespace dunlin {
namespace {

class MemorySubject final : public StoreSubject {
 public:
  std::unique_ptr<Store> connect() override { return core_store(*core_, clock_, ++connections_); }
  std::unique_ptr<Store> connect_twice() override {
    return twice(core_store(*core_, clock_, ++connections_));
  }
  void wait(Millis time) override { clock_.advance(time); }

 private:
  SimClock clock_;
  std::unique_ptr<Core> core_ = memory_core();
  uint64_t connections_ = 0;
};

std::unique_ptr<StoreSubject> memory_subject() { return std::make_unique<MemorySubject>(); }

// A memory core behind a lock, whose pulls wait: the smallest engine that the contract's threads
// can run against. Time is real, but wait() skips it.
class LockedMemory {
 public:
  Answer call(Request&& request) {
    std::unique_lock lock(mutex_);
    auto* pull = std::get_if<Pull>(&request);
    const Instant deadline = now() + (pull == nullptr ? Millis(0) : pull->wait);
    while (true) {
      Answer answer = core_->handle(Request(request), now());
      const auto* pulled = std::get_if<Deliveries>(&answer);
      if (pulled == nullptr || !pulled->deliveries.empty() || now() >= deadline) {
        changed_.notify_all();
        return answer;
      }
      const Instant until = std::min(deadline, core_->next_expiry().value_or(deadline));
      changed_.wait_for(lock, until - now());
    }
  }

  void skip(Millis time) {
    const std::lock_guard lock(mutex_);
    skipped_ += time;
    changed_.notify_all();
  }

 private:
  Instant now() const {
    return std::chrono::time_point_cast<Millis>(std::chrono::steady_clock::now()) + skipped_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Millis skipped_ = Millis(0);
  std::unique_ptr<Core> core_ = memory_core();
};

class LockedStore final : public RequestStore {
 public:
  LockedStore(LockedMemory& memory, uint64_t seed) : RequestStore(seed), memory_(memory) {}

 protected:
  Answer call(Request&& request) override { return memory_.call(std::move(request)); }

 private:
  LockedMemory& memory_;
};

class LockedSubject final : public StoreSubject {
 public:
  std::unique_ptr<Store> connect() override {
    return std::make_unique<LockedStore>(memory_, ++connections_);
  }
  std::unique_ptr<Store> connect_twice() override {
    return twice(std::make_unique<LockedStore>(memory_, ++connections_));
  }
  void wait(Millis time) override { memory_.skip(time); }
  bool waits() const override { return true; }

 private:
  LockedMemory memory_;
  uint64_t connections_ = 0;
};

std::unique_ptr<StoreSubject> locked_subject() { return std::make_unique<LockedSubject>(); }

// What the contract cannot see: the core's own promises to the loop that drives it.
class MemoryCoreTest : public testing::Test {
 protected:
  Answer ask(Request request, Millis at = Millis(0)) {
    EXPECT_TRUE(validate(request).ok());
    return core->handle(std::move(request), Instant(at));
  }
  void push(const std::string& queue, const std::string& id) {
    ask(Commit{1, {Push{queue, {{id, "body"}}}}});
  }
  Lease pull(const std::string& queue, Millis hold, Millis at = Millis(0)) {
    return std::get<Deliveries>(ask(Pull{queue, 1, hold}, at)).deliveries.at(0).lease;
  }
  Info info(Millis at = Millis(0)) { return std::get<Info>(ask(AskInfo{}, at)); }
  Code code_of(Request request) { return std::get<Error>(ask(std::move(request))).code; }

  std::unique_ptr<Core> core = memory_core();
};

using Names = std::vector<std::string>;

}  // namespace

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(&memory_subject));
INSTANTIATE_TEST_SUITE_P(LockedMemory, StoreContract, testing::Values(&locked_subject));
INSTANTIATE_TEST_SUITE_P(LockedMemory, WaitingContract, testing::Values(&locked_subject));

TEST_F(MemoryCoreTest, ExpireNamesTheQueuesThatGotMessagesBack) {
  push("a", "1");
  push("b", "1");
  pull("a", Millis(10));
  pull("b", Millis(20));
  EXPECT_EQ(core->next_expiry(), Instant(Millis(10)));
  EXPECT_EQ(core->expire(Instant(Millis(9))), Names{});
  EXPECT_EQ(core->expire(Instant(Millis(10))), Names{"a"});
  EXPECT_EQ(core->expire(Instant(Millis(10))), Names{});
  EXPECT_EQ(core->next_expiry(), Instant(Millis(20)));
}

TEST_F(MemoryCoreTest, ExpireAlsoNamesQueuesWhoseLeasesEndedDuringARequest) {
  push("a", "1");
  pull("a", Millis(10));
  info(Millis(15));  // Any request looks at the time first.
  EXPECT_EQ(core->expire(Instant(Millis(15))), Names{"a"});
}

TEST_F(MemoryCoreTest, AGivenBackMessageIsNamedByTheNextExpire) {
  push("a", "1");
  const Lease lease = pull("a", Millis(1000));
  ask(Renew{"a", {lease}, Millis(0)}, Millis(5));
  EXPECT_EQ(core->next_expiry(), Instant(Millis(5)));
  EXPECT_EQ(core->expire(Instant(Millis(5))), Names{"a"});
  EXPECT_EQ(core->next_expiry(), std::nullopt);
}

TEST_F(MemoryCoreTest, AFinishedLeaseDoesNotExpire) {
  push("a", "1");
  const Lease lease = pull("a", Millis(10));
  ask(Commit{2, {Finish{"a", {lease}}}});
  EXPECT_EQ(core->next_expiry(), std::nullopt);
  EXPECT_EQ(core->expire(Instant(Millis(10))), Names{});
}

TEST_F(MemoryCoreTest, EmptyQueuesAndTablesVanish) {
  push("q", "1");
  ask(Commit{2, {Put{"t", "k", "value"}}});
  EXPECT_EQ(info().queues.size(), 1U);
  EXPECT_EQ(info().queues[0].depth, (Depth{.ready = 1, .leased = 0}));
  EXPECT_EQ(info().tables.size(), 1U);
  EXPECT_EQ(info().tables[0].rows, 1U);
  EXPECT_EQ(info().live_bytes, std::string("1bodykvalue").size());
  ask(Commit{3,
             {Finish{"q", {pull("q", Millis(1))}}, Erase{"t", "k", kAnyVersion}, Push{"r", {}}}});
  EXPECT_TRUE(info().queues.empty());
  EXPECT_TRUE(info().tables.empty());
  EXPECT_EQ(info().live_bytes, 0U);
  EXPECT_EQ(info().disk_bytes, 0U);
}

TEST_F(MemoryCoreTest, InfoCountsBlobs) {
  ask(BlobPart{1, 0, "bytes"});
  EXPECT_EQ(info().blobs, 0U);  // Not visible until it is whole.
  ask(BlobEnd{1, "b", 5});
  ask(BlobEnd{2, "empty", 0});
  EXPECT_EQ(info().blobs, 2U);
  EXPECT_EQ(info().blob_bytes, 5U);
  ask(BlobErase{"b"});
  EXPECT_EQ(info().blobs, 1U);
  EXPECT_EQ(info().blob_bytes, 0U);
}

TEST_F(MemoryCoreTest, ACommitIsKnownAgainByAnyRowThatItWrote) {
  const Commit commit = {7, {Put{"t", "a", "1"}, Put{"t", "b", "1"}, Push{"q", {{"m", ""}}}}};
  const uint64_t version = std::get<Committed>(ask(commit)).version;
  ask(Commit{8, {Put{"t", "a", "2", version}, Finish{"q", {pull("q", Millis(1))}}}});
  EXPECT_EQ(std::get<Committed>(ask(commit)).version, version);
  EXPECT_TRUE(info().queues.empty());
}

TEST_F(MemoryCoreTest, ALeaseFinishesNotWhatItsOwnCommitPushedAgain) {
  push("q", "m");
  const Finish finish = {"q", {pull("q", Millis(1))}};
  ask(Commit{2, {finish, Push{"q", {{"m", "again"}}}, finish}});
  EXPECT_EQ(info().queues.at(0).depth, (Depth{.ready = 1, .leased = 0}));
}

TEST_F(MemoryCoreTest, ACommitWithoutANonceIsNeverARepeat) {
  const Commit commit = {0, {Put{"t", "a", "1"}}};
  EXPECT_GT(std::get<Committed>(ask(commit)).version, 0U);
  EXPECT_EQ(code_of(commit), Code::conflict);
}

TEST_F(MemoryCoreTest, AnUploadToleratesRepeatsAndNoGaps) {
  const std::string part(kBlobPart, 'x');
  EXPECT_EQ(code_of(BlobPart{1, kBlobPart, "late"}), Code::not_found);  // It never began.
  ask(BlobPart{1, 0, part});
  EXPECT_EQ(code_of(BlobPart{1, 2 * kBlobPart, "gap"}), Code::not_found);
  ask(BlobPart{1, kBlobPart, part});
  ask(BlobPart{1, kBlobPart, part});
  ask(BlobPart{1, 2 * kBlobPart, "end"});
  EXPECT_TRUE(std::holds_alternative<Done>(ask(BlobEnd{1, "b", 2 * kBlobPart + 3})));
  EXPECT_EQ(std::get<Bytes>(ask(BlobGet{"b", kBlobPart, kBatchBytesMax})).bytes, part + "end");
}

TEST_F(MemoryCoreTest, AnUploadAtItsStartBeginsAgain) {
  ask(BlobPart{1, 0, "first"});
  ask(BlobPart{1, 0, "second"});
  EXPECT_TRUE(std::holds_alternative<Done>(ask(BlobEnd{1, "b", 6})));
  EXPECT_EQ(std::get<Bytes>(ask(BlobGet{"b", 0, 10})).bytes, "second");
}

TEST_F(MemoryCoreTest, AnUploadOfAnotherSizeIsForgotten) {
  ask(BlobPart{1, 0, "bytes"});
  EXPECT_EQ(code_of(BlobEnd{1, "b", 6}), Code::not_found);
  EXPECT_EQ(code_of(BlobEnd{1, "b", 5}), Code::not_found);
  EXPECT_EQ(info().blobs, 0U);
}

TEST_F(MemoryCoreTest, AnUploadThatGoesOnIsNotForgottenForAnother) {
  const auto is_done = [&](const Request& request, Millis at) {
    return std::holds_alternative<Done>(ask(request, at));
  };
  for (uint64_t upload = 1; upload <= kUploadsMax; ++upload) {
    ASSERT_TRUE(is_done(BlobPart{upload, 0, "x"}, Millis(upload <= 2 ? 0 : 1)));
  }
  const uint64_t more = kUploadsMax + 1;
  EXPECT_EQ(std::get<Error>(ask(BlobPart{more, 0, "x"}, Millis(2))).code, Code::full);
  EXPECT_TRUE(is_done(BlobPart{1, 0, "x"}, Millis(3)));  // It goes on; the second one does not.
  EXPECT_EQ(std::get<Error>(ask(BlobPart{more, 0, "x"}, kUploadIdle - Millis(1))).code, Code::full);
  EXPECT_TRUE(is_done(BlobPart{more, 0, "x"}, kUploadIdle));
  EXPECT_EQ(code_of(BlobEnd{2, "b2", 1}), Code::not_found);
  EXPECT_TRUE(is_done(BlobEnd{1, "b1", 1}, kUploadIdle));
  EXPECT_TRUE(is_done(BlobEnd{more, "new", 1}, kUploadIdle));
}

TEST_F(MemoryCoreTest, AnUploadThatIsGivenUpIsGone) {
  ask(BlobPart{1, 0, "x"});
  ask(BlobPart{1, 0, ""});
  EXPECT_EQ(code_of(BlobEnd{1, "b", 1}), Code::not_found);
}

TEST(MemoryStore, IsAStoreOfItsOwn) {
  const SimClock clock;
  const auto one = memory_store(clock);
  const auto other = memory_store(clock);
  EXPECT_TRUE(one->table().put("t", {"k", "v", 0}).ok());
  EXPECT_EQ(one->info().value().tables.size(), 1U);
  EXPECT_EQ(other->info().value().tables.size(), 0U);
}

}  // namespace dunlin
