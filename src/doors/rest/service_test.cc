#include "doors/rest/server/service.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doors/rest/server/call.h"
#include "hub/access/token.h"
#include "testing/rest.h"

namespace dunlin::rest {
namespace {

std::string bearer(std::string_view token) {
  return fmt::format("authorization: Bearer {}\r\n", token);
}
const std::string kAdmin = bearer(TestHub::kToken);

TEST(RestService, AnswersOneRequestAfterTheOther) {
  TestRest rest;
  HttpClient client(rest.port());
  for (int i = 0; i < 3; ++i) {
    const HttpAnswer answer = client.get("/api/v1/health", kAdmin);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("content-type"), "application/json");
    EXPECT_NE(answer.body.find(R"("status":"ok")"), std::string::npos) << answer.body;
  }
}

TEST(RestService, TakesRequestsThatComeTogether) {
  TestRest rest;
  HttpClient client(rest.port());
  const std::string one = "GET /api/v1/health HTTP/1.1\r\nhost: x\r\n" + kAdmin + "\r\n";
  client.send(one + one);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.receive().status, 200);
}

TEST(RestService, WantsATokenOfTheHub) {
  TestRest rest;
  EXPECT_EQ(rest.get("/api/v1/health").status, 401);
  EXPECT_EQ(rest.get("/api/v1/health", bearer("nonsense")).status, 401);
  EXPECT_EQ(rest.get("/api/v1/health", "authorization: Basic eA==\r\n").status, 401);
  const HttpAnswer answer = rest.get("/api/v1/health", bearer("d1.read.1.00.00"));
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  const std::string reader =
      hub::make_token(TestHub::kToken, hub::parse_scopes("read").value(), 0).value();
  EXPECT_EQ(rest.get("/api/v1/health", bearer(reader)).status, 200);
}

TEST(RestService, KnowsWhatItDoesNotKnow) {
  TestRest rest;
  EXPECT_EQ(rest.get("/api/v1/nothing", kAdmin).status, 404);
  EXPECT_EQ(HttpClient(rest.port()).ask("DELETE", "/api/v1/health", kAdmin).status, 405);
  EXPECT_EQ(rest.get("/api/v1/health?colour=red", kAdmin).status, 400);
  const HttpAnswer answer = rest.get("/anything");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, R"({"message":"Missing Authentication Token"})");
}

TEST(RestService, EndsAConnectionThatDoesNotSpeakHttp) {
  TestRest rest;
  HttpClient client(rest.port());
  client.send("EHLO me\r\n\r\n");
  EXPECT_EQ(client.receive().status, 400);
  EXPECT_EQ(client.receive().status, 0);
}

std::vector<Family> families();

TEST(RestService, RefusesMoreConnectionsThanItMayHave) {
  TestRest rest({.connections_max = 1}, nullptr, families());
  HttpClient first(rest.port());
  first.send("GET /own/forever HTTP/1.1\r\nhost: x\r\n\r\n");
  first.until("data: 0");
  HttpClient second(rest.port());
  EXPECT_EQ(second.receive().status, 503);
}

const std::string kHealth = "GET /api/v1/health HTTP/1.1\r\nhost: x\r\n" + kAdmin + "\r\n";

// Asks over a new connection until there is room. A connection that was answered makes room once
// its thread has seen that it waits again; until then the service says that it is full.
HttpAnswer ask_until_room(TestRest& rest, std::unique_ptr<HttpClient>& client,
                          const std::string& request) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (true) {
    client = std::make_unique<HttpClient>(rest.port());
    client->send(request);
    HttpAnswer answer = client->receive();
    if (answer.status != 503 || std::chrono::steady_clock::now() > until) return answer;
  }
}

TEST(RestService, OneThatWaitsForLongestMakesRoom) {
  TestRest rest({.connections_max = 4});
  HttpClient idle(rest.port());
  EXPECT_EQ(idle.get("/api/v1/health", kAdmin).status, 200);
  HttpClient silent(rest.port());
  HttpClient half(rest.port());
  half.send("GET /api/v1/hea");
  for (int i = 0; i < 50; ++i) {
    std::unique_ptr<HttpClient> honest;
    EXPECT_EQ(ask_until_room(rest, honest, kHealth).status, 200);
  }
  EXPECT_EQ(silent.receive().status, 0) << "it said nothing";
}

TEST(RestService, SilentConnectionsDoNotKeepOthersOut) {
  TestRest rest({.connections_max = 64});
  std::vector<std::unique_ptr<HttpClient>> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(std::make_unique<HttpClient>(rest.port()));
  for (int i = 0; i < 20; ++i) {
    HttpClient honest(rest.port());
    EXPECT_EQ(honest.get("/api/v1/health", kAdmin).status, 200);
    silent.push_back(std::make_unique<HttpClient>(rest.port()));
  }
}

TEST(RestService, TheFirstRequestIsDueSoon) {
  TestRest rest({.first_max = Millis(20)});
  HttpClient client(rest.port());
  EXPECT_EQ(client.receive().status, 0);
}

TEST(RestService, LetsIdleConnectionsGo) {
  TestRest rest({.idle_max = Millis(20)});
  HttpClient client(rest.port());
  EXPECT_EQ(client.receive().status, 0);
}

TEST(RestService, DoesNotWaitForASlowHead) {
  TestRest rest({.head_max = Millis(20)});
  HttpClient client(rest.port());
  client.send("GET /api");
  EXPECT_EQ(client.receive().status, 0);
}

const std::string kUnwanted =
    "GET /api/v1/health HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n";

TEST(RestService, ABodyThatNobodyWantsIsNotWaitedForLong) {
  TestRest rest;
  HttpClient client(rest.port());
  client.send(kUnwanted);
  EXPECT_EQ(client.receive().status, 401);
  const auto begun = std::chrono::steady_clock::now();
  const auto most = std::chrono::seconds(15);
  while (client.send("x") && std::chrono::steady_clock::now() - begun < most) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, most);
  // One that comes at once leaves the connection as it was.
  HttpClient honest(rest.port());
  honest.send(kUnwanted + std::string(200'000, 'x'));
  EXPECT_EQ(honest.receive().status, 401);
  EXPECT_EQ(honest.get("/api/v1/health", kAdmin).status, 200);
}

TEST(RestService, WhoDribblesWhatNobodyWantsMakesRoom) {
  TestRest rest({.connections_max = 4});
  std::vector<std::unique_ptr<HttpClient>> dribbling;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ask_until_room(rest, dribbling.emplace_back(), kUnwanted).status, 401) << i;
  }
}

TEST(RestService, StopsAlthoughSomebodyIsConnected) {
  TestRest rest;
  HttpClient client(rest.port());
  EXPECT_EQ(client.get("/api/v1/health", kAdmin).status, 200);
  rest.service().stop();
  EXPECT_EQ(client.receive().status, 0);
  rest.service().stop();
}

// Routes of the test's own, for what the others do not do.
Result<void> echo(Call& call, Store&) {
  std::string body = TRY(call.read_body(100));
  return call.reply(200, "text/plain", call.path("rest") + "|" + body);
}
Result<void> count(Call& call, Store&) {
  TRY(call.begin(200, {{"content-type", "text/event-stream"}}));
  for (int i = 0; i < 3; ++i) TRY(call.send(fmt::format("data: {}\n\n", i)));
  return call.end();
}
Result<void> forever(Call& call, Store&) {
  TRY(call.begin(200, {{"content-type", "text/event-stream"}}));
  TRY(call.send("data: 0\n\n"));
  while (!call.should_end()) call.pause(std::chrono::seconds(60));
  return call.end();
}
Result<void> bounded(Call& call, Store&) {
  return call.reply(200, "text/plain", std::to_string(call.number("n", 7)));
}

constexpr size_t kLarge = 70 << 20;  // Two of them are more than a service keeps.
Result<void> broken(Call&, Store&) { throw std::runtime_error("no reply \xff"); }
Result<void> large(Call& call, Store&) {
  return call.reply(200, "text/plain", std::string(kLarge, 'x'));
}
Result<void> own_url(Call& call, Store&) { return call.reply(200, "text/plain", call.base_url()); }

std::vector<Family> families() {
  return {{.prefix = "/own",
           .style = Style::problem,
           .bearer = false,
           .checked = true,
           .routes = {{.method = "PUT", .pattern = "/echo/{rest*}", .summary = "", .handler = echo},
                      {.method = "GET", .pattern = "/count", .summary = "", .handler = count},
                      {.method = "GET", .pattern = "/forever", .summary = "", .handler = forever},
                      {.method = "GET", .pattern = "/broken", .summary = "", .handler = broken},
                      {.method = "GET", .pattern = "/large", .summary = "", .handler = large},
                      {.method = "GET", .pattern = "/url", .summary = "", .handler = own_url},
                      {.method = "GET",
                       .pattern = "/bounded",
                       .summary = "",
                       .parameters = {{.name = "n", .type = Type::number, .least = 1, .most = 9}},
                       .handler = bounded}}}};
}

TEST(RestService, ReadsBodiesAndPaths) {
  TestRest rest({}, nullptr, families());
  HttpClient client(rest.port());
  EXPECT_EQ(client.ask("PUT", "/own/echo/a/b%20c", "", "hello").body, "a/b c|hello");
  EXPECT_EQ(client.ask("PUT", "/own/echo/a", "", std::string(101, 'x')).status, 429);
  client.send(
      "PUT /own/echo/x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: "
      "chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n"
      "0\r\n\r\n");
  EXPECT_EQ(client.receive().body, "x|hello");
}

TEST(RestService, TellsAClientThatWaitsToGoOn) {
  TestRest rest({}, nullptr, families());
  HttpClient client(rest.port());
  client.send(
      "PUT /own/echo/x HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send("ab");
  EXPECT_EQ(client.receive().body, "x|ab");
  // One that is told not to is not waited for.
  client.send(
      "PUT /own/echo/x HTTP/1.1\r\nhost: x\r\ncontent-length: 200\r\nexpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive().status, 429);
  EXPECT_EQ(client.receive().status, 0);
}

TEST(RestService, WhatARequestThrowsEndsItsConnectionOnly) {
  TestRest rest({}, nullptr, families());
  HttpClient honest(rest.port());
  EXPECT_EQ(honest.get("/own/bounded").body, "7");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(rest.get("/own/broken").status, 0);
  EXPECT_EQ(honest.get("/own/bounded").body, "7");
}

TEST(RestService, AHostThatIsNoneIsNotInUrls) {
  TestRest rest({}, nullptr, families());
  const auto url = [&](const std::string& host) {
    HttpClient client(rest.port());
    client.send("GET /own/url HTTP/1.1\r\nhost: " + host + "\r\n\r\n");
    return client.receive().body;
  };
  const std::string here = fmt::format("http://127.0.0.1:{}", rest.port());
  EXPECT_EQ(url("x.example:7"), "http://x.example:7");
  for (const char* host : {"", "\xff", "a b", "a\tb", "\xc3\xa4.example"}) {
    EXPECT_EQ(url(host), here);
  }
}

TEST(RestService, LargeRepliesHaveAShareOfTheMemory) {
  TestRest rest({}, nullptr, families());
  HttpClient slow(rest.port());
  slow.send("GET /own/large HTTP/1.1\r\nhost: x\r\n\r\n");
  slow.until("content-length");
  EXPECT_EQ(rest.get("/own/large").status, 503);
  EXPECT_EQ(rest.get("/own/bounded").body, "7");
  EXPECT_EQ(slow.receive().body.size(), kLarge);
  EXPECT_EQ(rest.get("/own/large").status, 200);
}

TEST(RestService, SendsInPieces) {
  TestRest rest({}, nullptr, families());
  HttpClient client(rest.port());
  EXPECT_EQ(client.get("/own/count").body,
            "9\r\ndata: 0\n\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n");
  EXPECT_EQ(client.get("/own/bounded").body, "7");
}

TEST(RestService, EndsAnEndlessReplyWhenItStops) {
  TestRest rest({}, nullptr, families());
  HttpClient client(rest.port());
  client.send("GET /own/forever HTTP/1.1\r\nhost: x\r\n\r\n");
  client.until("data: 0");
  rest.service().stop();
  EXPECT_TRUE(client.receive().body.ends_with("0\r\n\r\n"));
}

TEST(RestService, ChecksParametersByTheTable) {
  TestRest rest({}, nullptr, families());
  for (const char* wrong : {"n=0", "n=10", "n=x", "n=", "n=99999999999999999999", "m=1"}) {
    EXPECT_EQ(rest.get(std::string("/own/bounded?") + wrong).status, 400) << wrong;
  }
  EXPECT_EQ(rest.get("/own/bounded?n=2&n=3").body, "3");
}

}  // namespace
}  // namespace dunlin::rest
