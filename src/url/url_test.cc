#include "url/url.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <rapidcheck/gtest.h>

namespace dunlin {
namespace {

Url right(std::string_view text) {
  const Result<Url> url = parse_url(text);
  EXPECT_TRUE(url.ok()) << text << ": " << (url.ok() ? "" : url.error().what);
  return url.ok() ? url.value() : Url();
}

std::string wrong(std::string_view text) {
  const Result<Url> url = parse_url(text);
  EXPECT_FALSE(url.ok()) << text;
  if (url.ok()) return "";
  EXPECT_EQ(url.error().code, Code::invalid);
  return url.error().what;
}

TEST(Url, HasItsParts) {
  const Url url =
      right("a+b-1.2://me:p%40s%2Fs@a.example:1,[fe80::1%eth0]:65535,c/x%2Fy/z?k=v%26&l#f%20g");
  EXPECT_EQ(url.scheme, "a+b-1.2");
  EXPECT_EQ(url.user, "me");
  EXPECT_EQ(url.password, "p@s/s");
  ASSERT_EQ(url.hosts.size(), 3U);
  EXPECT_EQ(url.hosts[0].name, "a.example");
  EXPECT_EQ(url.hosts[0].port, 1);
  EXPECT_EQ(url.hosts[1].name, "fe80::1%eth0");
  EXPECT_EQ(url.hosts[1].port, 65535);
  EXPECT_EQ(url.hosts[2].name, "c");
  EXPECT_EQ(url.hosts[2].port, std::nullopt);
  EXPECT_EQ(url.path, "/x/y/z");
  EXPECT_EQ(url.query, (Query{{"k", "v&"}, {"l", ""}}));
  EXPECT_EQ(url.fragment, "f g");
}

TEST(Url, WhatIsNotSaidIsNotThere) {
  const Url url = right("s://h");
  EXPECT_EQ(url.user, std::nullopt);
  EXPECT_EQ(url.password, std::nullopt);
  EXPECT_EQ(url.path, "");
  EXPECT_TRUE(url.query.empty());
  EXPECT_EQ(url.fragment, std::nullopt);
  EXPECT_EQ(right("s://@h").user, "");
  EXPECT_EQ(right("s://me@h").password, std::nullopt);
  EXPECT_EQ(right("s://me:@h").password, "");
  EXPECT_EQ(right("s://h/").path, "/");
  EXPECT_EQ(right("s://h#").fragment, "");
  EXPECT_EQ(right("s://h?#").query, Query());
}

TEST(Url, IsDecodedOnce) {
  const Url url = right("s://%2540:%2525@h/%252F?%253D=%2526#%2523");
  EXPECT_EQ(url.user, "%40");
  EXPECT_EQ(url.password, "%25");
  EXPECT_EQ(url.path, "/%2F");
  EXPECT_EQ(url.query, (Query{{"%3D", "%26"}}));
  EXPECT_EQ(url.fragment, "%23");
}

TEST(Url, TheWrongPartIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "a scheme"},
      {"h:1", "a scheme"},
      {"://h", "a scheme"},
      {"1s://h", "a scheme"},
      {"S://h", "a scheme"},
      {"s s://h", "a scheme"},
      {std::string(33, 's') + "://h", "a scheme"},
      {"s:/h", "a scheme"},
      {"s://", "has no host"},
      {"s:///p", "has no host"},
      {"s://?q", "has no host"},
      {"s://me@", "has no host"},
      {"s://:1", "has no host"},
      {"s://[]:1", "has no host"},
      {"s://,h", "has no host"},
      {"s://h,,i", "has no host"},
      {"s://h,", "has a ',' without a host after it"},
      {"s://h:", "has no port after \"h:\""},
      {"s://[::1]:", "has no port after \"[::1]:\""},
      {"s://h:0", "has the bad port \"0\" (1 to 65535)"},
      {"s://h:65536", "has the bad port \"65536\""},
      {"s://h:-1", "has a port that is not a number of 1 to 65535"},
      {"s://h:+1", "has a port that is not a number"},
      {"s://h:1x", "has a port that is not a number"},
      {"s://h: 1", "has a port that is not a number"},
      {"s://::1", "has more than one ':'"},
      {"s://::1:80", "has more than one ':'"},
      {"s://[::1", "has no ']'"},
      {"s://[::1]80", "has \"80\" after the host's ']'"},
      {"s://[host]", "has the bad host \"host\""},
      {"s://[127.0.0.1]", "has the bad host"},
      {"s://[::1%", "has no ']'"},
      {"s://a b", "has the bad host \"a b\""},
      {"s://a\\b", "has the bad host"},
      {"s://a%41", "has the bad host"},
      {"s://a]", "has the bad host"},
      {"s://" + std::string(254, 'h'), "has the bad host"},
      {"s://%zz@h", "in the user"},
      {"s://u:%4@h", "in the password"},
      {"s://h/%", "in the path"},
      {"s://h?%g0", "in the query"},
      {"s://h#%0", "in the fragment"},
      {"s://%00@h", "a zero byte in the user"},
      {"s://h/%00", "a zero byte in the path"},
      {"s://h?a=%00", "a zero byte in the query"},
      {"s://h/a@b", "has an '@' after the host"},
      {"s://u:p/q@h", "has an '@' after the host"},
      {"s://u:p?q@h", "has an '@' after the host"},
      {"s://u:p#q@h", "has an '@' after the host"},
      {"s://h/" + std::string(kUrlBytesMax, 'x'), "more than 32768 bytes"},
  };
  for (const auto& [text, part] : cases) {
    const std::string what = wrong(text);
    EXPECT_NE(what.find(part), std::string::npos) << text << ": " << what;
  }
}

TEST(Url, NoSecretIsShown) {
  for (const char* text :
       {"s://me:hush%zz@h", "s://me:hush/x@h:1", "s://me:hush@h:x", "s://me:x?hush@h",
        "s://me:hush#hush@h", "s://me:a@hush:hush@h:x", "s://hush%@h", "s://u:hush@"}) {
    EXPECT_EQ(wrong(text).find("hush"), std::string::npos) << wrong(text);
  }
}

TEST(Url, AHostAloneMayHaveAPort) {
  EXPECT_EQ(parse_host("h").value().port, std::nullopt);
  EXPECT_EQ(parse_host("[::1]").value().name, "::1");
  EXPECT_EQ(parse_host("[::]:7").value().port, 7);
  EXPECT_FALSE(parse_host("h:0").ok());
  EXPECT_EQ(parse_host("h:0", 0).value().port, 0);
  EXPECT_EQ(parse_host("0.0.0.0:65535", 0).value().name, "0.0.0.0");
}

// Bytes but the zero byte, which no part takes.
std::string some_text() { return *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)); }

RC_GTEST_PROP(Url, WhatIsWrittenEncodedIsReadAgain, ()) {
  Url url{.scheme = "s"};
  std::string text = "s://";
  if (*rc::gen::arbitrary<bool>()) {
    url.user = some_text();
    url.password = some_text();
    text += percent_encode(*url.user) + ":" + percent_encode(*url.password) + "@";
  }
  const auto hosts = *rc::gen::inRange<size_t>(1, 4);
  for (size_t i = 0; i < hosts; ++i) {
    UrlHost host{*rc::gen::element<std::string>("h", "a.example", "127.0.0.1", "::1", "fe80::2")};
    if (i > 0) text += ',';
    const bool six = host.name.find(':') != std::string::npos;
    text += six ? "[" + host.name + "]" : host.name;
    if (*rc::gen::arbitrary<bool>()) {
      host.port = *rc::gen::inRange<uint16_t>(1, 65535);
      text += fmt::format(":{}", *host.port);
    }
    url.hosts.push_back(std::move(host));
  }
  if (*rc::gen::arbitrary<bool>()) {
    url.path = "/" + some_text();
    text += percent_encode(url.path, true);
  }
  const auto options = *rc::gen::inRange<size_t>(0, 3);
  for (size_t i = 0; i < options; ++i) {
    url.query.emplace_back(some_text() + "n", some_text());
    text += fmt::format("{}{}={}", i == 0 ? '?' : '&', percent_encode(url.query.back().first),
                        percent_encode(url.query.back().second));
  }
  const Result<Url> read = parse_url(text);
  RC_ASSERT(read.ok());
  RC_ASSERT(read.value().user == url.user);
  RC_ASSERT(read.value().password == url.password);
  RC_ASSERT(read.value().path == url.path);
  RC_ASSERT(read.value().query == url.query);
  RC_ASSERT(read.value().hosts.size() == url.hosts.size());
  for (size_t i = 0; i < hosts; ++i) {
    RC_ASSERT(read.value().hosts[i].name == url.hosts[i].name);
    RC_ASSERT(read.value().hosts[i].port == url.hosts[i].port);
  }
}

}  // namespace
}  // namespace dunlin
