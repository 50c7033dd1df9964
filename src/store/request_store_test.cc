#include "store/request_store.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "store/memory.h"
#include "testing/clock.h"

namespace dunlin {
namespace {

// Answers each request as the test says, and remembers how many there were.
class ScriptedStore final : public RequestStore {
 public:
  using Script = std::function<Answer(Request&&)>;
  explicit ScriptedStore(Script script) : RequestStore(1), script_(std::move(script)) {}

  size_t calls() const { return calls_; }

 protected:
  Answer call(Request&& request) override {
    ++calls_;
    EXPECT_TRUE(validate(request).ok());
    return script_(std::move(request));
  }

 private:
  Script script_;
  size_t calls_ = 0;
};

const Message kMessage = {"a", "hello"};
const Lease kLease = {"a", 1};

// What every kind of call ends with.
std::vector<Code> codes_of_all_calls(RequestStore& store) {
  std::vector<Code> codes;
  const auto add = [&](const auto& result) { codes.push_back(result.error().code); };
  add(store.queue().push("q", {&kMessage, 1}));
  add(store.queue().pull("q", 1, Millis(1), Millis(0)));
  add(store.queue().renew("q", {&kLease, 1}, Millis(1)));
  add(store.queue().finish("q", {&kLease, 1}));
  add(store.queue().depth("q"));
  add(store.table().get("t", std::vector<std::string>{"k"}));
  add(store.table().put("t", {"k", "", 0}));
  add(store.table().erase("t", "k", 0));
  add(store.table().scan("t", "", "", 1));
  add(store.blobs().put("b", 1, [](uint64_t, size_t) { return std::string("x"); }));
  add(store.blobs().get("b", 0, 1));
  add(store.blobs().erase("b"));
  add(store.blobs().list("", "", 1));
  add(store.commit({}));
  add(store.info());
  return codes;
}

Result<std::string> some_bytes(uint64_t /*offset*/, size_t max) { return std::string(max, 'x'); }

}  // namespace

TEST(RequestStore, AnAnswerOfAnotherKindIsUnavailable) {
  ScriptedStore depth_only([](Request&& request) -> Answer {
    if (std::holds_alternative<AskDepth>(request)) return Done{};
    return Depth{};
  });
  for (const Code code : codes_of_all_calls(depth_only)) EXPECT_EQ(code, Code::unavailable);
}

TEST(RequestStore, AnErrorIsHandedOn) {
  ScriptedStore denying([](Request&&) { return Error{Code::denied, "no"}; });
  for (const Code code : codes_of_all_calls(denying)) EXPECT_EQ(code, Code::denied);
}

TEST(RequestStore, BadInputNeverReachesTheEngine) {
  ScriptedStore store([](Request&&) { return Done{}; });
  EXPECT_EQ(store.queue().push("odd name", {&kMessage, 1}).error().code, Code::invalid);
  EXPECT_EQ(store.table().put("t", {"", "", 0}).error().code, Code::invalid);
  EXPECT_EQ(store.blobs().put("", 1, some_bytes).error().code, Code::invalid);
  EXPECT_EQ(store.blobs().put("b", kBlobMax + 1, some_bytes).error().code, Code::invalid);
  EXPECT_EQ(store.calls(), 0U);
}

TEST(RequestStore, EveryCommitHasANonceOfItsOwn) {
  std::set<uint64_t> nonces;
  ScriptedStore store([&](Request&& request) {
    nonces.insert(std::get<Commit>(request).nonce);
    return Committed{};
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(store.queue().push("q", {&kMessage, 1}).ok());
    EXPECT_TRUE(store.queue().finish("q", {&kLease, 1}).ok());
    EXPECT_TRUE(store.table().put("t", {"k", "", 0}).ok());
    EXPECT_TRUE(store.table().erase("t", "k", 0).ok());
    EXPECT_TRUE(store.commit({}).ok());
  }
  EXPECT_EQ(nonces.size(), 15U);
  EXPECT_FALSE(nonces.contains(0));
}

TEST(RequestStore, AGetThatIsAnsweredInPartAsksForTheRest) {
  ScriptedStore store([](Request&& request) {
    const auto& keys = std::get<Get>(request).keys;
    return Rows{{Row{keys.at(0), "of " + keys.at(0), 1}}};
  });
  const std::vector<std::string> keys = {"a", "b", "c"};
  const std::vector<Row> rows = store.table().get("t", keys).value();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].value, "of c");
  EXPECT_EQ(store.calls(), 3U);
}

TEST(RequestStore, AGetThatIsAnsweredWithNothingOrTooMuchEnds) {
  ScriptedStore nothing([](Request&&) { return Rows{}; });
  ScriptedStore too_much([](Request&&) { return Rows{std::vector<Row>(2)}; });
  const std::vector<std::string> keys = {"a"};
  EXPECT_EQ(nothing.table().get("t", keys).error().code, Code::unavailable);
  EXPECT_EQ(too_much.table().get("t", keys).error().code, Code::unavailable);
}

TEST(RequestStore, ABlobWhoseUploadIsForgottenIsSentAgainFromTheStart) {
  const SimClock clock;
  const std::unique_ptr<Core> core = memory_core();
  int losses = 0;
  ScriptedStore store([&](Request&& request) {
    const auto* part = std::get_if<BlobPart>(&request);
    if (part != nullptr && part->offset == kBlobPart && losses < 5) {
      ++losses;
      core->handle(BlobEnd{part->upload, "lost", 1}, clock.now());  // Of another size: forgotten.
    }
    return core->handle(std::move(request), clock.now());
  });
  const uint64_t size = 2 * kBlobPart + 1;
  EXPECT_TRUE(store.blobs().put("b", size, some_bytes).ok());
  EXPECT_EQ(losses, 5);
  EXPECT_EQ(store.calls(), 5 * 2U + 4U);
  EXPECT_EQ(store.blobs().get("b", 0, size).value(), std::string(size, 'x'));
}

TEST(RequestStore, ABlobIsNotSentForEver) {
  ScriptedStore store([](Request&&) { return Error{Code::not_found, "upload 1 was forgotten"}; });
  const Result<void> put = store.blobs().put("b", 1, some_bytes);
  EXPECT_EQ(put.error().code, Code::unavailable);
  EXPECT_NE(put.error().what.find("upload 1 was forgotten"), std::string::npos);
  EXPECT_EQ(store.calls(), 6U);
}

TEST(RequestStore, TheFailureOfASourceIsNotAForgottenUpload) {
  ScriptedStore store([](Request&&) { return Done{}; });
  const auto missing = [](uint64_t, size_t) -> Result<std::string> {
    return Error{Code::not_found, "no such file"};
  };
  const Result<void> put = store.blobs().put("b", 1, missing);
  EXPECT_EQ(put.error().code, Code::invalid);
  EXPECT_NE(put.error().what.find("no such file"), std::string::npos);
  const auto too_much = [](uint64_t, size_t max) { return std::string(max + 1, 'x'); };
  EXPECT_EQ(store.blobs().put("b", 1, too_much).error().code, Code::invalid);
  EXPECT_EQ(store.calls(), 0U);
}

TEST(RequestStore, ABlobWhoseSourceFailsIsGivenUp) {
  std::vector<uint64_t> begun;
  std::vector<uint64_t> given_up;
  ScriptedStore store([&](Request&& request) {
    const auto& part = std::get<BlobPart>(request);
    (part.bytes.empty() ? given_up : begun).push_back(part.upload);
    return Done{};
  });
  const auto ends_early = [](uint64_t offset, size_t max) -> Result<std::string> {
    return std::string(offset == 0 ? max : 0, 'x');
  };
  EXPECT_EQ(store.blobs().put("b", 2 * kBlobPart, ends_early).error().code, Code::invalid);
  EXPECT_EQ(begun.size(), 1U);
  EXPECT_EQ(given_up, begun);
}

TEST(CoreStore, AFailedCommitOfTheCoreIsTheAnswer) {
  class FullCore final : public Core {
   public:
    Answer handle(Request&& /*request*/, Instant /*now*/) override { return Committed{1}; }
    Result<void> commit(Instant /*now*/) override { return Error{Code::full, "no room"}; }
    std::vector<std::string> expire(Instant /*now*/) override { return {}; }
    std::optional<Instant> next_expiry() const override { return std::nullopt; }
  };
  FullCore core;
  const SimClock clock;
  EXPECT_EQ(core_store(core, clock, 1)->table().put("t", {"k", "", 0}).error().code, Code::full);
}

}  // namespace dunlin
