#include "stores/aws/credentials.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "base/env_posix.h"

namespace dunlin::cloud {
namespace {

using Variables = std::map<std::string, std::string>;

struct Chain {
  explicit Chain(Variables given) : variables(std::move(given)) {}

  Variables variables;
  HttpClient http{""};
  KeyChain keys{http, posix_clock(), posix_disk(),
                [this](const char* name) -> std::optional<std::string> {
                  const auto found = variables.find(name);
                  if (found == variables.end()) return std::nullopt;
                  return found->second;
                }};
};

class Credentials : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::path(testing::TempDir()) / ("keys-" + std::to_string(random_seed()));
    std::filesystem::create_directories(folder / ".aws");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const char* name, const std::string& text) const {
    auto file = posix_disk().create((folder / ".aws" / name).string());
    CHECK(file.ok() && file.value()->write(0, text).ok());
  }
  Variables home() const {
    return {{"HOME", folder.string()}, {"AWS_EC2_METADATA_DISABLED", "true"}};
  }

  std::filesystem::path folder;
};

TEST(Ini, SectionsAndSettings) {
  const Ini ini = parse_ini(
      "# a comment\nlost = 1\n[default]\naws_access_key_id=ID\r\n  aws_secret_access_key = no\n"
      "aws_secret_access_key = se=cr/et # why\n;x\n\n[profile lab]\nregion = eu\ns3 =\n  a = b\n"
      "[ last ]\nk = v");
  EXPECT_EQ(ini.size(), 3U);
  EXPECT_EQ(ini.at("default").at("aws_access_key_id"), "ID");
  EXPECT_EQ(ini.at("default").at("aws_secret_access_key"), "se=cr/et");
  EXPECT_EQ(ini.at("lab").at("region"), "eu");
  EXPECT_EQ(ini.at("lab").count("a"), 0U);
  EXPECT_EQ(ini.at("last").at("k"), "v");
  EXPECT_FALSE(keys_in(ini, "lab"));
  EXPECT_FALSE(keys_in(ini, "none"));
  EXPECT_EQ(keys_in(ini, "default")->credentials.key_id, "ID");
  for (const char* odd : {"", "[", "[]", "=", "[a", "[a]\n=\n=x\ny="}) parse_ini(odd);
}

TEST(RoleKeys, HaveATokenAndAnEnd) {
  const auto keys = parse_role_keys(
      R"({"AccessKeyId":"A","SecretAccessKey":"S","Token":"T","Expiration":"2026-11-15T18:30:00Z"})");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->token, "T");
  EXPECT_EQ(keys->expires->time_since_epoch().count(), 1'794'767'400'000);
  EXPECT_FALSE(parse_role_keys("{}"));
  EXPECT_FALSE(parse_role_keys("no"));
  EXPECT_EQ(parse_iso_time("2026-11-15T18:30:00.123Z"), keys->expires);
  EXPECT_FALSE(parse_iso_time(""));
  EXPECT_FALSE(parse_iso_time("tomorrow"));
}

TEST_F(Credentials, TheEnvironmentComesFirst) {
  write("credentials", "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n");
  Variables variables = home();
  EXPECT_EQ(Chain(variables).keys.keys().value().credentials.key_id, "FILE");
  variables["AWS_ACCESS_KEY_ID"] = "ENV";
  EXPECT_EQ(Chain(variables).keys.keys().value().credentials.key_id, "FILE");
  variables["AWS_SECRET_ACCESS_KEY"] = "secret";
  variables["AWS_SESSION_TOKEN"] = "token";
  const Keys keys = Chain(variables).keys.keys().value();
  EXPECT_EQ(keys.credentials.key_id, "ENV");
  EXPECT_EQ(keys.token, "token");
}

TEST_F(Credentials, AProfileIsChosen) {
  write("credentials", "[a]\naws_access_key_id = A\naws_secret_access_key = s\n");
  write("config",
        "[profile b]\naws_access_key_id = B\naws_secret_access_key = s\n"
        "[profile c]\nrole_arn = arn\n");
  Variables variables = home();
  for (const auto& [profile, id] : Variables{{"a", "A"}, {"b", "B"}}) {
    variables["AWS_PROFILE"] = profile;
    EXPECT_EQ(Chain(variables).keys.keys().value().credentials.key_id, id);
  }
  variables["AWS_PROFILE"] = "c";
  EXPECT_NE(Chain(variables).keys.keys().error().what.find("role_arn"), std::string::npos);
  variables["AWS_PROFILE"] = "d";
  const Error none = Chain(variables).keys.keys().error();
  EXPECT_EQ(none.code, Code::denied);
  EXPECT_NE(none.what.find("\"d\" (AWS_PROFILE) has no keys"), std::string::npos);
}

TEST_F(Credentials, NoneNamesWhatWasTried) {
  const Error none = Chain(home()).keys.keys().error();
  EXPECT_EQ(none.code, Code::denied);
  for (const std::string part : {"AWS_ACCESS_KEY_ID", "/.aws/credentials", "/.aws/config",
                                 "AWS_CONTAINER_CREDENTIALS", "AWS_EC2_METADATA_DISABLED"}) {
    EXPECT_NE(none.what.find(part), std::string::npos) << none.what;
  }
}

TEST_F(Credentials, TheContainersTokenIsNotSentToStrangers) {
  Variables variables = home();
  for (const char* url : {"http://example.com/keys", "http://127.0.0.1.example.com/",
                          "http://localhost.example.com"}) {
    variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    EXPECT_EQ(Chain(variables).keys.keys().error().code, Code::denied);
  }
}

}  // namespace
}  // namespace dunlin::cloud
