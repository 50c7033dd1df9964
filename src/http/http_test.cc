#include "http/http.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fmt/format.h>

namespace dunlin::http {
namespace {

// All requests in `bytes`, fed in pieces of `size`: method, path and body of each, or the error.
std::string read_all(std::string_view bytes, size_t size) {
  HttpReader reader;
  std::string seen;
  bool in_body = false;
  for (size_t at = 0; at < bytes.size(); at += size) {
    reader.feed(bytes.substr(at, size));
    while (true) {
      if (!in_body) {
        const Result<std::optional<HttpHead>> head = reader.head();
        if (!head.ok()) return seen + "error";
        if (!head.value()) break;
        seen += head.value()->method + " " + head.value()->path + " ";
        in_body = true;
      }
      const Result<bool> ended = reader.body(seen, 3);
      if (!ended.ok()) return seen + "error";
      if (!ended.value() && (reader.unread() == 0 || size < 4)) break;
      if (ended.value()) {
        seen += ";";
        in_body = false;
      }
    }
  }
  return seen;
}

TEST(Http, RequestsAreReadHoweverTheyAreCut) {
  const std::string bytes =
      "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"
      "PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
      "PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;x=y\r\nabc\r\n8\r\ndefghijk\r\n0\r\nTrailer: t\r\n\r\n"
      "GET /d HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string whole = "GET /a ;PUT /b hello;PUT /c abcdefghijk;GET /d ;";
  EXPECT_EQ(read_all(bytes, bytes.size()), whole);
  for (size_t size = 1; size < 4; ++size) EXPECT_EQ(read_all(bytes + "    ", size), whole);
}

TEST(Http, AHeadSaysWhatItSays) {
  HttpReader reader;
  reader.feed(
      "PUT /x%20y?a=1%2B&b HTTP/1.1\r\nHost:  h \r\nEXPECT: 100-continue\r\n"
      "Connection: close\r\nContent-Length: 7\r\n\r\n");
  const HttpHead head = reader.head().value().value();
  EXPECT_EQ(head.path, "/x%20y");
  EXPECT_EQ(*find(head.query, "a"), "1+");
  EXPECT_EQ(*find(head.query, "b"), "");
  EXPECT_EQ(*head.header("host"), "h");
  EXPECT_EQ(head.length, 7U);
  EXPECT_TRUE(head.expects_continue);
  EXPECT_FALSE(head.keep_alive);
}

TEST(Http, WhatCouldBeReadInTwoWaysIsRefused) {
  for (const std::string_view head :
       {"GET / HTTP/2\r\n", "GET /\r\n", "GET  HTTP/1.1\r\n", "G@T / HTTP/1.1\r\n",
        "GET x HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n: x\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\na b: c\r\n", "GET /%x HTTP/1.1\r\nHost: x\r\nx\x01: c\r\n",
        "GET /?%x HTTP/1.1\r\nHost: x\r\n", "GET / HTTP/1.1\r\nHost: x\r\n x: y\r\n"}) {
    EXPECT_EQ(read_all(std::string(head) + "\r\n", 1000), "error") << head;
  }
  EXPECT_EQ(read_all("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 1000),
            "PUT / error");
  EXPECT_EQ(
      read_all("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 1000),
      "PUT / aerror");
}

TEST(Http, HeadsAreBounded) {
  EXPECT_EQ(read_all("GET /" + std::string(kHeadMax, 'x'), 1000), "error");
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (size_t i = 0; i <= kHeadersMax; ++i) many += "a: b\r\n";
  EXPECT_EQ(read_all(many + "\r\n", 1 << 20), "error");
}

TEST(Http, AReplyCannotBeBrokenByWhatItCarries) {
  std::string out;
  append_reply({.status = 200, .headers = {{"a", "b\r\nc: d"}}, .body = "x", .length = {}}, true,
               out);
  EXPECT_EQ(
      out, "HTTP/1.1 200 OK\r\na: b  c: d\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\nx");
}

std::string why(std::string_view bytes) {
  HttpReader reader;
  reader.feed(bytes);
  const Result<std::optional<HttpHead>> head = reader.head();
  return head.ok() ? "accepted" : head.error().what;
}

TEST(Http, WhatDecidesStandsOnce) {
  EXPECT_NE(why("GET / HTTP/1.1\r\n\r\n").find("no header host"), std::string::npos);
  EXPECT_EQ(why("GET / HTTP/1.0\r\n\r\n"), "accepted");
  for (const char* name : {"Host", "Authorization", "Content-Type", "X-Amz-Target"}) {
    const std::string one = fmt::format("{}: a\r\n", name);
    const std::string host = name == std::string_view("Host") ? "" : "host: x\r\n";
    EXPECT_EQ(why("GET / HTTP/1.1\r\n" + host + one + "\r\n"), "accepted") << name;
    EXPECT_NE(why("GET / HTTP/1.1\r\n" + host + one + one + "\r\n").find("two headers"),
              std::string::npos)
        << name;
  }
}

TEST(Http, EmptyLinesAreNoRequest) {
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(read_all("\r\n\r\n" + get + "\r\n" + get, 1 << 20), "GET / ;GET / ;");
  std::string lines;
  while (lines.size() < size_t{1} << 20U) lines += "\r\n";
  for (const size_t size : {size_t{1}, size_t{2}, lines.size()}) {
    EXPECT_EQ(read_all(lines, size), "error") << size;
  }
}

// What is read of each costs what it has, not what stands behind it.
TEST(Http, ManySmallPiecesTakeNoLongerThanAFewLargeOnes) {
  constexpr int kPieces = 400'000;
  std::string chunks = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string requests;
  for (int i = 0; i < kPieces; ++i) {
    chunks += "1\r\nx\r\n";
    requests += "GET / HTTP/1.0\r\n\r\n";
  }
  const auto begun = std::chrono::steady_clock::now();
  HttpReader reader;
  reader.feed(chunks + "0\r\n\r\n" + requests);
  ASSERT_TRUE(reader.head().value());
  std::string body;
  EXPECT_TRUE(reader.body(body, kPieces + 1).value());
  EXPECT_EQ(body, std::string(kPieces, 'x'));
  int seen = 0;
  while (reader.head().value()) {
    ASSERT_TRUE(reader.body(body, 0).value());
    ++seen;
  }
  EXPECT_EQ(seen, kPieces);
  EXPECT_EQ(reader.unread(), 0U);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

}  // namespace
}  // namespace dunlin::http
