#include "net/address.h"

#include <gtest/gtest.h>

namespace dunlin::net {
namespace {

Address only(std::string_view text) {
  Result<std::vector<Address>> found = resolve(text);
  CHECK(found.ok() && found.value().size() == 1);
  return found.value().front();
}

TEST(Address, NumbersAndBack) {
  for (const auto* text : {"127.0.0.1:7070", "0.0.0.0:0", "[::1]:65535", "[::]:1", "10.1.2.3:80"}) {
    EXPECT_EQ(only(text).text(), text);
  }
}

TEST(Address, OnlyLoopbackIsLoopback) {
  for (const auto* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_TRUE(only(text).loopback()) << text;
  }
  for (const auto* text :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[fe80::1]:1", "[::ffff:1.2.3.4]:1", "128.0.0.1:1"}) {
    EXPECT_FALSE(only(text).loopback()) << text;
  }
}

TEST(Address, ANameIsLookedUp) {
  const Result<std::vector<Address>> found = resolve("localhost:7070");
  ASSERT_TRUE(found.ok());
  for (const Address& address : found.value()) {
    EXPECT_TRUE(address.loopback()) << address.text();
    EXPECT_EQ(address.port(), 7070);
  }
}

TEST(Address, WhatIsNotHostAndPortIsRefusedByName) {
  for (const auto* text : {"", "7070", ":7070", "localhost", "localhost:", "localhost:x",
                           "localhost:70000", "localhost:-1", "::1:7070", "[::1]", "[]:1",
                           "[localhost]:1", "a b:1", "a,b:1", "me@localhost:1", "[::1]1", "[::1"}) {
    const Result<std::vector<Address>> found = resolve(text);
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.error().code, Code::invalid) << text;
    EXPECT_NE(found.error().what.find(text), std::string::npos);
  }
}

TEST(Address, AHostThatDoesNotExistIsNotFound) {
  EXPECT_EQ(resolve("no.such.host.invalid:1").error().code, Code::not_found);
}

}  // namespace
}  // namespace dunlin::net
