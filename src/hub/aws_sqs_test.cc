// SQS behind the door: what no SDK says, in the JSON protocol and in the Query protocol; and limits
// that AWS's own clients do not try.

#include <gtest/gtest.h>

#include "doors/aws/call/later.h"
#include "doors/aws/sqs/query.h"
#include "testing/door.h"

namespace dunlin::hub {
namespace {

using aws::json;

class SqsDoor : public ::testing::Test {
 protected:
  SqsDoor() {
    door.settle();
    json_ask("CreateQueue", R"({"QueueName":"q"})");
  }

  std::string json_ask(const std::string& operation, std::string_view body) {
    return door.ask_json("AmazonSQS." + operation, body);
  }
  std::string form(std::string_view body, std::string_view path = "/000000000000/q") {
    return door.ask(door.request("sqs", "POST", path, body));
  }
  static json body_of(const std::string& reply) {
    return aws::parse_object(reply.substr(reply.find("\r\n\r\n") + 4)).value_or(json::object());
  }
  json attributes() {
    return body_of(json_ask("GetQueueAttributes", R"({"QueueUrl":"q","AttributeNames":["All"]})"))
        .value("Attributes", json::object());
  }
  std::string counts() {
    const json all = attributes();
    return fmt::format("{} {} {}", all.value("ApproximateNumberOfMessages", "?"),
                       all.value("ApproximateNumberOfMessagesNotVisible", "?"),
                       all.value("ApproximateNumberOfMessagesDelayed", "?"));
  }
  void send(const std::string& text) {
    json_ask("SendMessage", fmt::format(R"({{"QueueUrl":"q","MessageBody":"{}"}})", text));
  }
  std::string receive(const std::string& more = "") {
    return json_ask("ReceiveMessage", R"({"QueueUrl":"q")" + more + "}");
  }
  std::string receipt(const std::string& received) {
    return body_of(received)["Messages"][0].value("ReceiptHandle", "");
  }

  TestDoor door;
};

bool says(const std::string& reply, std::string_view words) {
  return reply.find(words) != std::string::npos;
}

TEST_F(SqsDoor, OfAttributesThatNoQueueHasHereNothingIsTold) {
  EXPECT_EQ(attributes().value("SqsManagedSseEnabled", "?"), "false");
  for (const std::string_view name : {"Policy", "RedrivePolicy", "RedriveAllowPolicy",
                                      "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"}) {
    const std::string told =
        json_ask("GetQueueAttributes",
                 fmt::format(R"({{"QueueUrl":"q","AttributeNames":["{}","DelaySeconds"]}})", name));
    EXPECT_EQ(body_of(told), json::parse(R"({"Attributes":{"DelaySeconds":"0"}})")) << name;
    EXPECT_EQ(body_of(json_ask("GetQueueAttributes",
                               fmt::format(R"({{"QueueUrl":"q","AttributeNames":["{}"]}})", name))),
              json::object())
        << name;
  }
  for (const std::string_view name : {"FifoQueue", "Other"}) {
    EXPECT_TRUE(says(json_ask("GetQueueAttributes",
                              fmt::format(R"({{"QueueUrl":"q","AttributeNames":["{}"]}})", name)),
                     "InvalidAttributeName"))
        << name;
  }
}

TEST_F(SqsDoor, AttributesAndIdsThatSqsRefusesAreRefused) {
  const auto send_with = [this](std::string_view name, std::string_view value) {
    return json_ask(
        "SendMessage",
        fmt::format(R"({{"QueueUrl":"q","MessageBody":"x","MessageAttributes":{{"{}":{}}}}})", name,
                    value));
  };
  const std::string text = R"({"DataType":"String","StringValue":"x"})";
  EXPECT_TRUE(says(send_with("a.b", text), "MessageId"));
  EXPECT_TRUE(says(send_with("awsome", text), "MessageId"));
  EXPECT_TRUE(
      says(send_with("n", R"({"DataType":"Number.int","StringValue":"-1.5e3"})"), "MessageId"));
  for (const std::string_view name : {"AWS.x", "amazon.x", ".a", "a.", "a..b"}) {
    EXPECT_TRUE(says(send_with(name, text), "InvalidParameterValue")) << name;
  }
  for (const std::string_view value :
       {R"({"DataType":"String","StringValue":""})", R"({"DataType":"Binary","BinaryValue":""})",
        R"({"DataType":"Number","StringValue":"abc"})"}) {
    EXPECT_TRUE(says(send_with("n", value), "InvalidParameterValue")) << value;
  }
  EXPECT_TRUE(says(json_ask("SendMessageBatch",
                            R"({"QueueUrl":"q","Entries":[{"Id":"a b","MessageBody":"x"}]})"),
                   "InvalidBatchEntryId"));
}

TEST_F(SqsDoor, OneQueueSpeaksBothProtocols) {
  EXPECT_TRUE(says(form("Action=SendMessage&Version=2012-11-05&MessageBody=a+b%2Bc%0D%0A%26"),
                   "<SendMessageResult>"));
  EXPECT_TRUE(says(receive(), R"("Body":"a b+c\r\n&")"));
  send("x < y\\r\\u0007");
  const std::string got = form("Action=ReceiveMessage&AttributeName=All");
  EXPECT_TRUE(says(got, "<ReceiveMessageResult></ReceiveMessageResult>"))
      << got;  // It was refused.
  send("x < y\\r");
  const std::string good = form("Action=ReceiveMessage&AttributeName=All");
  EXPECT_TRUE(says(good, "<Body>x &lt; y&#13;</Body>")) << good;
  EXPECT_TRUE(says(good, "<Attribute><Name>SenderId</Name><Value>dunlin</Value></Attribute>"));
}

TEST_F(SqsDoor, WhatIsNoUtf8AndNoXmlInAMessageOfANativeClientIsReplaced) {
  door.push("sqs.q", "id", "a\x01\xff\xef\xbf\xbf z");
  EXPECT_TRUE(
      says(form("Action=ReceiveMessage"), "<Body>a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd z</Body>"));
}

TEST_F(SqsDoor, ParametersAlsoComeInTheUrl) {
  const std::string sent = door.ask(
      door.request("sqs", "GET", "/000000000000/q?Action=SendMessage&MessageBody=by%20url", ""));
  EXPECT_TRUE(says(sent, "<MD5OfMessageBody>" + hex(md5("by url")))) << sent;
  EXPECT_TRUE(says(form("Action=ReceiveMessage"), "<Body>by url</Body>"));
}

TEST_F(SqsDoor, AFormIsReadOrRefusedWhole) {
  const std::array<std::pair<std::string, std::string>, 12> bad = {{
      {"", "MissingAction"},
      {"Action=", "MissingAction"},
      {"Action=Nonsense", "InvalidAction"},
      {"Action=ListQueues&Version=2006-01-01", "NoSuchVersion"},
      {"Action=ListQueues&a=%zz", "MalformedQueryString"},
      {"Action=ListQueues&Action=ListQueues", "comes twice"},
      {"Action=ListQueues&MaxResults=x", "MaxResults is a number"},
      {"Action=ListQueues&a.b.c.d.e.f.g=1", "too many parts"},
      {"Action=SendMessage&MessageBody=%ff", "MessageBody is not UTF-8"},
      {"Action=SendMessage", "MissingParameter"},
      {"Action=TagQueue&Tag.1.Key=a&Tag.1.Value=1&Tag.2.Key=a&Tag.2.Value=2", "comes twice"},
      {"Action=ListQueues" + std::string(2000, '&'), "at most 2000 parameters"},
  }};
  for (const auto& [body, words] : bad) {
    const std::string reply = form(body);
    EXPECT_TRUE(says(reply, words)) << body << reply;
    EXPECT_TRUE(says(reply, "<Type>Sender</Type>")) << reply;
    EXPECT_EQ(reply.substr(9, 3), "400") << reply;
  }
  const std::string much(100'000, 'x');
  for (const std::string& body :
       {"Action=" + much, "Action=PurgeQueue&QueueUrl=" + much, much + "=&" + much + "="}) {
    EXPECT_LT(form(body).size(), 1000U);  // Nobody gets his own words back by the megabyte.
  }
  EXPECT_EQ(counts(), "0 0 0");
  for (const std::string_view version : {"2012-11-05", "2011-10-01", "2009-02-01"}) {
    const std::string reply = form(fmt::format("Action=ListQueues&Version={}", version), "/");
    EXPECT_TRUE(says(reply, fmt::format("doc/{}/", version))) << reply;
    EXPECT_TRUE(says(reply, "/000000000000/q</QueueUrl>")) << reply;
  }
}

TEST_F(SqsDoor, EntriesComeInTheOrderOfTheirNumbers) {
  std::string body = "Action=SendMessageBatch";
  for (const int i : {10, 9, 2, 1}) {
    body += fmt::format(
        "&SendMessageBatchRequestEntry.{0}.Id=e{0}"
        "&SendMessageBatchRequestEntry.{0}.MessageBody=b{0}",
        i);
  }
  const std::string sent = form(body);
  EXPECT_LT(sent.find("<Id>e1</Id>"), sent.find("<Id>e2</Id>"));
  EXPECT_LT(sent.find("<Id>e9</Id>"), sent.find("<Id>e10</Id>"));
  EXPECT_NE(sent.find("<Id>e10</Id>"), std::string::npos);
}

TEST_F(SqsDoor, StrangersAreToldInTheProtocolThatTheySpeak) {
  const std::string unsigned_form =
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded; charset=UTF-8"
      "\r\ncontent-length: 17\r\n\r\nAction=ListQueues";
  const std::string version2 =
      "GET /?Action=ListQueues&AWSAccessKeyId=A&SignatureVersion=2&Signature=x HTTP/1.1\r\n"
      "host: x\r\n\r\n";
  for (const std::string& request : {unsigned_form, version2}) {
    const std::string reply = door.ask(request);
    EXPECT_TRUE(says(reply, "<Code>MissingAuthenticationToken</Code>")) << reply;
    EXPECT_TRUE(says(reply, "version 2")) << reply;
  }
  door.key.secret = "wrong";
  EXPECT_TRUE(says(form("Action=ListQueues"), "<Code>SignatureDoesNotMatch</Code>"));
  door.key.key_id = "AKIAIOSFODNN7EXAMPLE";
  EXPECT_TRUE(says(form("Action=ListQueues"), "<Code>InvalidClientTokenId</Code>"));
}

TEST_F(SqsDoor, NoHoldIsLongerThanTwelveHours) {
  send("x");
  const std::string handle = receipt(receive());
  for (const std::string_view bad :
       {"43201", "-1", "9223372036854775807", "18446744073709551615", "1e3", "\"9\"", "null"}) {
    const std::string change = fmt::format(
        R"({{"QueueUrl":"q","ReceiptHandle":"{}","VisibilityTimeout":{}}})", handle, bad);
    EXPECT_TRUE(says(json_ask("ChangeMessageVisibility", change), "InvalidParameterValue")) << bad;
    const std::string entries = fmt::format(
        R"({{"QueueUrl":"q","Entries":[{{"Id":"1","ReceiptHandle":"{}","VisibilityTimeout":{}}}]}})",
        handle, bad);
    EXPECT_TRUE(says(json_ask("ChangeMessageVisibilityBatch", entries),
                     R"("Code":"InvalidParameterValue")"))
        << bad;
    if (bad == "null") continue;  // It may be left out here.
    EXPECT_TRUE(
        says(receive(fmt::format(R"(,"VisibilityTimeout":{})", bad)), "InvalidParameterValue"))
        << bad;
    EXPECT_TRUE(says(receive(fmt::format(R"(,"WaitTimeSeconds":{})", bad)), "is a number from 0"))
        << bad;
  }
  for (const std::string_view bad : {"43201", "9223372036854775807", "18446744073709551616"}) {
    EXPECT_TRUE(says(form(fmt::format("Action=ReceiveMessage&VisibilityTimeout={}", bad)),
                     "InvalidParameterValue"))
        << bad;
    EXPECT_TRUE(says(json_ask("SetQueueAttributes", fmt::format(R"({{"QueueUrl":"q","Attributes":)"
                                                                R"({{"VisibilityTimeout":"{}"}}}})",
                                                                bad)),
                     "InvalidAttributeValue"));
  }
  const std::string most =
      fmt::format(R"({{"QueueUrl":"q","ReceiptHandle":"{}","VisibilityTimeout":43200}})", handle);
  EXPECT_TRUE(says(json_ask("ChangeMessageVisibility", most), "200 OK"));
  door.skip(Millis(43'199'000));
  EXPECT_EQ(counts(), "0 1 0");
  door.skip(Millis(2'000));
  EXPECT_EQ(counts(), "1 0 0");
}

TEST_F(SqsDoor, OnlyCharactersThatXmlHasMayBeSent) {
  for (const std::string_view bad : {"\\u0000", "\\u0001", "\\u001f", "\\ufffe", "\\uffff"}) {
    EXPECT_TRUE(
        says(json_ask("SendMessage", fmt::format(R"({{"QueueUrl":"q","MessageBody":"a{}"}})", bad)),
             "InvalidMessageContents"))
        << bad;
    EXPECT_TRUE(says(
        json_ask(
            "SendMessageBatch",
            fmt::format(R"({{"QueueUrl":"q","Entries":[{{"Id":"1","MessageBody":"a{}"}}]}})", bad)),
        R"("Code":"InvalidMessageContents")"))
        << bad;
    EXPECT_TRUE(
        says(json_ask("SendMessage",
                      fmt::format(R"({{"QueueUrl":"q","MessageBody":"a","MessageAttributes":{{"n":)"
                                  R"({{"DataType":"String","StringValue":"{}"}}}}}})",
                                  bad)),
             "InvalidMessageContents"))
        << bad;
  }
  EXPECT_TRUE(says(form("Action=SendMessage&MessageBody=%00"), "InvalidMessageContents"));
  EXPECT_EQ(counts(), "0 0 0");
  send("\\t\\n\\r \\u007f\\ud7ff\\ue000\\ufffd\\ud83d\\ude00");
  EXPECT_EQ(counts(), "1 0 0");
}

TEST_F(SqsDoor, TheTimeOfTheFirstReceiveStaysWithTheMessage) {
  send("x");
  door.skip(Millis(5'000));
  const std::string all = R"(,"MessageSystemAttributeNames":["All"])";
  const auto first = [&] {
    return body_of(receive(all))["Messages"][0]["Attributes"].value(
        "ApproximateFirstReceiveTimestamp", "");
  };
  const int64_t now_ms = door.wall().time_since_epoch().count();
  EXPECT_EQ(first(), std::to_string(now_ms));
  door.skip(Millis(31'000));
  EXPECT_EQ(first(), std::to_string(now_ms));
  door.skip(Millis(31'000));
  EXPECT_FALSE(says(receive(), "FirstReceive"));
  door.skip(Millis(31'000));
  const std::string last = receive(all);
  EXPECT_TRUE(says(last, std::to_string(now_ms)));
  // The note left the lease as it was.
  json_ask("DeleteMessage",
           fmt::format(R"({{"QueueUrl":"q","ReceiptHandle":"{}"}})", receipt(last)));
  EXPECT_EQ(counts(), "0 0 0");
}

TEST_F(SqsDoor, OnlyTheTraceHeaderIsASystemAttribute) {
  const std::string with = R"({"QueueUrl":"q","MessageBody":"x","MessageSystemAttributes":)"
                           R"({"{}":{"DataType":"String","StringValue":"Root=1"}}})";
  const auto send_with = [&](std::string_view name) {
    std::string body = with;
    body.replace(body.find("{}"), 2, name);
    return json_ask("SendMessage", body);
  };
  EXPECT_TRUE(says(send_with("AWSTraceHeaders"), "InvalidParameterValue"));
  const std::string sent = send_with("AWSTraceHeader");
  const json header = {{"AWSTraceHeader", {{"DataType", "String"}, {"StringValue", "Root=1"}}}};
  EXPECT_TRUE(says(sent, R"("MD5OfMessageSystemAttributes":")" + aws::md5_of_attributes(header)));
  EXPECT_FALSE(says(sent, "MD5OfMessageAttributes"));
  const json got = body_of(receive(R"(,"AttributeNames":["AWSTraceHeader"])"))["Messages"][0];
  EXPECT_EQ(got["Attributes"], (json{{"AWSTraceHeader", "Root=1"}}));
  EXPECT_EQ(got["Body"], "x");
}

TEST_F(SqsDoor, WhatWasPurgedIsCountedNoMore) {
  send("held");
  const std::string handle = receipt(receive());
  send("ready");
  json_ask("SendMessage", R"({"QueueUrl":"q","MessageBody":"later","DelaySeconds":9})");
  EXPECT_EQ(counts(), "1 1 1");
  EXPECT_TRUE(says(json_ask("PurgeQueue", R"({"QueueUrl":"q"})"), "200 OK"));
  EXPECT_EQ(counts(), "0 0 0");
  EXPECT_EQ(door.rows(aws::kLaterTable), 0U);
  const std::string change =
      fmt::format(R"({{"QueueUrl":"q","ReceiptHandle":"{}","VisibilityTimeout":9}})", handle);
  EXPECT_TRUE(says(json_ask("ChangeMessageVisibility", change), "MessageNotInflight"));
  send("new");
  EXPECT_EQ(counts(), "1 0 0");
  EXPECT_TRUE(says(receive(), "new"));
  EXPECT_EQ(counts(), "0 1 0");
  door.skip(Millis(40'000));  // Both leases have ended.
  EXPECT_EQ(counts(), "1 0 0");
  EXPECT_TRUE(says(receive(R"(,"MaxNumberOfMessages":10)"), "new"));
  EXPECT_EQ(counts(), "0 1 0");
  door.skip(Millis(40'000));
  EXPECT_EQ(counts(), "1 0 0");
}

TEST_F(SqsDoor, TheHoldersOfPurgedMessagesMayDeleteThemAllAtOnce) {
  std::string entries;
  for (int i = 0; i < 8; ++i) {
    send("old");
    entries += fmt::format(R"({}{{"Id":"{}","ReceiptHandle":"{}"}})", i > 0 ? "," : "", i,
                           receipt(receive()));
  }
  json_ask("PurgeQueue", R"({"QueueUrl":"q"})");
  EXPECT_EQ(counts(), "0 0 0");
  for (int i = 0; i < 3; ++i) send("new");
  const std::string all = fmt::format(R"({{"QueueUrl":"q","Entries":[{}]}})", entries);
  for (int times = 0; times < 2; ++times) {  // Those that are gone count as deleted.
    const json deleted = body_of(json_ask("DeleteMessageBatch", all));
    EXPECT_EQ(deleted["Successful"].size(), 8U) << deleted.dump();
    EXPECT_EQ(counts(), "3 0 0");
  }
  receive(R"(,"MaxNumberOfMessages":10)");
  EXPECT_EQ(counts(), "0 3 0");
}

TEST_F(SqsDoor, AQueueThatIsMadeAgainHasNothingOfTheOldOne) {
  send("old");
  receive();
  send("ready");
  json_ask("SendMessage", R"({"QueueUrl":"q","MessageBody":"later","DelaySeconds":9})");
  EXPECT_TRUE(says(json_ask("DeleteQueue", R"({"QueueUrl":"q"})"), "200 OK"));
  EXPECT_EQ(door.rows(aws::kLaterTable), 0U);
  json_ask("CreateQueue", R"({"QueueName":"q"})");
  EXPECT_EQ(counts(), "0 0 0");
  send("new");
  door.skip(Millis(31'000));
  EXPECT_EQ(counts(), "1 0 0");
  EXPECT_TRUE(says(receive(R"(,"MaxNumberOfMessages":10)"), "new"));
  EXPECT_EQ(counts(), "0 1 0");
}

TEST_F(SqsDoor, TagsAreKeptWithinLimits) {
  EXPECT_TRUE(says(json_ask("CreateQueue", R"({"QueueName":"t","tags":{"a":"1"}})"), "200 OK"));
  EXPECT_TRUE(says(json_ask("ListQueueTags", R"({"QueueUrl":"t"})"), R"({"Tags":{"a":"1"}})"));
  EXPECT_TRUE(says(json_ask("CreateQueue", R"({"QueueName":"u","tags":{"a":1}})"),
                   "InvalidParameterValue"));
  EXPECT_TRUE(says(json_ask("ListQueueTags", R"({"QueueUrl":"u"})"), "QueueDoesNotExist"));
  json many = json::object();
  for (int i = 0; i < 50; ++i) many[std::to_string(i)] = "x";
  const json in = {{"QueueUrl", "t"}, {"Tags", many}};
  EXPECT_TRUE(says(json_ask("TagQueue", in.dump()), "at most 50 tags"));
  EXPECT_TRUE(says(json_ask("UntagQueue", R"({"QueueUrl":"t","TagKeys":["a"]})"), "200 OK"));
  EXPECT_TRUE(says(json_ask("TagQueue", in.dump()), "200 OK"));
}

}  // namespace
}  // namespace dunlin::hub
