#include "hub/access/token.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "testing/temp_folder.h"

namespace dunlin::hub {
namespace {

const std::string kAdmin(64, 'a');
constexpr WallTime kNow = WallTime(std::chrono::seconds(1'000'000));

class TokenFile : public testing::Test {
 protected:
  void write(std::string_view text, mode_t mode) const {
    std::ofstream(token_path(folder)) << text;
    ASSERT_EQ(chmod(token_path(folder).c_str(), mode), 0);
  }

  const TestFolder temp;
  const std::string folder = temp.path();
};

TEST(Token, TheAdminTokenIsAdmin) {
  EXPECT_EQ(check_token(kAdmin, kAdmin, kNow).value().scopes, Scopes(Scope::admin));
}

TEST(Token, ADerivedTokenHasItsScopesUntilItExpires) {
  const Scopes scopes = Scopes(Scope::submit) | Scope::read;
  const std::string token = make_token(kAdmin, scopes, 1'000'001).value();
  EXPECT_TRUE(token.starts_with("d1.read,submit.1000001.")) << token;
  EXPECT_EQ(check_token(kAdmin, token, kNow).value().scopes, scopes);
  EXPECT_EQ(check_token(kAdmin, token, kNow + Millis(999)).value().scopes, scopes);
  const Result<Rights> late = check_token(kAdmin, token, kNow + Millis(1000));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::denied);
  EXPECT_NE(late.error().what.find("expired"), std::string::npos);
}

TEST(Token, ATokenWithoutExpiryStaysGood) {
  const std::string token = make_token(kAdmin, Scope::worker, 0).value();
  EXPECT_EQ(check_token(kAdmin, token, WallTime::max()).value().scopes, Scopes(Scope::worker));
}

TEST(Token, TwoTokensOfTheSameScopesDiffer) {
  EXPECT_NE(make_token(kAdmin, Scope::read, 0).value(), make_token(kAdmin, Scope::read, 0).value());
}

TEST(Token, ATokenOfAnotherHubIsDenied) {
  const std::string token = make_token(std::string(64, 'b'), Scope::admin, 0).value();
  EXPECT_EQ(check_token(kAdmin, token, kNow).error().code, Code::denied);
}

TEST(Token, NoByteOfATokenCanBeChangedCutOrAdded) {
  const std::string token = make_token(kAdmin, Scope::read, 2'000'000).value();
  for (size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_FALSE(check_token(kAdmin, other, kNow).ok()) << other;
    EXPECT_FALSE(check_token(kAdmin, token.substr(0, i), kNow).ok()) << token.substr(0, i);
  }
  EXPECT_FALSE(check_token(kAdmin, token + "0", kNow).ok());
  for (const auto* bad : {"", ".", "d1.", "d1..", "d1....", "d1.admin.0.0.", "admin"}) {
    EXPECT_EQ(check_token(kAdmin, bad, kNow).error().code, Code::denied) << bad;
  }
}

TEST_F(TokenFile, IsMadeOnceAndOnlyItsOwnerReadsIt) {
  EXPECT_EQ(read_admin_token(folder).error().code, Code::not_found);
  const std::string token = read_or_make_admin_token(folder).value();
  EXPECT_EQ(token.size(), 64U);
  EXPECT_EQ(read_or_make_admin_token(folder).value(), token);
  EXPECT_EQ(read_admin_token(folder).value(), token);
  struct stat about {};
  ASSERT_EQ(stat(token_path(folder).c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0600U);
  const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
  EXPECT_EQ(files, 1) << "something was left beside the token";
}

TEST_F(TokenFile, ThatOthersMayReadIsRefused) {
  for (const mode_t mode : {0640U, 0604U, 0660U, 0601U}) {
    write(kAdmin + "\n", mode);
    const Result<std::string> token = read_or_make_admin_token(folder);
    ASSERT_FALSE(token.ok());
    EXPECT_EQ(token.error().code, Code::denied);
    EXPECT_NE(token.error().what.find("chmod 600 " + folder), std::string::npos);
  }
}

TEST_F(TokenFile, ThatHoldsNoTokenIsRefusedAndKept) {
  write("secret\n", 0600);
  EXPECT_EQ(read_or_make_admin_token(folder).error().code, Code::corrupt);
  EXPECT_EQ(std::filesystem::file_size(token_path(folder)), 7U);
}

TEST(Token, AFolderThatIsMissingIsNamed) {
  const Result<std::string> token = read_or_make_admin_token("/nonexistent/hub");
  ASSERT_FALSE(token.ok());
  EXPECT_NE(token.error().what.find("/nonexistent/hub/token"), std::string::npos);
}

}  // namespace
}  // namespace dunlin::hub
