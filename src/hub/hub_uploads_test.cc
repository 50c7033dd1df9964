#include <gtest/gtest.h>

#include <map>

#include "hub/hub.h"
#include "store/memory.h"

namespace dunlin::hub {
namespace {

// Says what the core was asked and lets its commits fail.
class SeenCore final : public Core {
 public:
  Answer handle(Request&& request, Instant now) override {
    if (const auto* part = std::get_if<BlobPart>(&request); part && part->bytes.empty()) ++given_up;
    return below_->handle(std::move(request), now);
  }
  Result<void> commit(Instant now) override {
    if (failing) return Error{Code::unavailable, "the disk is gone"};
    return below_->commit(now);
  }
  std::vector<std::string> expire(Instant now) override { return below_->expire(now); }
  std::optional<Instant> next_expiry() const override { return below_->next_expiry(); }

  bool failing = false;
  int given_up = 0;

 private:
  std::unique_ptr<Core> below_ = memory_core();
};

class HubUploads : public testing::Test {
 protected:
  HubUploads() {
    for (SessionId session = 1; session <= 9; ++session) hub.opened(session, Scope::submit);
  }

  // Sends, and takes the turn; nothing if it was not answered yet.
  std::optional<Answer> ask(SessionId session, Request request) {
    hub.request(session, ++last_id, std::move(request), now);
    turn();
    return answer(last_id);
  }
  void turn() {
    for (Reply& reply : hub.turn(now)) answers.insert_or_assign(reply.id, std::move(reply.answer));
  }
  std::optional<Answer> answer(uint64_t id) {
    const auto found = answers.find(id);
    return found == answers.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Answer> begin(SessionId session, uint64_t upload) {
    return ask(session, BlobPart{upload, 0, std::string(kBlobPart, 'x')});
  }
  std::optional<Answer> go_on(SessionId session, uint64_t upload) {
    return ask(session, BlobPart{upload, kBlobPart, "y"});
  }
  std::optional<Answer> end(SessionId session, uint64_t upload) {
    return ask(session, BlobEnd{upload, "b" + std::to_string(upload), kBlobPart + 1});
  }
  static bool done(const std::optional<Answer>& answer) {
    return answer && std::holds_alternative<Done>(*answer);
  }
  static std::optional<Code> code(const std::optional<Answer>& answer) {
    const auto* error = answer ? std::get_if<Error>(&*answer) : nullptr;
    return error == nullptr ? std::optional<Code>() : error->code;
  }

  SeenCore core;
  HubMind hub{core, {.uploads_max = 3, .uploads_all_max = 6, .beginners_max = 2}};
  Instant now = Instant(Millis(1'000'000));
  uint64_t last_id = 0;
  std::map<uint64_t, Answer> answers;
};

TEST_F(HubUploads, OneConnectionCannotTakeAllPlaces) {
  for (uint64_t upload = 1; upload <= 3; ++upload) EXPECT_TRUE(done(begin(1, upload)));
  EXPECT_EQ(code(begin(1, 4)), Code::full);
  EXPECT_TRUE(done(begin(2, 5)));
  EXPECT_TRUE(done(go_on(2, 5)));
  EXPECT_TRUE(done(end(2, 5)));
  EXPECT_TRUE(done(go_on(1, 1)));
  EXPECT_TRUE(done(end(1, 1)));
  EXPECT_TRUE(done(begin(1, 4)));
}

TEST_F(HubUploads, WhoBeginsWaitsForAPlaceAndTheOthersGoOn) {
  for (uint64_t upload = 1; upload <= 6; ++upload) EXPECT_TRUE(done(begin(1 + upload % 2, upload)));
  EXPECT_EQ(begin(3, 7), std::nullopt);
  const uint64_t first = last_id;
  EXPECT_EQ(begin(4, 8), std::nullopt);
  const uint64_t second = last_id;
  EXPECT_EQ(code(begin(5, 9)), Code::full);  // Only so many wait.
  EXPECT_TRUE(done(go_on(1, 2)));
  EXPECT_EQ(answer(first), std::nullopt);
  EXPECT_TRUE(done(end(1, 2)));
  EXPECT_TRUE(done(answer(first)));
  EXPECT_EQ(answer(second), std::nullopt);
  EXPECT_TRUE(done(go_on(3, 7)));
  EXPECT_TRUE(done(end(3, 7)));
  EXPECT_TRUE(done(answer(second)));
  EXPECT_TRUE(done(go_on(4, 8)));
  EXPECT_TRUE(done(end(4, 8)));
}

TEST_F(HubUploads, WhoAsksAgainWhileItWaitsBeginsOnce) {
  for (uint64_t upload = 1; upload <= 6; ++upload) EXPECT_TRUE(done(begin(1 + upload % 2, upload)));
  EXPECT_EQ(begin(3, 7), std::nullopt);
  const uint64_t first = last_id;
  EXPECT_EQ(begin(3, 7), std::nullopt);
  const uint64_t second = last_id;
  EXPECT_TRUE(done(go_on(1, 2)));
  EXPECT_TRUE(done(end(1, 2)));
  EXPECT_TRUE(done(answer(first)));
  EXPECT_TRUE(done(answer(second)));
  EXPECT_TRUE(done(go_on(3, 7)));
  EXPECT_TRUE(done(end(3, 7)));
  EXPECT_EQ(hub.uploads(), 5U);
}

TEST_F(HubUploads, WhoGetsNoPlaceIsToldSo) {
  for (uint64_t upload = 1; upload <= 6; ++upload) EXPECT_TRUE(done(begin(1 + upload % 2, upload)));
  EXPECT_EQ(begin(3, 7), std::nullopt);
  const uint64_t id = last_id;
  ASSERT_TRUE(hub.next_wake());
  now = *hub.next_wake();
  turn();
  EXPECT_EQ(code(answer(id)), Code::full);
  EXPECT_EQ(hub.uploads(), 6U);
}

TEST_F(HubUploads, AnUploadEndsWithItsConnectionUnlessAnotherGoesOnWithIt) {
  for (uint64_t upload = 1; upload <= 6; ++upload) EXPECT_TRUE(done(begin(1 + upload % 2, upload)));
  hub.closed(1);  // 2, 4 and 6.
  EXPECT_TRUE(done(go_on(3, 4)));
  EXPECT_TRUE(done(begin(4, 7)));  // In the place of 2.
  EXPECT_EQ(core.given_up, 1);
  EXPECT_TRUE(done(go_on(5, 6)));
  EXPECT_EQ(begin(4, 8), std::nullopt);
  EXPECT_TRUE(done(end(3, 4)));
  EXPECT_TRUE(done(end(5, 6)));
  EXPECT_EQ(code(go_on(3, 2)), Code::not_found);
}

TEST_F(HubUploads, OneThatWasLeftOrIsIdleIsGivenUp) {
  EXPECT_TRUE(done(begin(1, 1)));
  EXPECT_TRUE(done(begin(2, 2)));
  hub.closed(1);
  now += Uploads::kUploadLeft;
  turn();
  EXPECT_EQ(hub.uploads(), 1U);
  EXPECT_TRUE(done(go_on(2, 2)));
  now += kUploadIdle;
  EXPECT_LE(*hub.next_wake(), now);
  turn();
  EXPECT_EQ(hub.uploads(), 0U);
  EXPECT_EQ(core.given_up, 2);
  EXPECT_EQ(code(end(2, 2)), Code::not_found);
}

TEST_F(HubUploads, AFailedTurnLeavesNoPlaceTaken) {
  core.failing = true;
  for (uint64_t upload = 1; upload <= 20; ++upload) {
    EXPECT_EQ(code(begin(1, upload)), Code::unavailable);
  }
  EXPECT_EQ(hub.uploads(), 0U);
  core.failing = false;
  EXPECT_TRUE(done(begin(1, 21)));
}

TEST_F(HubUploads, WhoLeavesWaitsNoMore) {
  for (uint64_t upload = 1; upload <= 6; ++upload) EXPECT_TRUE(done(begin(1 + upload % 2, upload)));
  EXPECT_EQ(begin(3, 7), std::nullopt);
  const uint64_t id = last_id;
  hub.closed(3);
  EXPECT_TRUE(done(ask(1, BlobPart{2, 0, ""})));
  EXPECT_EQ(answer(id), std::nullopt);
  EXPECT_TRUE(done(begin(4, 8)));
}

TEST_F(HubUploads, OneOwnerCannotTakeAllPlaces) {
  Rights ann(Scope::submit);
  ann.owner = "ann";
  Rights bob(Scope::submit);
  bob.owner = "bob";
  for (SessionId session = 11; session <= 14; ++session) hub.opened(session, ann);
  hub.opened(21, bob);
  for (uint64_t upload = 1; upload <= 3; ++upload) EXPECT_TRUE(done(begin(10 + upload, upload)));
  EXPECT_EQ(code(begin(14, 4)), Code::full);
  EXPECT_TRUE(done(go_on(11, 1)));
  for (uint64_t upload = 5; upload <= 7; ++upload) EXPECT_TRUE(done(begin(21, upload)));
  EXPECT_TRUE(done(ask(11, BlobPart{1, 0, ""})));
  EXPECT_TRUE(done(begin(14, 4)));
  // Nor all places to wait for one.
  EXPECT_TRUE(done(ask(12, BlobPart{2, 0, ""})));
  EXPECT_TRUE(done(begin(1, 8)));
  EXPECT_EQ(begin(11, 9), std::nullopt);
  EXPECT_EQ(code(begin(12, 10)), Code::full);
  EXPECT_EQ(begin(1, 11), std::nullopt);
}

}  // namespace
}  // namespace dunlin::hub
