#include "stores/open.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "store/request.h"
#include "stores/hub_engine.h"
#include "testing/temp_folder.h"

namespace dunlin::stores {
namespace {

// A file with some text, for as long as the test runs.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(testing::TempDir() + "token-" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Open, MemoryIsAStore) {
  auto store = open_store("memory:", {});
  ASSERT_TRUE(store.ok()) << store.error().what;
  EXPECT_TRUE(store.value()->queue().push("q", std::vector<Message>{{"id", "body"}}).ok());
  EXPECT_EQ(store.value()->queue().depth("q").value().ready, 1U);
}

TEST(Open, AFolderIsAStoreThatOutlivesTheProcess) {
  const TestFolder folder;
  const std::string url = "file:" + folder.path() + "/new";
  {
    auto store = open_store(url, {});
    ASSERT_TRUE(store.ok()) << store.error().what;
    EXPECT_TRUE(store.value()->queue().push("q", std::vector<Message>{{"id", "body"}}).ok());
  }
  auto store = open_store(url, {});
  ASSERT_TRUE(store.ok()) << store.error().what;
  EXPECT_EQ(store.value()->queue().depth("q").value().ready, 1U);
}

TEST(Open, BadUrlsSayWhatIsWrongAndWhatThereIs) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "has no scheme"},
      {"somewhere", "has no scheme"},
      {"http://hub:1", "has the unknown scheme \"http\""},
      {"file:", "names no folder"},
      {"memory:x", "has something after 'memory:'"},
      {"dunlin:hub:1", "lacks the '//'"},
      {"dunlin+tls:hub:1", "lacks the '//'"},
      {"dunlin://", "has no host"},
      {"dunlin://hub", "has no port"},
      {"dunlin://[::1]", "has no port"},
      {"dunlin://:7777", "has no host"},
      {"dunlin://[]:7777", "has no host"},
      {"dunlin://::1:7777", "an IPv6 address goes in brackets"},
      {"dunlin://hub:", "has no port after \"hub:\""},
      {"dunlin://hub:0", "has the bad port \"0\""},
      {"dunlin://hub:65536", "has the bad port \"65536\""},
      {"dunlin://hub:77/", "has something after its port"},
      {"dunlin://hub:77?a=b", "has something after its port"},
      {"dunlin://hub:77#", "has something after its port"},
      {"dunlin://a:1,b:1", "names several hosts"},
      {"dunlin://hub: 77", "has a port that is not a number"},
      {"dunlin://me@hub:77", "has an '@' before its host"},
      {"dunlin://h b:77", "has the bad host"},
      {"dunlin+tls://hub:x", "has a port that is not a number of 1 to 65535"},
  };
  for (const auto& [url, part] : cases) {
    const auto store = open_store(url, {});
    ASSERT_FALSE(store.ok()) << url;
    EXPECT_EQ(store.error().code, Code::invalid) << url;
    EXPECT_NE(store.error().what.find(part), std::string::npos) << store.error().what;
    EXPECT_NE(store.error().what.find("memory:, file:FOLDER, dunlin://HOST:PORT"),
              std::string::npos);
  }
}

TEST(Open, HubUrlsHaveTheirParts) {
  const HubAddress plain = parse_hub_url("dunlin://hub.example:7777").value();
  EXPECT_EQ(plain.host, "hub.example");
  EXPECT_EQ(plain.port, 7777);
  EXPECT_FALSE(plain.tls);
  const HubAddress tls = parse_hub_url("dunlin+tls://[::1]:65535").value();
  EXPECT_EQ(tls.host, "::1");
  EXPECT_EQ(tls.port, 65535);
  EXPECT_TRUE(tls.tls);
}

TEST(Open, ATokenFileIsReadAndTrimmed) {
  const TextFile file(" \nsecret-1\n\n");
  EXPECT_EQ(read_token(file.path()).value(), "secret-1");
}

TEST(Open, ABadTokenFileIsNamed) {
  const auto expect_refused = [](const std::string& path, const char* why) {
    const auto token = read_token(path);
    ASSERT_FALSE(token.ok());
    EXPECT_EQ(token.error().code, Code::invalid);
    EXPECT_NE(token.error().what.find(path), std::string::npos) << token.error().what;
    EXPECT_NE(token.error().what.find(why), std::string::npos) << token.error().what;
    EXPECT_NE(token.error().what.find("--token-file"), std::string::npos) << token.error().what;
  };
  expect_refused("/no/such/token", "No such file");
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, const char*>>{{"", "empty"},
                                                        {" \n ", "empty"},
                                                        {"two words", "one word"},
                                                        {std::string(5000, 'x'), "longer than"}}) {
    const TextFile file(text);
    expect_refused(file.path(), why);
  }
}

TEST(Open, ATokenFileIsNamedBeforeAnythingIsAsked) {
  const auto store = open_store("dunlin://127.0.0.1:1", {.token_file = "/no/such/token"});
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().what.find("/no/such/token"), std::string::npos) << store.error().what;
}

TEST(Open, LookingMakesNoStore) {
  const TestFolder folder;
  const std::string url = "file:" + folder.path() + "/store";
  const auto refused = open_store(url, {.make = false});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::not_found);
  EXPECT_NE(refused.error().what.find(folder.path() + "/store"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/store"));
  EXPECT_TRUE(open_store(url, {}).ok());
  EXPECT_TRUE(open_store(url, {.make = false}).ok());
}

}  // namespace
}  // namespace dunlin::stores
