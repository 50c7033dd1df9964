#include "base/printable.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace dunlin {
namespace {

TEST(Printable, AUrlWithoutAPasswordStaysAsItIs) {
  for (const char* url :
       {"", "memory:", "file:/home/ann/a:b@c", "dunlin://hub:7070", "dunlin+tls://[::1]:7070",
        "postgres://me@a:5432,b:5432/lab?sslmode=verify-full#of-mine", "aws:eu-north-1/lab",
        "queue=amqp://host/v,table=postgres://me@host/lab,blobs=s3://bucket/lab"}) {
    EXPECT_EQ(printable_url(url), url);
  }
}

TEST(Printable, PasswordsAreHiddenWhereverTheyStand) {
  const auto shows = [](std::string_view url, std::string_view shown) {
    EXPECT_EQ(printable_url(url), shown) << url;
  };
  shows("postgres://me:sesame@host:5432/lab", "postgres://me:***@host:5432/lab");
  shows("postgres://me:s%40s%3Ame@a:1,b:2/lab#x", "postgres://me:***@a:1,b:2/lab#x");
  shows("postgres://me:ses@me/a?b@host/lab", "postgres://me:***@host/lab");
  shows("postgres://host/lab?user=me&password=sesame&sslmode=require",
        "postgres://host/lab?user=me&password=***&sslmode=require");
  shows("postgres://host/lab?PassWord=sesame", "postgres://host/lab?PassWord=***");
  shows("postgres://host/lab?pass%77ord=sesame", "postgres://host/lab?pass%77ord=***");
  shows("postgres://host/lab?sslpassword=sesame", "postgres://host/lab?sslpassword=***");
  shows("amqp://:sesame@host", "amqp://:***@host");
  shows("queue=amqp://a:one@h/,table=postgres://b:two@h/lab,blobs=postgres://c:three@h/x",
        "queue=amqp://a:***@h/,table=postgres://b:***@h/lab,blobs=postgres://c:***@h/x");
  shows("dunlin://sesame@hub:7070", "dunlin://***@hub:7070");
  // With mistakes.
  shows("postgres://me:sesame17", "postgres://me:***");
  shows("amqp://me:17sesame/lab?x=1", "amqp://me:***/lab?x=1");
  shows("postgres://a:1,me:sesame/lab", "postgres://a:1,me:***/lab");
  shows("dunlin://[::1]:sesame", "dunlin://[::1]:***");
  shows("postgress://me:sesame@host/lab", "postgress://me:***@host/lab");
  shows("postgres:me:sesame@host/lab", "postgres:***@host/lab");
  shows("me:sesame@host", "me:***@host");
  shows("queue=amqp://a:one@h/,tabel=postgres://b:two@h/lab", "queue=amqp://a:***@h/lab");
  shows("https://key:sesame@endpoint", "https://key:***@endpoint");
}

TEST(Printable, AQuoteHidesBeforeItShortens) {
  EXPECT_EQ(quote_url("postgres://someone-with-a-long-name:sesame@host/lab"),
            "\"postgres://someone-with-a-long-name:***...\"");
}

RC_GTEST_PROP(Printable, NoPasswordIsShownWhateverItIsMadeOf, ()) {
  const auto letters =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("qzQZ#?&=@:/%,. \\\"")));
  const std::string password = "<" + letters + ">";
  for (const std::string& url :
       {"postgres://me:" + password + "@host:5432/lab",
        "queue=amqp://me:" + password + "@host/,table=postgres://me@h/l"}) {
    const std::string shown = printable_url(url);
    RC_ASSERT(shown.find('<') == std::string::npos);
    RC_ASSERT(shown.find('>') == std::string::npos);
  }
}

TEST(Printable, ArgumentsAreCoveredInPlace) {
  std::string words[] = {
      "dunlin", "status", "--at", "postgres://me:sesame@h/lab", "--at=amqp://a:b@h", "last"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  cover_arguments(static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(words[3], "postgres://me:******@h/lab");
  EXPECT_EQ(words[4], "--at=amqp://a:*@h");
  EXPECT_EQ(words[5], "last");
}

}  // namespace
}  // namespace dunlin
