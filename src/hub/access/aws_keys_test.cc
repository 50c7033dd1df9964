#include "hub/access/aws_keys.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace dunlin::hub {
namespace {

constexpr std::string_view kAdmin =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const WallTime kNow(std::chrono::seconds(1'790'000'000));

TEST(AwsKeys, AKeySaysWhatItAllowsAndUntilWhen) {
  const Scopes scopes = Scopes(Scope::read) | Scope::worker;
  const aws::Credentials key = make_aws_key(kAdmin, scopes, 1'790'000'060);
  EXPECT_EQ(check_aws_key(key.key_id, kNow).value().scopes, scopes);
  const auto later = check_aws_key(key.key_id, kNow + std::chrono::seconds(60));
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().code, Code::denied);
  const aws::Credentials forever = make_aws_key(kAdmin, Scope::admin, 0);
  EXPECT_TRUE(check_aws_key(forever.key_id, kNow + std::chrono::hours(24 * 36500)).ok());
}

TEST(AwsKeys, EachIdHasASecretOfItsOwn) {
  const aws::Credentials a = make_aws_key(kAdmin, Scope::read, 0);
  const aws::Credentials b = make_aws_key(kAdmin, Scope::read, 0);
  EXPECT_NE(a.key_id, b.key_id);
  EXPECT_NE(a.secret, b.secret);
  EXPECT_EQ(aws_secret(kAdmin, a.key_id), a.secret);
  EXPECT_NE(aws_secret("another admin token", a.key_id), a.secret);
}

TEST(AwsKeys, WhatIsNoKeyIsDenied) {
  const std::string good = make_aws_key(kAdmin, Scope::read, 0).key_id;
  for (const std::string& bad :
       {std::string(), std::string("AKIAIOSFODNN7EXAMPLE"), good + "0", good.substr(1),
        "DUNLIN0" + good.substr(7), "DUNLINx" + good.substr(7),
        "DUNLIN1zzzzzzzzz" + good.substr(16)}) {
    EXPECT_FALSE(check_aws_key(bad, kNow).ok()) << bad;
  }
}

TEST(AwsKeys, TheAdminsFileIsPrivateAndTheSameEachTime) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "dunlin-aws-keys-test";
  std::filesystem::create_directories(folder);
  const auto read = [&] {
    EXPECT_TRUE(write_aws_credentials(folder, kAdmin).ok());
    std::ifstream file(aws_credentials_path(folder));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  const std::string first = read();
  EXPECT_EQ(first, read());
  EXPECT_TRUE(first.starts_with("[default]\naws_access_key_id = DUNLIN8"));
  EXPECT_EQ(std::filesystem::status(aws_credentials_path(folder)).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dunlin::hub
