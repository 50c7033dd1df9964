#include "stores/amqp/address.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace dunlin::amqp {
namespace {

AmqpAddress good(const std::string& url) {
  const Result<AmqpAddress> address = parse_amqp_url(url);
  EXPECT_TRUE(address.ok()) << url << ": " << (address.ok() ? "" : address.error().what);
  return address.ok() ? address.value() : AmqpAddress{};
}

std::string wrong(const std::string& url) {
  const Result<AmqpAddress> address = parse_amqp_url(url);
  EXPECT_FALSE(address.ok()) << url;
  if (address.ok()) return "";
  EXPECT_EQ(address.error().code, Code::invalid);
  return address.error().what;
}

TEST(AmqpUrl, AllOfIt) {
  const AmqpAddress address =
      good("amqps://me:p%40s%2Fs@a.example:1,b.example,[fe80::1]:3/lab%2F1?prefix=x.y&ca=/a%20b");
  ASSERT_EQ(address.hosts.size(), 3U);
  EXPECT_EQ(address.hosts[0].text(), "a.example:1");
  EXPECT_EQ(address.hosts[1].text(), "b.example:5671");
  EXPECT_EQ(address.hosts[2].text(), "[fe80::1]:3");
  EXPECT_TRUE(address.tls);
  EXPECT_EQ(address.user, "me");
  EXPECT_EQ(address.password, "p@s/s");
  EXPECT_EQ(address.vhost, "lab/1");
  EXPECT_EQ(address.prefix, "x.y");
  EXPECT_EQ(address.ca_file, "/a b");
  EXPECT_EQ(address.text(), "amqps://me@a.example:1,b.example:5671,[fe80::1]:3/lab/1");
}

TEST(AmqpUrl, WhatIsNotSaid) {
  for (const auto* url : {"amqp://localhost", "amqp://127.0.0.1", "amqp://[::1]/",
                          "amqp://localhost,127.1.2.3/%2F", "amqp://localhost//"}) {
    const AmqpAddress address = good(url);
    EXPECT_EQ(address.user, "guest") << url;
    EXPECT_EQ(address.password, "guest") << url;
    EXPECT_EQ(address.vhost, "/") << url;
    EXPECT_EQ(address.prefix, "dunlin") << url;
    EXPECT_FALSE(address.hosts.empty()) << url;
    for (const AmqpHost& host : address.hosts) EXPECT_EQ(host.port, 5672) << url;
  }
  EXPECT_EQ(good("amqp://me:@localhost").password, "");
}

TEST(AmqpUrl, AnotherMachineNeedsTlsOrAWord) {
  EXPECT_NE(wrong("amqp://u:p@10.0.0.1/").find("amqps://"), std::string::npos);
  EXPECT_NE(wrong("amqp://u:p@localhost,far.example/").find("insecure=1"), std::string::npos);
  good("amqp://u:p@10.0.0.1/?insecure=1");
  good("amqp://u:p@10.0.0.1?insecure=1");
  good("amqps://u:p@10.0.0.1/");
  EXPECT_NE(wrong("amqps://far.example/").find("USER:PASSWORD@"), std::string::npos);
}

TEST(AmqpUrl, AnAddressThatOnlyLooksLikeThisMachineNeedsTls) {
  for (const char* host : {"127.1", "0177.0.0.1", "0.0.0.0", "127.0.0.1.example.com", "[::]",
                           "[::ffff:10.0.0.1]", "localhost.example.com"}) {
    const std::string what = wrong(fmt::format("amqp://u:p@{}/", host));
    EXPECT_NE(what.find("without TLS"), std::string::npos) << what;
  }
  good("amqp://[::ffff:127.0.0.1]/");
}

TEST(AmqpUrl, TheWrongPartIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"http://localhost", "begins neither"},
      {"amqp://", "no host"},
      {"amqp:///v", "no host"},
      {"amqp://u:p@/v", "no host"},
      {"amqp://localhost,/v", "','"},
      {"amqp://,localhost/v", "no host"},
      {"amqp://localhost:/v", "no port"},
      {"amqp://localhost:0/v", "\"0\""},
      {"amqp://localhost:70000/v", "70000"},
      {"amqp://localhost:5x/v", "has a port that is not a number"},
      {"amqp://::1/v", "an IPv6 address goes in brackets"},
      {"amqp://[::1/v", "']'"},
      {"amqp://[::1]x/v", "']'"},
      {"amqp://:p@localhost", "no user"},
      {"amqp://me@localhost", "no password"},
      {"amqp://localhost/a%zz", "the path"},
      {"amqp://localhost/a%2", "the path"},
      {"amqp://localhost/%00", "zero byte"},
      {"amqp://localhost/" + std::string(256, 'v'), "255 bytes in the vhost"},
      {"amqp://localhost/?ca=%zz", "the query"},
      {"amqp://localhost/v#x", "'#'"},
      {"amqp://localhost/?prefix=a%20b", "prefix"},
      {"amqp://localhost/?prefix=", "prefix"},
      {"amqp://localhost/?prefix=amq.x", "amq"},
      {"amqp://localhost/?ca=x", "amqps://"},
      {"amqps://u:p@localhost/?ca=", "no file"},
      {"amqps://u:p@localhost/?insecure=1", "insecure"},
      {"amqp://localhost/?insecure=yes", "insecure=yes"},
      {"amqp://localhost/?colour=red", "colour"},
  };
  for (const auto& [url, word] : cases) {
    const std::string what = wrong(url);
    EXPECT_NE(what.find(word), std::string::npos) << url << ": " << what;
  }
}

TEST(AmqpUrl, NoPasswordIsShown) {
  for (const auto* url :
       {"amqp://me:hush%zz@localhost", "amqp://me:hush/x@localhost:1/v", "amqp://me:hush@far/v",
        "amqp://me:x?hush@localhost/v", "amqp://me:hush@localhost:x/v",
        "amqp://me:hush#hush@localhost/v", "amqp://me:a@hush:hush@localhost:x"}) {
    EXPECT_EQ(wrong(url).find("hush"), std::string::npos) << wrong(url);
  }
  EXPECT_EQ(good("amqp://me:hush@localhost").text().find("hush"), std::string::npos);
}

}  // namespace
}  // namespace dunlin::amqp
