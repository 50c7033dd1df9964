#include "stores/engines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace dunlin::stores {
namespace {

std::string document(const std::string& name) {
  std::ifstream file(DUNLIN_DOCS "/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What stands between backticks in the text.
std::vector<std::string> in_backticks(std::string_view text) {
  std::vector<std::string> all;
  while (true) {
    const size_t begin = text.find('`');
    const size_t end = text.find('`', begin + 1);
    if (begin == std::string_view::npos || end == std::string_view::npos) return all;
    all.emplace_back(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
}

std::multiset<std::string> all_forms() {
  std::multiset<std::string> forms;
  for (const Engine& engine : engines()) {
    for (const UrlForm& one : engine.urls) {
      if (!one.form.empty()) forms.emplace(one.form);
    }
  }
  return forms;
}

TEST(Engines, AUrlBelongsToOneEngine) {
  for (const Engine& engine : engines()) {
    EXPECT_NE(engine.open, nullptr);
    for (const UrlForm& one : engine.urls) {
      if (one.begin.empty()) continue;
      EXPECT_EQ(engine_of(one.begin), &engine) << one.begin;
      if (one.form.empty()) continue;
      EXPECT_EQ(engine_of(one.form), &engine) << one.form;
    }
  }
  for (const char* url : {"", "memory", "nats://host", "File:x", " file:x", "postgres:x"}) {
    EXPECT_EQ(engine_of(url), nullptr) << url;
  }
}

TEST(Engines, OnlyWhatOthersCanShareServesAgents) {
  for (const Engine& engine : engines()) {
    EXPECT_EQ(engine.access != nullptr, engine.keeper != Keeper::process);
    EXPECT_EQ(engine.init != nullptr, engine.keeper == Keeper::server);
    EXPECT_EQ(engine.destroy != nullptr, engine.init != nullptr);
  }
}

TEST(Engines, AHubIsKnownByItsUrl) {
  EXPECT_TRUE(is_hub_url("dunlin://hub:7777"));
  EXPECT_TRUE(is_hub_url("dunlin+tls://hub:7777"));
  for (const char* url : {"", "file:dunlin:", "dunlinx://hub:1", "queue=aws:a/b,table=dunlin://h:1",
                          "postgres://me@dunlin/db"}) {
    EXPECT_FALSE(is_hub_url(url)) << url;
  }
}

TEST(Engines, WhatAnEngineDoesNotOfferIsSaid) {
  const auto what = [](const auto& result) { return result.ok() ? "ok" : result.error().what; };
  EXPECT_NE(what(open_access("memory:", {})).find("workers cannot use"), std::string::npos);
  EXPECT_NE(what(init_store("file:/tmp/x")).find("needs no init"), std::string::npos);
  EXPECT_NE(what(destroy_store("dunlin://h:1")).find("cannot be destroyed"), std::string::npos);
  EXPECT_NE(what(init_store("nats://h:1")).find("unknown scheme \"nats\""), std::string::npos);
  EXPECT_NE(what(destroy_store("here")).find("has no scheme"), std::string::npos);
  EXPECT_TRUE(list_made("").value().empty());
  EXPECT_TRUE(list_made("file:/tmp/x").value().empty());
}

TEST(Engines, AMixWithAWrongPartNamesIt) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"amqp://localhost", "is only a queue"},
      {"queue=amqp://localhost", "has no table="},
      {"table=postgres://me@h/db", "has no queue="},
      {"queue=,table=dunlin://h:1", "has nothing after queue="},
      {"queue=amqp://localhost,table=file:x", "has a table= that is not dunlin://HOST:PORT"},
      {"queue=dunlin://h:1,table=dunlin://h:1", "has a queue= that is neither"},
      {"queue=amqp://localhost,table=aws:a/bc,blobs=file:x", "not s3://BUCKET/PREFIX"},
      {"queue=amqp://localhost,queue=aws:a/bc", "names queue= twice"},
  };
  for (const auto& [url, part] : cases) {
    for (const bool agent : {false, true}) {
      const Result<void> opened = [&]() -> Result<void> {
        if (agent) TRY(open_access(url, {}));
        if (!agent) TRY(open_store(url, {}));
        return {};
      }();
      ASSERT_FALSE(opened.ok()) << url;
      EXPECT_EQ(opened.error().code, Code::invalid);
      EXPECT_NE(opened.error().what.find(part), std::string::npos) << opened.error().what;
    }
  }
}

TEST(Engines, TheDocumentOfEnginesHasARowForEachForm) {
  std::istringstream lines(document("ENGINES.md"));
  std::multiset<std::string> forms;
  bool table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| URL |")) table = true;
    if (line.empty() && !forms.empty()) break;
    if (!table || !line.starts_with("| `")) continue;
    for (std::string& form : in_backticks(line.substr(0, line.find(" | ", 2)))) {
      forms.insert(std::move(form));
    }
  }
  EXPECT_EQ(forms, all_forms());
}

TEST(Engines, TheDocumentOfCommandsNamesWhatOutlivesAProgram) {
  const std::string text = document("CLI.md");
  const size_t end = text.find("([ENGINES.md]", text.find("## dunlin store"));
  const size_t begin = text.rfind("`--at URL`", end);
  ASSERT_NE(begin, std::string::npos);
  const std::string sentence = text.substr(begin, end - begin);
  std::multiset<std::string> expected;
  for (const Engine& engine : engines()) {
    if (engine.keeper == Keeper::process) continue;
    for (const UrlForm& one : engine.urls) {
      if (!one.form.empty()) expected.emplace(one.form);
    }
  }
  std::multiset<std::string> named;
  for (const std::string& word : in_backticks(sentence)) {
    if (word != "--at URL") named.insert(word);
  }
  EXPECT_EQ(named, expected);
}

}  // namespace
}  // namespace dunlin::stores
