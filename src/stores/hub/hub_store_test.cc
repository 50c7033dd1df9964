#include "stores/hub/hub_store.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/env_posix.h"
#include "net/tls.h"
#include "store/memory.h"
#include "stores/open.h"
#include "testing/certificate.h"
#include "testing/listener.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace dunlin::stores {
namespace {

// The hub's end of one connection: frames in, frames out, through TLS if it has a context.
class Peer {
 public:
  explicit Peer(TestConnection connection, const net::TlsContext* tls = nullptr)
      : connection_(std::move(connection)) {
    if (tls != nullptr) tls_.emplace(tls->accept());
  }

  // The next frame, or none if the client is gone.
  std::optional<std::string> next() {
    while (true) {
      const auto frame = reader_.next();
      if (!frame.ok()) return std::nullopt;
      if (frame.value()) return std::string(*frame.value());
      bytes_ = connection_.read();
      if (bytes_.empty()) return std::nullopt;
      if (tls_) {
        std::string plain;
        std::string wire;
        const bool fine = tls_->receive(bytes_, plain, wire).ok();
        connection_.write(wire);
        if (!fine) return std::nullopt;
        bytes_ = plain;
      }
      reader_.feed(bytes_);
    }
  }
  void send(const std::string& plain) {
    if (!tls_) return connection_.write(plain);
    std::string wire;
    CHECK(tls_->send(plain, wire).ok());
    connection_.write(wire);
  }

  // Reads the hello and greets. Returns the token, none if the client went away before.
  std::optional<std::string> greet(const Greeting& greeting) {
    const auto frame = next();
    if (!frame) return std::nullopt;
    const Hello hello = codec_.decode_hello(*frame).value();
    reader_.set_limit(kFrameMax);
    std::string out;
    codec_.encode_greeting(greeting, out);
    send(out);
    return hello.token;
  }
  std::optional<NumberedRequest> request() {
    const auto frame = next();
    if (!frame) return std::nullopt;
    return codec_.decode_request(*frame).value();
  }
  void answer(uint64_t id, const Answer& answer) {
    std::string out;
    codec_.encode_answer(id, answer, out);
    send(out);
  }

  // Serves `core` until the client goes away.
  void serve(Core& core) {
    if (!greet(Welcome{"test"})) return;
    while (auto numbered = request()) {
      const Answer done = core.handle(std::move(numbered->request), posix_clock().now());
      CHECK(core.commit(posix_clock().now()).ok());
      answer(numbered->id, done);
    }
  }

 private:
  TestConnection connection_;
  std::optional<net::TlsSession> tls_;
  FrameReader reader_{FrameReader::From::client};
  std::string bytes_;
  Codec codec_;
};

// Runs a hub's part in a thread of its own; ends before what it uses.
class Background {
 public:
  explicit Background(std::function<void()> work) : thread_(std::move(work)) {}
  ~Background() { thread_.join(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  std::thread thread_;
};

HubAddress at(const TestListener& listener, bool tls = false) {
  return {.host = "127.0.0.1", .port = listener.port(), .tls = tls};
}

constexpr Millis kLong = std::chrono::hours(1);  // What is said to be at once does not wait for it.

const std::vector<Write> kPut = {Put{.table = "t", .key = "k", .value = "v", .version = 0}};

TEST(HubStore, IsAStore) {
  const TestListener listener;
  const Background hub([&] {
    auto core = memory_core();
    Peer(listener.accept()).serve(*core);
  });
  auto opened = open_hub(at(listener), {.token = "t"}, posix_clock());
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  Store& store = *opened.value();
  EXPECT_TRUE(store.commit(kPut).ok());
  EXPECT_EQ(store.table().get("t", std::vector<std::string>{"k"}).value().at(0).value, "v");
  EXPECT_TRUE(store.queue().push("q", std::vector<Message>{{"id", "body"}}).ok());
  const auto pulled = store.queue().pull("q", 10, Millis(1000), Millis(0));
  ASSERT_EQ(pulled.value().size(), 1U);
  EXPECT_EQ(pulled.value()[0].body, "body");
  EXPECT_EQ(store.table().put("t", {"k", "w", 77}).error().code, Code::conflict);
  const std::string large(3 << 20, 'x');
  const auto source = [&](uint64_t offset, size_t max) {
    return Result<std::string>(large.substr(offset, max));
  };
  EXPECT_TRUE(store.blobs().put("b", large.size(), source).ok());
  EXPECT_EQ(store.blobs().get("b", large.size() - 5, 10).value(), "xxxxx");
}

TEST(HubStore, RepeatsWhatWasNotAnsweredWithTheSameNonce) {
  const TestListener listener;
  std::vector<NumberedRequest> seen;
  std::string token;
  auto hub = std::make_unique<Background>([&] {
    for (int connection = 0; connection < 3; ++connection) {
      Peer peer(listener.accept());
      token = peer.greet(Welcome{"test"}).value();
      seen.push_back(peer.request().value());
      if (connection < 2) continue;  // The request arrived, its answer is lost.
      peer.answer(seen.back().id, Committed{9});
      EXPECT_FALSE(peer.request());
    }
  });
  {
    auto store = open_hub(at(listener), {.token = "secret"}, posix_clock());
    ASSERT_TRUE(store.ok()) << store.error().what;
    const auto version = store.value()->commit(kPut);
    ASSERT_TRUE(version.ok()) << version.error().what;
    EXPECT_EQ(version.value(), 9U);
  }
  hub.reset();
  EXPECT_EQ(token, "secret");
  ASSERT_EQ(seen.size(), 3U);
  const uint64_t nonce = std::get<Commit>(seen[0].request).nonce;
  EXPECT_NE(nonce, 0U);
  for (const NumberedRequest& one : seen) {
    EXPECT_EQ(one.id, seen[0].id);
    EXPECT_EQ(std::get<Commit>(one.request).nonce, nonce);
  }
}

TEST(HubStore, KeepsManyRequestsUnderWay) {
  const TestListener listener;
  const Background hub([&] {
    auto core = memory_core();
    Peer(listener.accept()).serve(*core);
  });
  auto store = open_hub(at(listener), {}, posix_clock());
  ASSERT_TRUE(store.ok()) << store.error().what;
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < 40; ++i) {  // More than the buffers of a connection hold.
    ids.push_back(store.value()->post(
        BlobPart{.upload = 1, .offset = i << 20U, .bytes = std::string(kBlobPart, 'x')}));
  }
  ids.push_back(store.value()->post(BlobEnd{.upload = 1, .name = "b", .size = 40 << 20}));
  for (const uint64_t id : ids) {
    const Answer answer = store.value()->await(id);
    const auto* error = std::get_if<Error>(&answer);
    EXPECT_EQ(error, nullptr) << error->what;
  }
}

TEST(HubStore, GivesUpOnAHubThatNeverAnswers) {
  const TestListener listener;
  const Background hub([&] {
    Peer peer(listener.accept());
    EXPECT_TRUE(peer.greet(Welcome{"test"}));
    while (peer.request()) {
    }
  });
  auto store = open_hub(at(listener), {.deadline = Millis(200)}, posix_clock());
  ASSERT_TRUE(store.ok()) << store.error().what;
  const auto depth = store.value()->queue().depth("q");
  ASSERT_FALSE(depth.ok());
  EXPECT_EQ(depth.error().code, Code::unavailable);
  EXPECT_NE(depth.error().what.find("within 0.2 s: is the hub running there?"), std::string::npos)
      << depth.error().what;
}

TEST(HubStore, ABadTokenIsDeniedAtOnce) {
  const TestListener listener;
  const Background hub([&] {
    Peer peer(listener.accept());
    EXPECT_EQ(peer.greet(Refused{Code::denied, "this token is not known here"}), "wrong");
  });
  const auto store =
      open_hub(at(listener), {.token = "wrong", .connect_wait = kLong}, posix_clock());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, Code::denied);
  EXPECT_NE(store.error().what.find("this token is not known here"), std::string::npos);
}

TEST(HubStore, AnotherVersionIsExplained) {
  const TestListener listener;
  const Background hub([&] {
    // What a hub of this version says to a client of the next.
    std::string preface;
    append_preface(preface, kProtocolVersion + 1);
    FrameReader reader(FrameReader::From::client);
    reader.feed(preface);
    Peer peer(listener.accept());
    peer.greet(Refused{Code::denied, reader.next().error().what});
  });
  const auto store = open_hub(at(listener), {}, posix_clock());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, Code::denied);
  EXPECT_NE(store.error().what.find("speaks protocol version 2, the client speaks 3"),
            std::string::npos)
      << store.error().what;
}

TEST(HubStore, SaysWhenNothingListens) {
  uint16_t port = 0;
  {
    const TestListener listener;
    port = listener.port();
  }
  const auto store =
      open_store("dunlin://127.0.0.1:" + std::to_string(port), {.connect_wait = Millis(100)});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, Code::unavailable);
  EXPECT_NE(store.error().what.find("is the hub running?"), std::string::npos)
      << store.error().what;
}

TEST(HubStore, SpeaksThroughTls) {
  const TestListener listener;
  const TestCertificate certificate("IP:127.0.0.1");
  const net::TlsContext tls =
      net::TlsContext::server(certificate.cert_file(), certificate.key_file()).value();
  const Background hub([&] {
    auto core = memory_core();
    Peer(listener.accept(), &tls).serve(*core);
  });
  auto store = open_store("dunlin+tls://127.0.0.1:" + std::to_string(listener.port()),
                          {.token = "t", .tls_ca = certificate.cert_file()});
  ASSERT_TRUE(store.ok()) << store.error().what;
  EXPECT_TRUE(store.value()->commit(kPut).ok());
  const std::string large(2 << 20, 'x');
  const auto source = [&](uint64_t offset, size_t max) {
    return Result<std::string>(large.substr(offset, max));
  };
  EXPECT_TRUE(store.value()->blobs().put("b", large.size(), source).ok());
}

TEST(HubStore, ACertificateOfSomeoneElseIsDeniedAtOnce) {
  const TestListener listener;
  const TestCertificate certificate("IP:127.0.0.1");
  const TestCertificate stranger("IP:127.0.0.1");
  const net::TlsContext tls =
      net::TlsContext::server(stranger.cert_file(), stranger.key_file()).value();
  const Background hub([&] { EXPECT_FALSE(Peer(listener.accept(), &tls).next()); });
  const auto store =
      open_hub(at(listener, true), {.tls_ca = certificate.cert_file(), .connect_wait = kLong},
               posix_clock());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, Code::denied);
  EXPECT_NE(store.error().what.find("--tls-ca"), std::string::npos) << store.error().what;
}

}  // namespace
}  // namespace dunlin::stores
