#include "wire/hub_client_mind.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

constexpr Millis kPatience = Millis(60'000);

// The mind of a hub's client together with a hub's end of its connection, and the time.
struct World {
  explicit World(HubClientMind::Options options = defaults()) : mind(std::move(options)) {}

  static HubClientMind::Options defaults() {
    return {.peer = "hub:7777", .hello = {.token = "t", .program = "test"}, .seed = 1};
  }

  // Carries out what the mind wants; returns the ids of the requests that it sent.
  std::vector<uint64_t> carry_out() {
    HubClientMind::Effects effects = mind.take();
    if (effects.disconnect) hub = FrameReader(FrameReader::From::client);
    connects += effects.connect ? 1 : 0;
    for (NumberedAnswer& answer : effects.answers) answers.push_back(std::move(answer));
    std::vector<uint64_t> ids;
    hub.feed(effects.send);
    while (true) {
      const auto frame = hub.next().value();
      if (!frame) return ids;
      if (!greeted) {
        EXPECT_EQ(codec.decode_hello(*frame).value().token, "t");
        greeted = true;
        continue;
      }
      sent.emplace_back(*frame);
      ids.push_back(codec.decode_request(*frame).value().id);
    }
  }

  void accept() {
    hub = FrameReader(FrameReader::From::client);
    greeted = false;
    mind.connected(now);
    EXPECT_TRUE(carry_out().empty());
    EXPECT_TRUE(greeted);
  }
  void greet(const Greeting& greeting) {
    std::string bytes;
    codec.encode_greeting(greeting, bytes);
    mind.received(bytes, now);
  }
  void answer(uint64_t id, const Answer& answer) {
    std::string bytes;
    codec.encode_answer(id, answer, bytes);
    mind.received(bytes, now);
  }
  void pass(Millis time) {
    now += time;
    mind.tick(now);
  }
  const Error& error(size_t index) { return std::get<Error>(answers.at(index).answer); }

  Instant now = Instant(Millis(1'000'000));
  HubClientMind mind;
  FrameReader hub = FrameReader(FrameReader::From::client);
  Codec codec;
  bool greeted = false;
  int connects = 0;
  std::vector<NumberedAnswer> answers;
  std::vector<std::string> sent;
};

TEST(HubClientMind, ConnectsWhenItIsAskedSomething) {
  World world;
  world.carry_out();
  EXPECT_EQ(world.connects, 0);
  const uint64_t id = world.mind.call(AskDepth{"q"}, kPatience, world.now);
  EXPECT_TRUE(world.carry_out().empty());
  EXPECT_EQ(world.connects, 1);
  world.accept();
  world.greet(Welcome{});
  EXPECT_EQ(world.carry_out(), std::vector{id});
  world.answer(id, Depth{3, 4});
  world.carry_out();
  ASSERT_EQ(world.answers.size(), 1U);
  EXPECT_EQ(world.answers[0].id, id);
  EXPECT_EQ(std::get<Depth>(world.answers[0].answer), (Depth{3, 4}));
  EXPECT_EQ(world.mind.pending(), 0U);
  EXPECT_FALSE(world.mind.next_wake());
}

TEST(HubClientMind, SendsUnansweredRequestsAgainInOrderWithTheSameBytes) {
  World world;
  const uint64_t first = world.mind.call(Commit{.nonce = 11, .writes = {}}, kPatience, world.now);
  world.carry_out();
  world.accept();
  world.greet(Welcome{});
  const uint64_t second = world.mind.call(Pull{.queue = "q"}, kPatience, world.now);
  const uint64_t third = world.mind.call(Commit{.nonce = 13, .writes = {}}, kPatience, world.now);
  EXPECT_EQ(world.carry_out(), (std::vector{first, second, third}));
  world.answer(second, Deliveries{});

  world.mind.disconnected(world.now, {Code::unavailable, "reset"});
  EXPECT_TRUE(world.carry_out().empty());
  EXPECT_EQ(world.connects, 1);
  world.pass(*world.mind.next_wake() - world.now);
  world.carry_out();
  EXPECT_EQ(world.connects, 2);
  world.accept();
  world.greet(Welcome{});
  EXPECT_EQ(world.carry_out(), (std::vector{first, third}));
  EXPECT_EQ(world.sent[3], world.sent[0]);
  EXPECT_EQ(world.sent[4], world.sent[2]);

  world.answer(first, Committed{1});
  world.answer(third, Committed{2});
  world.carry_out();
  EXPECT_EQ(world.answers.size(), 3U);
}

TEST(HubClientMind, IgnoresASecondAnswer) {
  World world;
  const uint64_t id = world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  world.accept();
  world.greet(Welcome{});
  world.carry_out();
  world.answer(id, Info{});
  world.answer(id, Error{Code::corrupt, "late"});
  world.answer(77, Done{});
  world.carry_out();
  ASSERT_EQ(world.answers.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Info>(world.answers[0].answer));
}

TEST(HubClientMind, RestsLongerAfterEachFailureUpToALimit) {
  World world;
  world.mind.call(AskInfo{}, std::chrono::hours(1), world.now);
  Millis expected = kBackoffMin;
  for (int failures = 1; failures <= 10; ++failures) {
    world.carry_out();
    ASSERT_EQ(world.connects, failures);
    world.mind.disconnected(world.now, {Code::unavailable, "refused"});
    const Millis rest = *world.mind.next_wake() - world.now;
    EXPECT_GE(rest, expected / 2);
    EXPECT_LE(rest, expected);
    world.pass(rest - Millis(1));
    world.carry_out();
    ASSERT_EQ(world.connects, failures) << "too early";
    world.pass(Millis(1));
    expected = std::min(expected * 2, kBackoffMax);
  }
}

TEST(HubClientMind, StaysAwayWhileNobodyAsks) {
  World world;
  world.mind.connect(world.now);
  world.carry_out();
  world.accept();
  world.greet(Welcome{});
  EXPECT_TRUE(world.mind.welcomed());
  world.mind.disconnected(world.now, {Code::unavailable, "reset"});
  EXPECT_FALSE(world.mind.next_wake());
  world.pass(kBackoffMax);
  world.carry_out();
  EXPECT_EQ(world.connects, 1);
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  EXPECT_EQ(world.connects, 2);
  world.mind.disconnected(world.now, {Code::unavailable, "refused"});
  world.pass(kPatience);
  world.carry_out();
  EXPECT_EQ(world.answers.size(), 1U);
  EXPECT_FALSE(world.mind.next_wake());
}

TEST(HubClientMind, KeepsTryingForAConnectionThatIsWanted) {
  World world;
  world.mind.connect(world.now);
  world.carry_out();
  world.mind.disconnected(world.now, {Code::unavailable, "refused"});
  ASSERT_TRUE(world.mind.next_wake());
  world.pass(*world.mind.next_wake() - world.now);
  world.carry_out();
  EXPECT_EQ(world.connects, 2);
}

TEST(HubClientMind, AnswersForAHubThatDoesNotAndSaysWhatWasWrong) {
  World world;
  const uint64_t id = world.mind.call(AskInfo{}, Millis(1500), world.now);
  world.carry_out();
  world.mind.disconnected(world.now, {Code::unavailable, "connection refused"});
  world.pass(Millis(1499));
  world.carry_out();
  EXPECT_TRUE(world.answers.empty());
  world.pass(Millis(1));
  world.carry_out();
  ASSERT_EQ(world.answers.size(), 1U);
  EXPECT_EQ(world.answers[0].id, id);
  EXPECT_EQ(world.error(0).code, Code::unavailable);
  EXPECT_EQ(world.error(0).what,
            "no answer from hub:7777 within 1.5 s: is the hub running there? (connection refused)");
}

TEST(HubClientMind, APullMayTakeItsWaitLonger) {
  World world;
  world.mind.call(Pull{.queue = "q", .wait = Millis(5000)}, Millis(1000), world.now);
  world.carry_out();
  world.accept();
  world.greet(Welcome{});
  world.carry_out();
  EXPECT_EQ(*world.mind.next_wake() - world.now, Millis(6000));
  world.pass(Millis(5999));
  world.carry_out();
  EXPECT_TRUE(world.answers.empty());
  world.pass(Millis(1));
  world.carry_out();
  EXPECT_EQ(world.error(0).code, Code::unavailable);
}

TEST(HubClientMind, ARefusalAnswersAllThatIsAndWillBeAsked) {
  World world;
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  world.accept();
  world.greet(Refused{Code::denied, "no such token"});
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.mind.disconnected(world.now, {Code::unavailable, "closed"});
  world.pass(kPatience);
  EXPECT_TRUE(world.carry_out().empty());
  ASSERT_EQ(world.answers.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.error(i).code, Code::denied);
    EXPECT_EQ(world.error(i).what, "hub:7777 refused us: no such token");
  }
  EXPECT_EQ(world.connects, 1);
  EXPECT_FALSE(world.mind.next_wake());
}

TEST(HubClientMind, ACertificateThatIsNotAcceptedIsFinal) {
  World world;
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  world.mind.disconnected(world.now, {Code::denied, "the certificate expired"});
  world.carry_out();
  EXPECT_EQ(world.error(0).code, Code::denied);
  EXPECT_EQ(world.error(0).what, "the certificate expired");
}

TEST(HubClientMind, AFullHubIsTriedAgain) {
  World world;
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  world.accept();
  world.greet(Refused{Code::full, "1000 connections"});
  world.carry_out();
  EXPECT_TRUE(world.answers.empty());
  world.pass(kBackoffMax);
  world.carry_out();
  EXPECT_EQ(world.connects, 2);
}

TEST(HubClientMind, AnAddressThatIsNoHubIsSaidAtOnce) {
  World world;
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  world.accept();
  world.mind.received("HTTP/1.1 400 Bad Request\r\n", world.now);
  world.carry_out();
  ASSERT_EQ(world.answers.size(), 1U);
  EXPECT_EQ(world.error(0).code, Code::invalid);
  EXPECT_NE(world.error(0).what.find("hub:7777 does not answer like a dunlin hub"),
            std::string::npos);
}

TEST(HubClientMind, AConnectionThatEndsBeforeAGreetingSaysWhatToTry) {
  World world;
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  world.accept();
  world.mind.disconnected(world.now, {Code::unavailable, "hub:7777: closed"});
  EXPECT_EQ(world.mind.trouble(),
            "hub:7777: closed before a greeting came: is it a dunlin hub, and does it want "
            "dunlin+tls://?");
  world.pass(kBackoffMax);
  world.carry_out();
  EXPECT_EQ(world.connects, 2);
}

TEST(HubClientMind, AHubThatTurnsToGarbageIsTriedAgain) {
  World world;
  const uint64_t id = world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  world.accept();
  world.greet(Welcome{});
  world.carry_out();
  world.mind.received(std::string(8, '\xff'), world.now);
  EXPECT_TRUE(world.mind.take().disconnect);
  world.pass(kBackoffMax);
  world.carry_out();
  world.accept();
  world.greet(Welcome{});
  EXPECT_EQ(world.carry_out(), std::vector{id});
  EXPECT_TRUE(world.answers.empty());
}

TEST(HubClientMind, ASilentHubIsLeftAndTriedAgain) {
  World world;
  world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  world.accept();
  EXPECT_EQ(*world.mind.next_wake() - world.now, kGreetingWait);
  world.pass(kGreetingWait);
  EXPECT_TRUE(world.mind.take().disconnect);
  EXPECT_EQ(world.mind.trouble(), "hub:7777 accepted the connection but said nothing for 10 s");
  world.pass(kBackoffMax);
  world.carry_out();
  EXPECT_EQ(world.connects, 2);
}

TEST(HubClientMind, HasABoundOnWhatAwaitsAnswers) {
  HubClientMind::Options options = World::defaults();
  options.pending_max = 2;
  options.pending_bytes_max = 1000;
  World world(options);
  world.mind.call(BlobPart{.bytes = std::string(900, 'x')}, kPatience, world.now);
  const uint64_t heavy =
      world.mind.call(BlobPart{.bytes = std::string(100, 'x')}, kPatience, world.now);
  world.mind.call(AskInfo{}, kPatience, world.now);
  const uint64_t third = world.mind.call(AskInfo{}, kPatience, world.now);
  world.carry_out();
  ASSERT_EQ(world.answers.size(), 2U);
  EXPECT_EQ(world.answers[0].id, heavy);
  EXPECT_EQ(world.error(0).code, Code::full);
  EXPECT_EQ(world.answers[1].id, third);
  EXPECT_EQ(world.error(1).code, Code::full);
  EXPECT_EQ(world.mind.pending(), 2U);
}

TEST(HubClientMind, ARequestTooLongForAFrameIsNotSent) {
  World world;
  world.mind.call(BlobPart{.bytes = std::string(kFrameMax, 'x')}, kPatience, world.now);
  world.carry_out();
  ASSERT_EQ(world.answers.size(), 1U);
  EXPECT_EQ(world.error(0).code, Code::invalid);
  EXPECT_EQ(world.connects, 0);
}

bool accept_or_refuse(World& world, bool refuse) {
  world.connects = 0;
  if (refuse) {
    world.mind.disconnected(world.now, {Code::unavailable, "refused"});
  } else {
    world.accept();
    world.greet(Welcome{});
  }
  return !refuse;
}

// Loses connections and answers at random; the hub remembers what it saw.
TEST(HubClientMind, EveryRequestIsAnsweredOnceWhateverIsLost) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    World world;
    std::map<uint64_t, uint64_t> nonces;  // By id.
    std::vector<uint64_t> unanswered;
    uint64_t asked = 0;
    bool up = false;
    for (int step = 0; step < 100'000 && world.answers.size() < 50; ++step) {
      if (asked < 50 && random.percent(30)) {
        const uint64_t id = world.mind.call(Commit{.nonce = ++asked, .writes = {}},
                                            std::chrono::hours(9), world.now);
        nonces[id] = asked;
      }
      for (const uint64_t id : world.carry_out()) unanswered.push_back(id);
      if (up && random.percent(10)) {
        up = false;
        unanswered.clear();
        world.mind.disconnected(world.now, {Code::unavailable, "cut"});
      } else if (!up && world.connects > 0) {
        up = accept_or_refuse(world, random.percent(50));
      } else if (up && !unanswered.empty()) {
        const size_t which = random.below(unanswered.size());
        const uint64_t id = unanswered[which];
        unanswered.erase(unanswered.begin() + static_cast<ptrdiff_t>(which));
        if (random.percent(50)) world.answer(id, Committed{nonces[id]});
      } else if (up && unanswered.empty() && asked == 50) {
        up = false;  // All that is left was lost on the way.
        world.mind.disconnected(world.now, {Code::unavailable, "cut"});
      }
      world.pass(Millis(random.below(100)));
    }
    ASSERT_EQ(world.answers.size(), 50U) << "seed " << seed;
    std::set<uint64_t> seen;
    for (const NumberedAnswer& answer : world.answers) {
      EXPECT_TRUE(seen.insert(answer.id).second);
      EXPECT_EQ(std::get<Committed>(answer.answer).version, nonces[answer.id]);
    }
  }
}

}  // namespace
}  // namespace dunlin
