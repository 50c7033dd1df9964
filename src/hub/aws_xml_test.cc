// XML that clients send to the door, as it comes over HTTP.
#include <gtest/gtest.h>

#include "testing/door.h"

namespace dunlin::hub {
namespace {

TEST(AwsDoor, ListsAreReadAsXmlAndNotAsText) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const auto put = [&](const char* key) {
    door.ask(door.request("s3", "PUT", fmt::format("/bucket/{}", key), "x"));
  };
  const auto remove = [&](const std::string& body) {
    return door.ask(door.request("s3", "POST", "/bucket?delete=", body));
  };
  const auto status = [&](const char* key) {
    return door.ask(door.request("s3", "HEAD", fmt::format("/bucket/{}", key), "")).substr(9, 3);
  };
  for (const char* key : {"one", "two", "three"}) put(key);
  EXPECT_TRUE(
      remove("<s3:Delete xmlns:s3='http://s3.amazonaws.com/doc/2006-03-01/'><!-- <Object>"
             "<Key>three</Key></Object> --><s3:Object\n><s3:Key\t>one</s3:Key\n></s3:Object>"
             "<s3:Object><s3:Key><![CDATA[two]]></s3:Key></s3:Object></s3:Delete>")
          .starts_with("HTTP/1.1 200"));
  EXPECT_EQ(status("one"), "404");
  EXPECT_EQ(status("two"), "404");
  EXPECT_EQ(status("three"), "200");
  for (const char* bad :
       {"", "three", "<Delete><Object><Key>three</Key></Object>",
        "<Delete><Object><Key>three</Key></Object></Delete", "<Delete/>",
        "<!DOCTYPE Delete [<!ENTITY k \"three\">]><Delete><Object><Key>&k;</Key></Object></Delete>",
        "<Delete><Object><Key>&k;</Key></Object></Delete>"}) {
    const std::string reply = remove(bad);
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 400")) << reply;
    EXPECT_NE(reply.find("<Code>MalformedXML</Code>"), std::string::npos) << reply;
  }
  EXPECT_EQ(status("three"), "200");
}

}  // namespace
}  // namespace dunlin::hub
