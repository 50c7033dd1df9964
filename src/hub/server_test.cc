// The real loop over real sockets, against peers that behave badly. In every test an honest client
// goes on working.

#include <gtest/gtest.h>

#include <algorithm>

#include "hub/access/token.h"
#include "net/listen.h"
#include "testing/hub.h"

namespace dunlin::hub {
namespace {

// An honest client: its calls work before and after whatever else a test does.
class Honest {
 public:
  explicit Honest(const TestHub& hub) : client_(hub) {
    client_.join();
    works();
  }
  ~Honest() { works(); }
  Honest(const Honest&) = delete;
  Honest& operator=(const Honest&) = delete;

  void works() {
    const uint64_t id = ++last_id_;
    client_.ask(id, Commit{id, {Put{"honest", "key", std::to_string(id), kAnyVersion}}});
    EXPECT_TRUE(std::holds_alternative<Committed>(client_.next_answer().value().answer));
    client_.ask(id, Get{"honest", {"key"}});
    const NumberedAnswer answer = client_.next_answer().value();
    EXPECT_EQ(answer.id, id);
    EXPECT_EQ(std::get<Rows>(answer.answer).rows.front().value, std::to_string(id));
  }

 private:
  TestClient client_;
  uint64_t last_id_ = 0;
};

// What the hub logs meanwhile, one string a line.
class LogLines {
 public:
  LogLines() { testing::internal::CaptureStderr(); }
  std::vector<std::string> take() {
    std::vector<std::string> lines;
    std::istringstream text(testing::internal::GetCapturedStderr());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

std::string frame_of(std::string_view body) {
  std::string bytes;
  const size_t start = begin_frame(bytes);
  bytes += body;
  finish_frame(bytes, start);
  return bytes;
}

// The hub closes such a connection with one line in the log.
void expect_dropped(std::string_view bytes, bool after_hello, std::string_view reason) {
  LogLines log;
  {
    TestHub hub;
    Honest honest(hub);
    TestClient client(hub);
    if (after_hello) client.join();
    client.send(bytes);
    EXPECT_FALSE(client.next_frame());
  }
  const std::vector<std::string> lines = log.take();
  ASSERT_EQ(lines.size(), 1U) << reason;
  EXPECT_NE(lines.front().find(" warning "), std::string::npos) << lines.front();
  EXPECT_NE(lines.front().find("peer=127.0.0.1:"), std::string::npos) << lines.front();
  EXPECT_NE(lines.front().find(reason), std::string::npos) << lines.front();
}

TEST(Server, APeerThatSpeaksAnotherProtocolIsDropped) {
  expect_dropped("GET / HTTP/1.1\r\n\r\n", false, "does not start with DUNLIN");
}

TEST(Server, AFrameThatIsTooLongIsNotWaitedFor) {
  expect_dropped(std::string("\xff\xff\xff\x7f", 4), true, "a frame of 2147483647 bytes");
}

TEST(Server, AStrangerMayNotSendLongFrames) {
  std::string bytes;
  append_preface(bytes);
  bytes += frame_of(std::string(5000, 'x'));
  expect_dropped(bytes, false, "a frame of 5000 bytes");
}

TEST(Server, AnEmptyFrameDropsItsPeer) {
  expect_dropped(std::string(4, '\0'), true, "a frame of length 0");
}

TEST(Server, AFrameThatIsNoRequestDropsItsPeer) {
  expect_dropped(frame_of("\xff\xfe\xfd"), true, "reason=");
}

TEST(Server, AHelloThatIsNoHelloDropsItsPeer) {
  std::string bytes;
  append_preface(bytes);
  bytes += frame_of("\xff\xfe\xfd");
  expect_dropped(bytes, false, "reason=");
}

TEST(Server, AConnectionThatEndsInsideAFrameIsLoggedOnce) {
  LogLines log;
  {
    TestHub hub;
    Honest honest(hub);
    TestClient client(hub);
    client.join();
    client.send(std::string("\x20\0\0\0abc", 7));
    client.close();
    honest.works();
  }
  const std::vector<std::string> lines = log.take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines.front().find("the connection ended 7 bytes into a frame"), std::string::npos);
}

TEST(Server, AConnectionThatEndsBetweenFramesIsNoNews) {
  LogLines log;
  {
    TestHub hub;
    Honest honest(hub);
    TestClient silent(hub);
    TestClient client(hub);
    client.join();
  }
  EXPECT_TRUE(log.take().empty());
}

Refused refusal_of(TestClient& client) {
  const std::optional<Greeting> greeting = client.next_greeting();
  CHECK(greeting && std::holds_alternative<Refused>(*greeting));
  EXPECT_FALSE(client.next_frame());
  return std::get<Refused>(*greeting);
}

TEST(Server, AWrongTokenIsRefusedInWords) {
  LogLines log;
  {
    TestHub hub;
    Honest honest(hub);
    for (const std::string& token : {std::string(), std::string("wrong"), std::string(64, '0')}) {
      TestClient client(hub);
      client.say_hello(token);
      client.ask(1, AskInfo{});
      EXPECT_EQ(refusal_of(client).code, Code::denied);
    }
  }
  EXPECT_EQ(log.take().size(), 3U);
}

TEST(Server, AClientOfAnotherVersionIsRefusedInWords) {
  TestHub hub;
  Honest honest(hub);
  TestClient client(hub);
  std::string bytes;
  append_preface(bytes, kProtocolVersion + 1);
  client.send(bytes);
  const Refused refused = refusal_of(client);
  EXPECT_EQ(refused.code, Code::unsupported);
  EXPECT_NE(refused.what.find("version"), std::string::npos);
}

TEST(Server, AWeakTokenAllowsOnlyItsScopes) {
  TestHub hub;
  TestClient client(hub);
  client.say_hello(make_token(TestHub::kToken, Scope::read, 0).value());
  ASSERT_TRUE(std::holds_alternative<Welcome>(client.next_greeting().value()));
  client.ask(1, AskDepth{"q"});
  EXPECT_EQ(std::get<Depth>(client.next_answer().value().answer), Depth{});
  client.ask(2, Pull{"q", 1, Millis(1000), Millis(0)});
  EXPECT_EQ(std::get<Error>(client.next_answer().value().answer).code, Code::denied);
}

TEST(Server, OneConnectionTooManyIsToldSo) {
  TestHub hub({.peers_max = 1});
  Honest honest(hub);
  TestClient client(hub);
  client.say_hello();
  EXPECT_EQ(refusal_of(client).code, Code::full);
}

TEST(Server, APeerThatDoesNotGreetIsDropped) {
  LogLines log;
  {
    TestHub hub;
    Honest honest(hub);
    TestClient silent(hub);
    TestClient slow(hub);
    slow.send("DUN");
    honest.works();  // By now the hub knows both.
    honest.works();
    hub.skip(net::ServerLimits().greet_max);
    honest.works();  // It looks at its clock.
    EXPECT_FALSE(silent.next_frame());
    EXPECT_FALSE(slow.next_frame());
  }
  const std::vector<std::string> lines = log.take();
  ASSERT_EQ(lines.size(), 2U);
  for (const std::string& line : lines) EXPECT_NE(line.find("no hello in time"), std::string::npos);
}

TEST(Server, SilentPeersMakeRoomForOthers) {
  LogLines log;
  {
    TestHub hub({.peers_max = 8, .strangers_max = 6});
    std::vector<std::unique_ptr<TestClient>> silent;
    for (int i = 0; i < 60; ++i) {
      silent.push_back(std::make_unique<TestClient>(hub));
      if (i % 10 == 9) {
        Honest honest(hub);
        honest.works();
      }
    }
    EXPECT_FALSE(silent.front()->next_frame()) << "it said nothing for longest";
  }
  const std::vector<std::string> lines = log.take();
  EXPECT_LE(lines.size(), 21U) << "they are no flood in the log";
}

// Asks for much more than the connection holds, and reads nothing.
void ask_without_reading(TestClient& client) {
  client.join();
  client.ask(1, Commit{1, {Put{"t", "big", std::string(kValueMax, 'x'), kAnyVersion}}});
  CHECK(client.next_answer());
  for (uint64_t id = 2; id <= 200; ++id) client.ask(id, Get{"t", {"big"}});
}

TEST(Server, APeerThatTakesNothingIsDropped) {
  LogLines log;
  {
    TestHub hub({.unsent_max = 1 << 20, .stall_max = Millis(100)});
    Honest honest(hub);
    TestClient client(hub);
    ask_without_reading(client);
    pollfd gone{.fd = client.socket(), .events = POLLRDHUP, .revents = 0};
    ASSERT_EQ(poll(&gone, 1, 60'000), 1);
  }
  const std::vector<std::string> lines = log.take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines.front().find("takes none of the"), std::string::npos);
}

TEST(Server, APeerThatDoesNotReadIsNotReadAndLosesNothing) {
  TestHub hub({.unsent_max = 1 << 20});
  Honest honest(hub);
  TestClient client(hub);
  ask_without_reading(client);

  std::string request;
  Codec().encode_request(7, Get{"t", {"big"}}, request);
  std::string requests;
  while (requests.size() < (1 << 20)) requests += request;
  size_t sent = 0;
  size_t some = 0;
  // The hub would read this for ever if nothing held it back.
  do {
    honest.works();
    some = client.send_some(std::string_view(requests).substr(sent % request.size()));
    sent += some;
    ASSERT_LT(sent, 64U << 20U);
  } while (some > 0);

  for (uint64_t id = 2; id <= 200; ++id) {
    const NumberedAnswer answer = client.next_answer().value();
    ASSERT_EQ(answer.id, id);
    ASSERT_EQ(std::get<Rows>(answer.answer).rows.front().value.size(), kValueMax);
  }
}

TEST(Server, ManyRequestsAtOnceAreAllAnsweredInOrder) {
  TestHub hub;
  TestClient client(hub);
  client.join();
  std::string bytes;
  Codec codec;
  for (uint64_t id = 1; id <= 20'000; ++id) codec.encode_request(id, AskDepth{"q"}, bytes);
  client.send(bytes);
  for (uint64_t id = 1; id <= 20'000; ++id) {
    const NumberedAnswer answer = client.next_answer().value();
    ASSERT_EQ(answer.id, id);
    ASSERT_TRUE(std::holds_alternative<Depth>(answer.answer));
  }
}

TEST(Server, AWaitingPullIsAnsweredWhenAnotherConnectionPushes) {
  TestHub hub;
  Honest honest(hub);
  TestClient worker(hub);
  worker.join();
  worker.ask(1, Pull{"q", 10, Millis(60'000), kWaitMax});
  TestClient submitter(hub);
  submitter.join();
  submitter.ask(1, Commit{1, {Push{"q", {{"a", "body"}}}}});
  const NumberedAnswer answer = worker.next_answer().value();
  EXPECT_EQ(std::get<Deliveries>(answer.answer).deliveries.front().body, "body");
}

TEST(Server, AWaitingPullEndsAtItsTime) {
  TestHub hub;
  TestClient worker(hub);
  worker.join();
  worker.ask(1, Pull{"q", 10, Millis(60'000), Millis(30)});
  EXPECT_TRUE(std::get<Deliveries>(worker.next_answer().value().answer).deliveries.empty());
}

TEST(Server, StoppingAnswersWhatWasAskedAndThenCloses) {
  TestHub hub;
  TestClient worker(hub);
  worker.join();
  worker.ask(1, Pull{"q", 10, Millis(60'000), kWaitMax});
  worker.ask(2, AskDepth{"q"});
  EXPECT_EQ(worker.next_answer().value().id, 2U);
  hub.stop();
  const NumberedAnswer answer = worker.next_answer().value();
  EXPECT_EQ(answer.id, 1U);
  EXPECT_TRUE(std::get<Deliveries>(answer.answer).deliveries.empty());
  EXPECT_FALSE(worker.next_frame());
}

TEST(Server, StoppingDoesNotWaitForAPeerThatTakesNothing) {
  TestHub hub({.unsent_max = 1 << 20, .stop_max = Millis(100)});
  TestClient client(hub);
  ask_without_reading(client);
  hub.stop();
}

TEST(Server, HundredsOfIdleConnectionsAreServedLikeOne) {
  net::raise_file_limit();
  TestHub hub;
  Honest honest(hub);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 400; ++i) {
    clients.push_back(std::make_unique<TestClient>(hub));
    clients.back()->say_hello();
    clients.back()->ask(1, Pull{"q", 1, Millis(60'000), kWaitMax});
  }
  for (const auto& client : clients) ASSERT_TRUE(client->next_greeting());
  honest.works();
  std::vector<Message> messages;
  messages.reserve(400);
  for (int i = 0; i < 400; ++i) messages.push_back({std::to_string(i), ""});
  TestClient submitter(hub);
  submitter.join();
  submitter.ask(1, Commit{1, {Push{"q", messages}}});
  for (const auto& client : clients) {
    EXPECT_EQ(std::get<Deliveries>(client->next_answer().value().answer).deliveries.size(), 1U);
  }
}

}  // namespace
}  // namespace dunlin::hub
