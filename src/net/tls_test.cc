#include "net/tls.h"

#include <gtest/gtest.h>

#include "base/env.h"
#include "testing/certificate.h"

namespace dunlin::net {
namespace {

// A client and a server whose bytes go straight to each other.
struct Pair {
  Pair(const TestCertificate& certificate, const std::string& ca_file, const std::string& host)
      : server_context(TlsContext::server(certificate.cert_file(), certificate.key_file()).value()),
        client_context(TlsContext::client(ca_file).value()),
        server(server_context.accept()),
        client(client_context.connect(host).value()) {}

  // Runs the handshake to its end; what went wrong first, if anything.
  Result<void> shake() {
    TRY(client.start(to_server));
    while (!to_server.empty() || !to_client.empty()) {
      const std::string for_server = std::exchange(to_server, "");
      auto served = server.receive(for_server, at_server, to_client);
      const std::string for_client = std::exchange(to_client, "");
      TRY(client.receive(for_client, at_client, to_server));
      TRY(served);
    }
    return {};
  }

  TlsContext server_context;
  TlsContext client_context;
  TlsSession server;
  TlsSession client;
  std::string to_server;
  std::string to_client;
  std::string at_server;
  std::string at_client;
};

TEST(Tls, CarriesBytesBothWays) {
  const TestCertificate certificate("DNS:hub.example");
  Pair pair(certificate, certificate.cert_file(), "hub.example");
  EXPECT_FALSE(pair.client.ready());
  ASSERT_TRUE(pair.shake().ok());
  ASSERT_TRUE(pair.client.ready());
  ASSERT_TRUE(pair.server.ready());

  std::string large(3 << 20, '\0');
  Random random(1);
  for (char& byte : large) byte = static_cast<char>(random.next());
  ASSERT_TRUE(pair.client.send(large, pair.to_server).ok());
  EXPECT_EQ(pair.to_server.find(large.substr(0, 100)), std::string::npos);
  ASSERT_TRUE(pair.server.receive(pair.to_server, pair.at_server, pair.to_client).ok());
  EXPECT_TRUE(pair.at_server == large);

  ASSERT_TRUE(pair.server.send("thanks", pair.to_client).ok());
  for (const char byte : pair.to_client) {
    ASSERT_TRUE(pair.client.receive({&byte, 1}, pair.at_client, pair.to_server).ok());
  }
  EXPECT_EQ(pair.at_client, "thanks");
}

TEST(Tls, KnowsAProperEndFromACut) {
  const TestCertificate certificate("IP:127.0.0.1");
  Pair pair(certificate, certificate.cert_file(), "127.0.0.1");
  ASSERT_TRUE(pair.shake().ok());
  ASSERT_TRUE(pair.server.send("last words", pair.to_client).ok());
  const size_t before_end = pair.to_client.size();
  pair.server.finish(pair.to_client);
  const std::string bytes = pair.to_client;

  ASSERT_TRUE(pair.client.receive(bytes.substr(0, 5), pair.at_client, pair.to_server).ok());
  EXPECT_EQ(pair.at_client, "");
  ASSERT_TRUE(
      pair.client.receive(bytes.substr(5, before_end - 5), pair.at_client, pair.to_server).ok());
  EXPECT_EQ(pair.at_client, "last words");
  EXPECT_FALSE(pair.client.finished());
  ASSERT_TRUE(pair.client.receive(bytes.substr(before_end), pair.at_client, pair.to_server).ok());
  EXPECT_TRUE(pair.client.finished());
}

TEST(Tls, AnotherHostIsDenied) {
  const TestCertificate certificate("DNS:hub.example,IP:127.0.0.1");
  for (const char* host : {"other.example", "127.0.0.2", "::1"}) {
    Pair pair(certificate, certificate.cert_file(), host);
    const auto result = pair.shake();
    ASSERT_FALSE(result.ok()) << host;
    EXPECT_EQ(result.error().code, Code::denied);
    EXPECT_NE(result.error().what.find("use a name that is in the certificate"), std::string::npos)
        << result.error().what;
    EXPECT_FALSE(pair.client.ready());
  }
}

TEST(Tls, AnotherAuthorityIsDeniedAndTheOptionNamed) {
  const TestCertificate certificate("DNS:hub.example");
  const TestCertificate stranger("DNS:hub.example");
  for (const std::string& ca_file : {stranger.cert_file(), std::string()}) {
    Pair pair(certificate, ca_file, "hub.example");
    const auto result = pair.shake();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::denied);
    EXPECT_NE(result.error().what.find("--tls-ca FILE"), std::string::npos) << result.error().what;
    // The server is told, too.
    EXPECT_FALSE(pair.server.receive(pair.to_server, pair.at_server, pair.to_client).ok());
  }
}

TEST(Tls, APeerThatDoesNotSpeakItIsNamed) {
  const TestCertificate certificate("DNS:hub.example");
  Pair pair(certificate, certificate.cert_file(), "hub.example");
  auto result = pair.server.receive("DUNLIN\x01", pair.at_server, pair.to_client);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid);
  EXPECT_NE(result.error().what.find("dunlin+tls://"), std::string::npos) << result.error().what;

  ASSERT_TRUE(pair.client.start(pair.to_server).ok());
  result = pair.client.receive("HTTP/1.1 400 Bad Request\r\n", pair.at_client, pair.to_server);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("hub.example does not speak TLS"), std::string::npos)
      << result.error().what;
}

TEST(Tls, ChangedBytesAreNoticed) {
  const TestCertificate certificate("DNS:hub.example");
  Pair pair(certificate, certificate.cert_file(), "hub.example");
  ASSERT_TRUE(pair.shake().ok());
  ASSERT_TRUE(pair.client.send("a secret", pair.to_server).ok());
  pair.to_server.back() = static_cast<char>(pair.to_server.back() ^ 1);
  EXPECT_FALSE(pair.server.receive(pair.to_server, pair.at_server, pair.to_client).ok());
  EXPECT_EQ(pair.at_server, "");
}

TEST(Tls, RandomBytesNeverBecomePlainOnes) {
  const TestCertificate certificate("DNS:hub.example");
  const auto context = TlsContext::server(certificate.cert_file(), certificate.key_file()).value();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::string bytes(random.below(2000), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next());
    if (random.percent(50)) bytes.insert(0, "\x16\x03\x01");  // As a handshake begins.
    TlsSession session = context.accept();
    std::string plain;
    std::string wire;
    const auto ignored = session.receive(bytes, plain, wire);
    EXPECT_FALSE(session.ready());
    EXPECT_EQ(plain, "");
  }
}

TEST(Tls, BadFilesAreNamed) {
  const TestCertificate certificate("DNS:hub.example");
  const TestCertificate other("DNS:hub.example");
  const auto expect_named = [](const auto& result, const std::string& file) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::invalid);
    EXPECT_NE(result.error().what.find(file), std::string::npos) << result.error().what;
  };
  expect_named(TlsContext::server("/no/such/cert.pem", certificate.key_file()),
               "/no/such/cert.pem");
  expect_named(TlsContext::server(certificate.cert_file(), "/no/such/key.pem"), "/no/such/key.pem");
  expect_named(TlsContext::server(certificate.cert_file(), other.key_file()), other.key_file());
  expect_named(TlsContext::server(certificate.key_file(), certificate.key_file()),
               certificate.key_file());
  expect_named(TlsContext::client("/no/such/ca.pem"), "/no/such/ca.pem");
}

}  // namespace
}  // namespace dunlin::net
