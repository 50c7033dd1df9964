#include "hub/sessions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "hub/access/token.h"
#include "store/memory.h"

namespace dunlin::hub {
namespace {

constexpr std::string_view kAdmin =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
constexpr size_t kMiB = 1 << 20;

// Sessions among peers that say what the test wants, at the test's time.
class SessionsTest : public testing::Test, public net::Peers, public Clock {
 protected:
  struct Peer {
    std::string out;
    bool paused = false;
    std::string dropped;  // Why.
  };

  net::PeerId greet(const std::string& token = std::string(kAdmin)) {
    const net::PeerId peer = ++last_;
    peers_[peer];
    sessions_.opened(peer, false);
    std::string bytes;
    append_preface(bytes);
    codec_.encode_hello({token, "test"}, bytes);
    say(peer, bytes);
    return peer;
  }
  // False if the hub does not take it now.
  bool say(net::PeerId peer, std::string_view bytes) {
    Peer& said = peers_.at(peer);
    if (said.paused || !said.dropped.empty()) return false;
    const Result<void> received = sessions_.received(peer, bytes, now_);
    if (!received.ok()) said.dropped = received.error().what;
    return true;
  }
  void turn(Millis time = Millis(0)) {
    now_ += time;
    static_cast<void>(sessions_.turn(now_));
  }
  // The first bytes of a frame of so many.
  static std::string begun(uint32_t size, size_t here) {
    std::string bytes;
    append_fixed(bytes, size);
    return bytes + std::string(here - bytes.size(), '\0');
  }
  std::string request(uint64_t id, const Request& request) {
    std::string bytes;
    codec_.encode_request(id, request, bytes);
    return bytes;
  }
  // The ids of the answers that a peer has got.
  std::vector<uint64_t> answers(net::PeerId peer) {
    FrameReader reader(FrameReader::From::hub);
    reader.set_limit(kFrameMax);
    const std::string bytes = std::exchange(peers_.at(peer).out, {});
    reader.feed(bytes);
    std::vector<uint64_t> ids;
    while (const auto frame = reader.next().value()) {
      if (const auto answer = codec_.decode_answer(*frame); answer.ok()) {
        ids.push_back(answer.value().id);
      }
    }
    return ids;
  }

  std::string* outgoing(net::PeerId peer) override { return &peers_.at(peer).out; }
  void greeted(net::PeerId /*peer*/) override {}
  void pause(net::PeerId peer, bool paused) override { peers_.at(peer).paused = paused; }
  bool clogged(net::PeerId /*peer*/) const override { return clogged_; }
  void finish(net::PeerId peer) override { peers_.at(peer).dropped = "finished"; }
  void drop(net::PeerId peer, std::string_view reason) override {
    peers_.at(peer).dropped = reason;
  }
  std::string name_of(net::PeerId /*peer*/) const override { return "test"; }
  Instant now() const override { return now_; }
  WallTime wall() const override { return WallTime(Millis(1'790'000'000'000)); }

  Instant now_{Millis(1'000'000)};
  bool clogged_ = false;
  std::map<net::PeerId, Peer> peers_;
  net::PeerId last_ = 0;
  Codec codec_;
  std::unique_ptr<Core> core_ = memory_core();
  Sessions sessions_{*this, *core_, *this, std::string(kAdmin), {.unread_all_max = 32 * kMiB}};
};

TEST_F(SessionsTest, HalfFramesOfAllTogetherHaveABudget) {
  const std::string some(64 << 10, 'x');
  size_t taken = 0;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(say(greet(), begun(kFrameMax, 100)));
  for (int round = 0; round < 100; ++round) {
    for (net::PeerId peer = 1; peer <= 100; ++peer) taken += say(peer, some) ? some.size() : 0;
    turn();
  }
  // The one that began first may go on: what it began ends.
  EXPECT_LT(taken, 32 * kMiB + kFrameMax + 100 * some.size());
  EXPECT_EQ(peers_.at(1).dropped, "");

  // Whoever asks for little is served meanwhile.
  const net::PeerId honest = greet();
  EXPECT_TRUE(say(honest, request(7, AskDepth{"q"})));
  turn();
  EXPECT_EQ(answers(honest), std::vector<uint64_t>{7});

  // All stand still: one after the other goes, until there is room.
  for (int i = 0; i < 200; ++i) turn(Millis(3'000));
  size_t dropped = 0;
  for (const auto& [peer, state] : peers_) dropped += state.dropped.empty() ? 0 : 1;
  EXPECT_GE(dropped, 1U);
  EXPECT_NE(peers_.at(1).dropped.find("too slowly"), std::string::npos);
  EXPECT_EQ(peers_.at(honest).dropped, "");
  EXPECT_TRUE(say(honest, begun(kFrameMax, 100)));
  EXPECT_TRUE(say(honest, some)) << "there is room for others";
}

TEST_F(SessionsTest, LargeFramesOfManyEndAlthoughTheyPassTheBudgetTogether) {
  constexpr size_t kPeers = 100;
  std::map<net::PeerId, std::string> left;
  for (size_t i = 0; i < kPeers; ++i) {
    const net::PeerId peer = greet();
    left[peer] = request(
        peer,
        Commit{peer,
               {Put{"t", std::to_string(peer), std::string(kValueMax, 'x'), kAnyVersion},
                Put{"t", std::to_string(peer) + "b", std::string(kValueMax, 'x'), kAnyVersion}}});
    answers(peer);
  }
  size_t answered = 0;
  for (int round = 0; round < 2000 && answered < kPeers; ++round) {
    for (auto& [peer, bytes] : left) {
      const size_t some = std::min<size_t>(bytes.size(), 16 << 10);
      if (some > 0 && say(peer, std::string_view(bytes).substr(0, some))) bytes.erase(0, some);
    }
    turn(Millis(1));
    for (const auto& [peer, bytes] : left) answered += answers(peer).size();
  }
  EXPECT_EQ(answered, kPeers);
}

TEST_F(SessionsTest, NobodyWaitsForOneThatWaitsForItsOwnTurn) {
  const net::PeerId full = greet();
  std::string flood;
  for (uint64_t id = 1; id <= 3000; ++id) flood += request(id, AskDepth{"q"});
  ASSERT_TRUE(say(full, flood));
  clogged_ = true;  // It takes no answers, so it must ask no more.
  turn(Millis(1));
  EXPECT_TRUE(peers_.at(full).paused);

  const std::string some(64 << 10, 'x');
  std::vector<net::PeerId> others;
  for (int i = 0; i < 100; ++i) {
    others.push_back(greet());
    ASSERT_TRUE(say(others.back(), begun(kFrameMax, 100)));
  }
  size_t held_back = 0;
  for (int round = 0; round < 10; ++round) {
    turn(Millis(1));
    held_back = 0;
    for (const net::PeerId peer : others) held_back += say(peer, some) ? 0 : 1;
  }
  EXPECT_EQ(held_back, others.size() - 1) << "the first one goes on";

  // All stand still: one after the other goes, until there is room.
  for (int i = 0; i < 200; ++i) turn(Millis(3'000));
  EXPECT_NE(peers_.at(others.front()).dropped.find("too slowly"), std::string::npos);
  for (const net::PeerId peer : others) EXPECT_FALSE(peers_.at(peer).paused);
  EXPECT_EQ(peers_.at(full).dropped, "");
  clogged_ = false;
  for (int i = 0; i < 5; ++i) turn(Millis(1));
  EXPECT_FALSE(peers_.at(full).paused);
  EXPECT_EQ(answers(full).size(), 3000U);
}

TEST_F(SessionsTest, AFrameThatIsBegunMustGoOn) {
  const net::PeerId silent = greet();
  const net::PeerId steady = greet();
  say(silent, begun(kMiB, 1000));
  say(steady, begun(4 * kMiB, 1000));
  for (int i = 0; i < 65; ++i) {
    say(steady, std::string(20 << 10, '\0'));
    turn(Millis(1'000));
  }
  EXPECT_NE(peers_.at(silent).dropped.find("too slowly"), std::string::npos);
  EXPECT_EQ(peers_.at(steady).dropped, "");
}

TEST_F(SessionsTest, WhoMayOnlyReadSendsSmallFrames) {
  const net::PeerId reader = greet(make_token(kAdmin, Scope::read, 0).value());
  const net::PeerId writer =
      greet(make_token(kAdmin, Scopes(Scope::read) | Scope::submit, 0).value());
  say(reader, begun(2 * kMiB, 100));
  say(writer, begun(2 * kMiB, 100));
  EXPECT_NE(peers_.at(reader).dropped.find("at most 1048576 are allowed here"), std::string::npos)
      << peers_.at(reader).dropped;
  EXPECT_EQ(peers_.at(writer).dropped, "");
}

TEST_F(SessionsTest, AFloodOfRequestsIsAnsweredInOrderOverManyTurns) {
  const net::PeerId peer = greet();
  answers(peer);
  std::string flood;
  for (uint64_t id = 1; id <= 5000; ++id) flood += request(id, AskDepth{"q"});
  ASSERT_TRUE(say(peer, flood));
  EXPECT_TRUE(peers_.at(peer).paused);
  clogged_ = true;
  turn();
  EXPECT_EQ(answers(peer).size(), HubLimits().unanswered_max);
  turn();
  EXPECT_TRUE(answers(peer).empty()) << "it takes no answers: it is not asked for more";
  clogged_ = false;
  std::vector<uint64_t> ids;
  for (int i = 0; i < 10; ++i) {
    turn();
    const std::vector<uint64_t> more = answers(peer);
    EXPECT_LE(more.size(), HubLimits().unanswered_max) << "others have their turn in between";
    ids.insert(ids.end(), more.begin(), more.end());
  }
  ASSERT_EQ(ids.size(), 5000 - HubLimits().unanswered_max);
  EXPECT_EQ(ids.back(), 5000U);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_FALSE(peers_.at(peer).paused);
}

TEST_F(SessionsTest, WhatIsKeptAndIsNoRequestEndsTheConnectionLater) {
  const net::PeerId peer = greet();
  std::string flood;
  for (uint64_t id = 1; id <= 2000; ++id) flood += request(id, AskDepth{"q"});
  flood += begun(50, 54);
  ASSERT_TRUE(say(peer, flood));
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_NE(peers_.at(peer).dropped, "");
}

}  // namespace
}  // namespace dunlin::hub
