#include "url/loopback.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace dunlin {
namespace {

TEST(Loopback, IsLocalhostAndTheAddressesOfThisMachine) {
  for (const char* host :
       {"localhost", "127.0.0.1", "127.0.0.0", "127.1.2.3", "127.255.255.255", "::1",
        "0:0:0:0:0:0:0:1", "0000::0001", "::ffff:127.0.0.1", "::FFFF:127.9.9.9", "::ffff:7f00:1"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
}

TEST(Loopback, IsNoNameThatMerelyLooksLikeIt) {
  for (const char* host :
       {"127.example.com", "127.0.0.1.example.com", "127.0.0.1.", "127.0.0.1.5", "127.0.0", "127.1",
        "127.", "127", "localhost.", "localhost.example.com", "localhost.localdomain", "LOCALHOST",
        "ip6-localhost", "xlocalhost", "", ".", ":", "::", "*"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(Loopback, IsNoAddressOfAnotherMachineOrOfAll) {
  for (const char* host :
       {"0.0.0.0", "0.0.0.1", "10.0.0.1", "126.255.255.255", "128.0.0.1", "192.168.127.1",
        "1.0.0.127", "::2", "1::1", "::1:1", "fe80::1", "::ffff:0.0.0.0", "::ffff:128.0.0.1",
        "::127.0.0.1", "::7f00:1", "64:ff9b::127.0.0.1", "1::ffff:127.0.0.1"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

// Programs read these spellings in different ways, so they are trusted as none of them.
TEST(Loopback, IsNoAddressInAnUnusualSpelling) {
  for (const char* host : {"0177.0.0.1", "0127.0.0.1", "127.0.0.01", "127.000.000.001",
                           "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "127.0.0.256",
                           "127.0.0.-1", "127.0.0.+1", " 127.0.0.1", "127.0.0.1 ", "127.0.0.1\n",
                           "127.0.0.1:80", "127.0.0.1/8", "[::1]", "::1%lo", "%31%32%37"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
  EXPECT_FALSE(is_loopback_host(std::string_view("127.0.0.1\0.example.com", 22)));
  EXPECT_FALSE(is_loopback_host(std::string_view("localhost\0", 10)));
}

TEST(Loopback, OfBytesHasTheSameRule) {
  using Bytes = std::vector<uint8_t>;
  const Bytes zeros(10, 0);
  const auto six = [&](const Bytes& tail) {
    Bytes all = zeros;
    all.insert(all.end(), tail.begin(), tail.end());
    return all;
  };
  for (const Bytes& address : {Bytes{127, 0, 0, 1}, Bytes{127, 255, 1, 2}, six({0, 0, 0, 0, 0, 1}),
                               six({255, 255, 127, 0, 0, 1})}) {
    EXPECT_TRUE(is_loopback(address));
  }
  for (const Bytes& address :
       {Bytes{}, Bytes{127}, Bytes{127, 0, 0}, Bytes{127, 0, 0, 1, 0}, Bytes{0, 0, 0, 0},
        Bytes{128, 0, 0, 1}, Bytes{1, 0, 0, 127}, six({0, 0, 0, 0, 0, 0}), six({0, 0, 0, 0, 0, 2}),
        six({0, 0, 127, 0, 0, 1}), six({255, 255, 128, 0, 0, 1}), six({0, 255, 127, 0, 0, 1})}) {
    EXPECT_FALSE(is_loopback(address));
  }
}

}  // namespace
}  // namespace dunlin
