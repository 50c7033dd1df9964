// The door over the hub's mind and the memory core, without sockets. What the SDKs ask of it is
// tested with one of them (tests/e2e/aws_door.sh); here is what no SDK does.

#include <gtest/gtest.h>

#include "aws_protocol/xml.h"
#include "doors/aws/s3/s3.h"
#include "doors/aws/sqs/sqs.h"
#include "testing/door.h"

namespace dunlin::hub {
namespace {

int status_of(const std::string& reply) {
  return reply.size() < 12 ? 0 : std::stoi(reply.substr(9, 3));
}
bool says(const std::string& reply, std::string_view words) {
  return reply.find(words) != std::string::npos;
}
std::string body_of(const std::string& reply) { return reply.substr(reply.find("\r\n\r\n") + 4); }

TEST(AwsDoor, RequestsOnOneConnectionAreAnsweredInTheirOrder) {
  TestDoor door;
  const net::PeerId peer = door.connect();
  door.say(peer, door.json_request("AmazonSQS.CreateQueue", R"({"QueueName":"a"})") +
                     door.request("s3", "GET", "/none/key", "") +
                     door.json_request("DynamoDB_20120810.ListTables", "{}"));
  const std::string heard = door.hear(peer);
  const size_t first = heard.find("QueueUrl");
  const size_t second = heard.find("NoSuchBucket");
  const size_t third = heard.find("TableNames");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
  EXPECT_FALSE(door.finished(peer));
}

TEST(AwsDoor, WhatIsNotHttpIsToldSoAndLetGo) {
  TestDoor door;
  const net::PeerId peer = door.connect();
  door.say(peer, "DUNLIN\1 what is this\r\n\r\n");
  EXPECT_EQ(status_of(door.hear(peer)), 400);
  EXPECT_TRUE(door.finished(peer));
}

TEST(AwsDoor, NothingIsDoneForWhoDidNotSign) {
  TestDoor door;
  const std::string reply = door.ask(
      "POST / HTTP/1.1\r\nhost: x\r\nx-amz-target: AmazonSQS.CreateQueue\r\n"
      "content-length: 17\r\n\r\n{\"QueueName\":\"a\"}");
  EXPECT_TRUE(says(reply, "MissingAuthenticationToken"));
  EXPECT_FALSE(says(door.ask_json("AmazonSQS.ListQueues", "{}"), "/a"));
}

TEST(AwsDoor, ABodyThatWasChangedOnTheWayIsRefused) {
  TestDoor door;
  std::string request = door.json_request("AmazonSQS.CreateQueue", R"({"QueueName":"good"})");
  request.replace(request.find("good"), 4, "evil");
  EXPECT_TRUE(says(door.ask(request), "InvalidSignatureException"));
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  std::string upload = door.request("s3", "PUT", "/bucket/key", "good");
  upload.replace(upload.rfind("good"), 4, "evil");
  EXPECT_TRUE(says(door.ask(upload), "XAmzContentSHA256Mismatch"));
  EXPECT_EQ(status_of(door.ask(door.request("s3", "GET", "/bucket/key", ""))), 404);
  EXPECT_EQ(door.blobs(), 0U);
}

// A PUT by a presigned URL, with headers of whoever was given it.
std::string put_by_url(const TestDoor& door, const std::string& path,
                       const http::Headers& headers) {
  const aws::Signable signable = {"PUT", path, {}, {{"host", "hub.test:9324"}}, ""};
  std::string text =
      fmt::format("PUT {}?{} HTTP/1.1\r\nhost: hub.test:9324\r\ncontent-length: 4\r\n", path,
                  aws::presign(signable, door.key, "eu-1", door.wall(), 60));
  for (const auto& [name, value] : headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\nmine";
}

TEST(AwsDoor, WhoWasGivenAUrlCannotAskForMoreByHeaders) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  door.ask(door.request("s3", "PUT", "/bucket/secret", "payroll"));
  EXPECT_EQ(status_of(door.ask(put_by_url(door, "/bucket/inbox", {}))), 200);
  const std::string before = door.picture();
  for (const auto& [name, value] :
       http::Headers{{"x-amz-copy-source", "bucket/secret"}, {"X-Amz-Meta-Evil", "1"}}) {
    const std::string said = door.ask(put_by_url(door, "/bucket/inbox", {{name, value}}));
    EXPECT_EQ(status_of(said), 403) << name;
    EXPECT_TRUE(says(said, "AccessDenied")) << said;
    EXPECT_TRUE(says(said, "not signed")) << said;
  }
  const std::string other =
      door.ask(put_by_url(door, "/bucket/inbox", {{"x-amz-target", "AmazonSQS.ListQueues"}}));
  EXPECT_EQ(status_of(other), 400);
  EXPECT_TRUE(says(other, "InvalidSignatureException")) << other;
  EXPECT_EQ(door.picture(), before);
  EXPECT_EQ(body_of(door.ask(door.request("s3", "GET", "/bucket/inbox", ""))), "mine");
}

TEST(AwsDoor, AKeyAllowsWhatItsScopesSay) {
  TestDoor door;
  const aws::Credentials admin = door.key;
  door.ask_json("AmazonSQS.CreateQueue", R"({"QueueName":"q"})");
  door.key = make_aws_key("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                          Scope::submit, 0);
  const std::string send = R"({"QueueUrl":"q","MessageBody":"x"})";
  EXPECT_EQ(status_of(door.ask_json("AmazonSQS.SendMessage", send)), 200);
  EXPECT_TRUE(says(door.ask_json("AmazonSQS.ReceiveMessage", R"({"QueueUrl":"q"})"),
                   "AccessDeniedException"));
  // The id says what is allowed, so another id needs another secret.
  door.key.key_id = admin.key_id;
  EXPECT_TRUE(says(door.ask_json("AmazonSQS.SendMessage", send), "InvalidSignatureException"));
}

TEST(AwsDoor, AKeyExpires) {
  TestDoor door;
  const int64_t now_s = door.wall().time_since_epoch().count() / 1000;
  door.key = make_aws_key("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                          Scope::admin, now_s + 60);
  EXPECT_EQ(status_of(door.ask_json("AmazonSQS.ListQueues", "{}")), 200);
  door.skip(Millis(61'000));
  EXPECT_TRUE(says(door.ask_json("AmazonSQS.ListQueues", "{}"), "UnrecognizedClientException"));
}

TEST(AwsDoor, ALargeObjectIsSentOnlyAsFastAsItIsTaken) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const std::string bytes(10 << 20, 'x');
  ASSERT_EQ(status_of(door.ask(door.request("s3", "PUT", "/bucket/key", bytes))), 200);
  door.clogged_at = 1 << 20;
  const net::PeerId peer = door.connect();
  door.say(peer, door.request("s3", "GET", "/bucket/key", ""));
  size_t heard = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string some = door.hear(peer);
    EXPECT_LE(some.size(), size_t{3 << 20});
    heard += some.size();
  }
  EXPECT_GT(heard, bytes.size());
  EXPECT_FALSE(door.finished(peer));
}

TEST(AwsDoor, WhoGoesOnWithAnObjectThatWasReplacedGetsAllOfIt) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  door.ask(door.request("s3", "PUT", "/bucket/key", "the old one"));
  const std::string etag = fmt::format("\"{}\"", hex(md5("the old one")));
  const std::string head = door.ask(door.request("s3", "HEAD", "/bucket/key", ""));
  const size_t at = head.find("last-modified: ") + 15;
  const std::string date = head.substr(at, head.find("\r\n", at) - at);
  const auto get = [&door](const std::string& if_range) {
    return door.ask(door.request("s3", "GET", "/bucket/key", "",
                                 {{"range", "bytes=4-"}, {"if-range", if_range}}));
  };
  for (const std::string& same : {etag, date}) {
    EXPECT_EQ(status_of(get(same)), 206) << same;
    EXPECT_EQ(body_of(get(same)), "old one") << same;
  }
  door.skip(Millis(5'000));
  door.ask(door.request("s3", "PUT", "/bucket/key", "the new one"));
  for (const std::string& other : {etag, date, std::string("\"\"")}) {
    EXPECT_EQ(status_of(get(other)), 200) << other;
    EXPECT_EQ(body_of(get(other)), "the new one") << other;
  }
}

TEST(AwsDoor, WhoAsksMuchAndTakesNothingIsNotServedOn) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  door.ask(door.request("s3", "PUT", "/bucket/key", std::string(100'000, 'x')));
  door.clogged_at = 150'000;
  const std::string get = door.request("s3", "GET", "/bucket/key", "");
  const net::PeerId peer = door.connect();
  std::string many;
  for (int i = 0; i < 20; ++i) many += get;
  door.say(peer, many);
  size_t heard = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string some = door.hear(peer);
    EXPECT_LE(some.size(), 300'000U);
    heard += some.size();
  }
  EXPECT_GT(heard, 2'000'000U);
}

TEST(AwsDoor, AnObjectThatIsReplacedOrDeletedLeavesNoBytes) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  door.ask(door.request("s3", "PUT", "/bucket/key", "one"));
  door.ask(door.request("s3", "PUT", "/bucket/key", "two"));
  EXPECT_EQ(body_of(door.ask(door.request("s3", "GET", "/bucket/key", ""))), "two");
  EXPECT_EQ(door.blobs(), 1U);
  const std::string again =
      door.ask(door.request("s3", "PUT", "/bucket/key", "three", {{"if-none-match", "*"}}));
  EXPECT_EQ(status_of(again), 412);
  EXPECT_EQ(door.blobs(), 1U);
  EXPECT_EQ(status_of(door.ask(door.request("s3", "DELETE", "/bucket/key", ""))), 204);
  EXPECT_EQ(door.blobs(), 0U);
}

TEST(AwsDoor, AClientThatLeavesInTheMiddleOfAnUploadLeavesNothing) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const std::string whole = door.request("s3", "PUT", "/bucket/key", std::string(3 << 20, 'x'));
  const net::PeerId peer = door.connect();
  door.say(peer, std::string_view(whole).substr(0, whole.size() - 10));
  EXPECT_EQ(door.hear(peer), "");
  door.leave(peer);
  EXPECT_EQ(status_of(door.ask(door.request("s3", "GET", "/bucket/key", ""))), 404);
  EXPECT_EQ(door.blobs(), 0U);
}

TEST(AwsDoor, WhoReadsAnObjectGetsItWholeEvenIfItIsReplaced) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const std::string bytes(5 << 20, 'x');
  door.ask(door.request("s3", "PUT", "/bucket/key", bytes));
  door.clogged_at = 1 << 20;
  const net::PeerId peer = door.connect();
  door.say(peer, door.request("s3", "GET", "/bucket/key", ""));
  door.ask(door.request("s3", "PUT", "/bucket/key", "new"));
  EXPECT_EQ(door.blobs(), 2U);
  std::string heard;
  for (int i = 0; i < 10; ++i) heard += door.hear(peer);
  EXPECT_EQ(body_of(heard), bytes);
  EXPECT_EQ(door.blobs(), 1U);
}

TEST(AwsDoor, BytesThatAnEarlierHubLeftWithoutAnOwnerAreErased) {
  std::unique_ptr<Core> core = memory_core();
  const Instant now(Millis(1));
  for (const std::string& blob : {std::string("aws.s3/loose"), std::string("aws.s3/fast")}) {
    core->handle(BlobPart{1, 0, "bytes"}, now);
    core->handle(BlobEnd{1, blob, 5}, now);
  }
  core->handle(Commit{0, {aws::loosen("aws.s3/loose")}}, now);
  TestDoor door(std::move(core));
  EXPECT_EQ(door.blobs(), 2U);
  door.settle();
  EXPECT_EQ(door.blobs(), 1U);
  EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
}

// --- Uploads in parts ---

// The document in a reply.
aws::XmlElement document_of(const std::string& reply) {
  return aws::read_xml(reply.substr(std::min(reply.find("<?xml"), reply.size())))
      .value_or(aws::XmlElement());
}

// Begins one of /bucket/key and returns its id.
std::string begin_upload(TestDoor& door) {
  const std::string created = door.ask(door.request("s3", "POST", "/bucket/key?uploads=", ""));
  return document_of(created).text_of("UploadId").value_or("");
}
std::string part_request(const TestDoor& door, const std::string& id, std::string_view bytes,
                         int number = 1) {
  return door.request("s3", "PUT", fmt::format("/bucket/key?partNumber={}&uploadId={}", number, id),
                      bytes);
}
// To make the object of part 1, which has these bytes.
std::string complete_request(const TestDoor& door, const std::string& id, std::string_view bytes) {
  const std::string list = fmt::format(
      "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>"
      "</CompleteMultipartUpload>",
      hex(md5(bytes)));
  return door.request("s3", "POST", "/bucket/key?uploadId=" + id, list);
}
std::string abort_request(const TestDoor& door, const std::string& id) {
  return door.request("s3", "DELETE", "/bucket/key?uploadId=" + id, "");
}

// Both requests but for their last bytes, which come so many turns after each other.
std::pair<std::string, std::string> race(TestDoor& door, std::string_view first,
                                         std::string_view second, int turns) {
  const net::PeerId one = door.connect();
  const net::PeerId other = door.connect();
  door.say(one, first.substr(0, first.size() - 1));
  door.say(other, second.substr(0, second.size() - 1));
  door.say_only(one, first.substr(first.size() - 1));
  door.settle(turns);
  door.say_only(other, second.substr(second.size() - 1));
  door.settle();
  const std::string heard = door.hear(one);
  return {heard, door.hear(other)};
}

TEST(AwsDoor, NoBlobIsLooseOnceItsObjectIsThereOrGone) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const std::string id = begin_upload(door);
  door.ask(part_request(door, id, "first"));
  door.ask(part_request(door, id, "again"));
  EXPECT_EQ(door.blobs(), 1U);
  EXPECT_EQ(status_of(door.ask(complete_request(door, id, "again"))), 200);
  EXPECT_EQ(body_of(door.ask(door.request("s3", "GET", "/bucket/key", ""))), "again");
  door.ask(door.request("s3", "PUT", "/bucket/copy", "", {{"x-amz-copy-source", "bucket/key"}}));
  EXPECT_EQ(body_of(door.ask(door.request("s3", "GET", "/bucket/copy", ""))), "again");
  EXPECT_EQ(door.blobs(), 2U);
  EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
  door.ask(door.request("s3", "DELETE", "/bucket/key", ""));
  door.ask(door.request("s3", "DELETE", "/bucket/copy", ""));
  EXPECT_EQ(door.blobs(), 0U);
  EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
}

TEST(AwsDoor, AnUploadThatIsCompletedWhileAPartComesAgainKeepsItsBytes) {
  for (int turns = 0; turns < 12; ++turns) {
    for (const bool part_first : {true, false}) {
      TestDoor door;
      door.ask(door.request("s3", "PUT", "/bucket", ""));
      const std::string id = begin_upload(door);
      door.ask(part_request(door, id, "bytes"));
      const std::string part = part_request(door, id, "bytes");
      const std::string whole = complete_request(door, id, "bytes");
      const auto [one, other] =
          part_first ? race(door, part, whole, turns) : race(door, whole, part, turns);
      const int part_status = status_of(part_first ? one : other);
      EXPECT_TRUE(part_status == 200 || part_status == 404) << part_status;
      EXPECT_EQ(status_of(part_first ? other : one), 200);
      EXPECT_EQ(body_of(door.ask(door.request("s3", "GET", "/bucket/key", ""))), "bytes")
          << turns << " turns, part first: " << part_first;
      EXPECT_EQ(door.blobs(), 1U);
      EXPECT_EQ(door.rows(aws::kUploadsTable), 0U);
      EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
    }
  }
}

TEST(AwsDoor, OfTwoThatEndAnUploadOneDoes) {
  for (int turns = 0; turns < 12; ++turns) {
    for (const std::string_view pair : {"complete complete", "complete abort", "abort complete"}) {
      TestDoor door;
      door.ask(door.request("s3", "PUT", "/bucket", ""));
      const std::string id = begin_upload(door);
      door.ask(part_request(door, id, "bytes"));
      const std::string whole = complete_request(door, id, "bytes");
      const bool aborts_first = pair.starts_with("abort");
      // An abort has no body to hold back.
      const auto [one, other] =
          race(door, aborts_first ? abort_request(door, id) : whole,
               pair.ends_with("abort") ? abort_request(door, id) : whole, turns);
      const bool completed = (status_of(one) == 200) || (status_of(other) == 200);
      const int ended = (status_of(one) / 100 == 2) + (status_of(other) / 100 == 2);
      EXPECT_EQ(ended, 1) << pair << ' ' << turns << '\n' << one << other;
      const std::string got = door.ask(door.request("s3", "GET", "/bucket/key", ""));
      EXPECT_EQ(status_of(got), completed ? 200 : 404) << pair << ' ' << turns;
      EXPECT_EQ(body_of(got) == "bytes", completed);
      EXPECT_EQ(door.blobs(), completed ? 1U : 0U);
      EXPECT_EQ(door.rows(aws::kUploadsTable), 0U);
      EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
    }
  }
}

TEST(AwsDoor, APartThatComesAfterItsUploadIsRefusedAndLeavesNothing) {
  for (const bool aborted : {true, false}) {
    for (const int number : {1, 2}) {
      TestDoor door;
      door.ask(door.request("s3", "PUT", "/bucket", ""));
      const std::string id = begin_upload(door);
      door.ask(part_request(door, id, "bytes"));
      const std::string part = part_request(door, id, "late", number);
      const net::PeerId slow = door.connect();
      door.say(slow, std::string_view(part).substr(0, part.size() - 1));
      door.ask(aborted ? abort_request(door, id) : complete_request(door, id, "bytes"));
      door.say(slow, std::string_view(part).substr(part.size() - 1));
      const std::string heard = door.hear(slow);
      EXPECT_EQ(status_of(heard), 404);
      EXPECT_TRUE(says(heard, "NoSuchUpload"));
      EXPECT_EQ(door.blobs(), aborted ? 0U : 1U);
      EXPECT_EQ(door.rows(aws::kUploadsTable), 0U);
      EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
    }
  }
}

TEST(AwsDoor, PartsThatEndInOneTurnAllCount) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const std::string id = begin_upload(door);
  std::vector<net::PeerId> peers;
  peers.reserve(30);
  for (int i = 0; i < 30; ++i) peers.push_back(door.connect());
  for (int i = 0; i < 30; ++i) {
    door.say_only(peers[static_cast<size_t>(i)], part_request(door, id, "bytes", i + 1));
  }
  door.settle();
  for (const net::PeerId peer : peers) EXPECT_EQ(status_of(door.hear(peer)), 200);
  EXPECT_EQ(door.blobs(), 30U);
  EXPECT_EQ(door.rows(aws::kUploadsTable), 31U);
}

// --- Buckets and tables that go while something is written into them ---

TEST(AwsDoor, AnUploadEndsWithItsBucket) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const std::string id = begin_upload(door);
  door.ask(part_request(door, id, "bytes"));
  EXPECT_EQ(status_of(door.ask(door.request("s3", "DELETE", "/bucket", ""))), 204);
  EXPECT_EQ(door.blobs(), 0U);
  EXPECT_EQ(door.rows(aws::kUploadsTable), 0U);
  EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
  for (const std::string& late :
       {part_request(door, id, "bytes"), complete_request(door, id, "bytes")}) {
    EXPECT_TRUE(says(door.ask(late), "NoSuchBucket"));
  }
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  EXPECT_TRUE(says(door.ask(part_request(door, id, "bytes")), "NoSuchUpload"));
  EXPECT_EQ(door.blobs(), 0U);
}

TEST(AwsDoor, ABucketThatGoesWhileAnObjectComesHasTheObjectOrIsGone) {
  for (int turns = 0; turns < 16; ++turns) {
    for (const bool object_first : {true, false}) {
      TestDoor door;
      door.ask(door.request("s3", "PUT", "/bucket", ""));
      const std::string put = door.request("s3", "PUT", "/bucket/key", "bytes");
      const std::string remove = door.request("s3", "DELETE", "/bucket", "");
      const auto [one, other] =
          object_first ? race(door, put, remove, turns) : race(door, remove, put, turns);
      const int written = status_of(object_first ? one : other);
      const int removed = status_of(object_first ? other : one);
      const bool there = written == 200;
      EXPECT_EQ(written, there ? 200 : 404) << turns;
      EXPECT_EQ(removed, there ? 409 : 204) << turns;
      EXPECT_EQ(status_of(door.ask(door.request("s3", "GET", "/bucket/key", ""))), written);
      EXPECT_EQ(door.blobs(), there ? 1U : 0U);
      EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
      // Nor is it in the next bucket of that name.
      door.ask(door.request("s3", "PUT", "/bucket", ""));
      EXPECT_EQ(says(door.ask(door.request("s3", "GET", "/bucket", "")), "<Key>key"), there);
    }
  }
}

TEST(AwsDoor, ANewBucketHasNothingOfAnEarlierOne) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  door.ask(door.request("s3", "PUT", "/bucket/key", "bytes"));
  // As a hub leaves it that dies between an object and the look at its bucket; or that dies while
  // it makes the bucket anew.
  for (const std::string_view row : {"", R"({"state":"making"})"}) {
    door.erase_row(aws::kS3Table, "bucket");
    if (!row.empty()) door.put_row(aws::kS3Table, "bucket", row);
    EXPECT_EQ(status_of(door.ask(door.request("s3", "GET", "/bucket/key", ""))), 404);
    EXPECT_EQ(status_of(door.ask(door.request("s3", "PUT", "/bucket", ""))), 200);
    EXPECT_EQ(door.blobs(), 0U);
    EXPECT_EQ(status_of(door.ask(door.request("s3", "PUT", "/bucket", ""))), 409);
    EXPECT_EQ(status_of(door.ask(door.request("s3", "PUT", "/bucket/key", "bytes"))), 200);
  }
}

TEST(AwsDoor, ANewTableHasNothingOfAnEarlierOne) {
  TestDoor door;
  const std::string create =
      R"({"TableName":"ttt","KeySchema":[{"AttributeName":"h","KeyType":"HASH"}],)"
      R"("AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"}]})";
  const std::string name = R"({"TableName":"ttt"})";
  const auto put = [&door](int i) {
    return door.json_request(
        "DynamoDB_20120810.PutItem",
        fmt::format(R"({{"TableName":"ttt","Item":{{"h":{{"S":"{}"}}}}}})", i));
  };
  for (int turns = 0; turns < 10; ++turns) {
    EXPECT_EQ(status_of(door.ask_json("DynamoDB_20120810.CreateTable", create)), 200) << turns;
    EXPECT_TRUE(says(door.ask_json("DynamoDB_20120810.Scan", name), R"("Count":0)")) << turns;
    EXPECT_EQ(status_of(door.ask(put(100))), 200);
    std::vector<net::PeerId> peers;
    for (int i = 0; i < 10; ++i) {
      peers.push_back(door.connect());
      door.say_only(peers.back(), put(i));
    }
    door.settle(turns);
    EXPECT_EQ(status_of(door.ask_json("DynamoDB_20120810.DeleteTable", name)), 200);
    for (const net::PeerId peer : peers) door.hear(peer);
    EXPECT_TRUE(says(door.ask(put(0)), "ResourceNotFoundException"));
  }
  const std::string guarded =
      create.substr(0, create.size() - 1) + R"(,"DeletionProtectionEnabled":)";
  EXPECT_TRUE(says(door.ask_json("DynamoDB_20120810.CreateTable", guarded + "true}"),
                   "DeletionProtectionEnabled"));
  EXPECT_EQ(status_of(door.ask_json("DynamoDB_20120810.CreateTable", guarded + "false}")), 200);
  EXPECT_EQ(status_of(door.ask_json("DynamoDB_20120810.DeleteTable", name)), 200);
  // What another hub left, in the middle of it.
  door.put_row("ddb.ttt", "x!", R"({"h":{"S":"x"}})");
  door.put_row("aws.dynamo", "ttt", R"({"TableStatus":"CREATING"})");
  EXPECT_TRUE(says(door.ask_json("DynamoDB_20120810.Scan", name), "ResourceNotFoundException"));
  EXPECT_EQ(status_of(door.ask_json("DynamoDB_20120810.CreateTable", create)), 200);
  EXPECT_TRUE(says(door.ask_json("DynamoDB_20120810.Scan", name), R"("Count":0)"));
}

TEST(AwsDoor, AnUploadHasNoMorePartsThanItCanEndWith) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const std::string id = begin_upload(door);
  EXPECT_EQ(status_of(door.ask(part_request(door, id, "bytes", 4900))), 200);
  const std::string refused = door.ask(part_request(door, id, "bytes", 4901));
  EXPECT_EQ(status_of(refused), 400);
  EXPECT_TRUE(says(refused, "1 to 4900")) << refused;
}

// As many parts as there may be, and as an earlier program took. Their blobs need not be there.
void add_parts(TestDoor& door, const std::string& id, int first, int last) {
  for (int i = first; i <= last; ++i) {
    door.put_row(aws::kUploadsTable, fmt::format("bucket!{}!{:05}", id, i),
                 fmt::format(R"({{"etag":"x","size":1,"blob":"aws.s3/p{}"}})", i));
  }
}

TEST(AwsDoor, AnUploadOfManyPartsCanBeEnded) {
  for (const int parts : {4'900, 10'000}) {
    TestDoor door;
    door.ask(door.request("s3", "PUT", "/bucket", ""));
    const std::string id = begin_upload(door);
    add_parts(door, id, 1, parts);
    EXPECT_EQ(status_of(door.ask(abort_request(door, id))), 204);
    EXPECT_EQ(door.rows(aws::kUploadsTable), 0U);
    const std::string next = begin_upload(door);
    add_parts(door, next, 2, parts);
    door.ask(part_request(door, next, "bytes"));
    EXPECT_EQ(status_of(door.ask(complete_request(door, next, "bytes"))), 200);
    EXPECT_EQ(door.rows(aws::kUploadsTable), 0U);
    EXPECT_EQ(door.rows(aws::kLooseTable), 0U);
    EXPECT_EQ(body_of(door.ask(door.request("s3", "GET", "/bucket/key", ""))), "bytes");
  }
}

TEST(AwsDoor, ABodyWhoseHashIsNoHashIsRefused) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  for (const std::string& word : {std::string("BOGUS"), std::string("STREAMING-NOTHING"),
                                  std::string(64, 'x'), std::string(62, '0')}) {
    const std::string said = door.ask(
        door.request("s3", "PUT", "/bucket/key", "bytes", {{"x-amz-content-sha256", word}}));
    EXPECT_EQ(status_of(said), 400) << word;
    EXPECT_TRUE(says(said, "x-amz-content-sha256")) << said;
  }
  EXPECT_EQ(door.blobs(), 0U);
  EXPECT_EQ(status_of(door.ask(door.request("s3", "PUT", "/bucket/key", "bytes",
                                            {{"x-amz-content-sha256", "UNSIGNED-PAYLOAD"}}))),
            200);
}

TEST(AwsDoor, BucketsHaveNamesThatS3Takes) {
  TestDoor door;
  for (const std::string_view name : {"..a", "-ab", "ab-", "a..b", "192.168.1.1", "a_b", "Abc"}) {
    EXPECT_TRUE(says(door.ask(door.request("s3", "PUT", fmt::format("/{}", name), "")),
                     "InvalidBucketName"))
        << name;
  }
  for (const std::string_view name : {"a.b", "a-b.c", "1.2.3", "123"}) {
    EXPECT_EQ(status_of(door.ask(door.request("s3", "PUT", fmt::format("/{}", name), ""))), 200);
  }
}

TEST(AwsDoor, AListingIsXmlWhateverTheKeysAre) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  door.ask(door.request("s3", "PUT", "/bucket/bad%01key", "bytes"));
  EXPECT_TRUE(
      says(door.ask(door.request("s3", "GET", "/bucket", "")), "<Key>bad\xEF\xBF\xBDkey</Key>"));
  EXPECT_TRUE(says(door.ask(door.request("s3", "GET", "/bucket?encoding-type=url", "")),
                   "<Key>bad%01key</Key>"));
}

TEST(AwsDoor, AnUploadIsAskedForOnlyWhenItIsWelcome) {
  TestDoor door;
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  const std::string whole =
      door.request("s3", "PUT", "/bucket/key", "bytes", {{"expect", "100-continue"}});
  const net::PeerId peer = door.connect();
  door.say(peer, std::string_view(whole).substr(0, whole.size() - 5));
  EXPECT_EQ(door.hear(peer), "HTTP/1.1 100 Continue\r\n\r\n");
  door.say(peer, "bytes");
  EXPECT_EQ(status_of(door.hear(peer)), 200);
  const std::string refused =
      door.request("s3", "PUT", "/none/key", "bytes", {{"expect", "100-continue"}});
  const net::PeerId other = door.connect();
  door.say(other, std::string_view(refused).substr(0, refused.size() - 5));
  EXPECT_EQ(status_of(door.hear(other)), 404);
  EXPECT_TRUE(door.finished(other));
}

TEST(AwsDoor, AWaitingReceiveEndsWithItsClientOrItsTime) {
  TestDoor door;
  door.ask_json("AmazonSQS.CreateQueue", R"({"QueueName":"q"})");
  const std::string wait =
      door.json_request("AmazonSQS.ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})");
  const net::PeerId gone = door.connect();
  door.say(gone, wait);
  const net::PeerId patient = door.connect();
  door.say(patient, wait);
  EXPECT_EQ(door.hear(patient), "");
  EXPECT_FALSE(door.is_paused(gone));  // Else nobody would see that it leaves.
  door.say(gone, wait);
  EXPECT_TRUE(door.is_paused(gone));
  door.leave(gone);
  door.ask_json("AmazonSQS.SendMessage", R"({"QueueUrl":"q","MessageBody":"it"})");
  EXPECT_TRUE(says(door.hear(patient), R"("Body":"it")"));
  const net::PeerId late = door.connect();
  door.say(late, wait);
  door.skip(Millis(20'000));
  EXPECT_EQ(body_of(door.hear(late)), "{}");
}

TEST(AwsDoor, NobodyWaitsForOneWhoseRequestWaits) {
  TestDoor door(memory_core(), 300'000);
  for (const char* name : {"q", "empty"}) {
    door.ask_json("AmazonSQS.CreateQueue", fmt::format(R"({{"QueueName":"{}"}})", name));
  }
  const std::string wait =
      door.json_request("AmazonSQS.ReceiveMessage", R"({"QueueUrl":"empty","WaitTimeSeconds":20})");
  const net::PeerId patient = door.connect();
  door.say(patient, wait + wait);
  EXPECT_TRUE(door.is_paused(patient));
  door.skip(Millis(1));

  const std::string large = door.json_request(
      "AmazonSQS.SendMessage",
      fmt::format(R"({{"QueueUrl":"q","MessageBody":"{}"}})", std::string(200'000, 'x')));
  const std::string_view most = std::string_view(large).substr(0, large.size() - 20);
  const net::PeerId first = door.connect();
  const net::PeerId second = door.connect();
  for (const net::PeerId peer : {first, second}) {
    door.say(peer, most);
    door.skip(Millis(1));
  }
  door.say(first, large.substr(most.size(), 10));
  EXPECT_FALSE(door.is_paused(first));
  EXPECT_TRUE(door.is_paused(second));
  door.say(first, large.substr(most.size() + 10));
  EXPECT_EQ(status_of(door.hear(first)), 200);
  EXPECT_FALSE(door.is_paused(second));
  door.say(second, large.substr(most.size()));
  EXPECT_EQ(status_of(door.hear(second)), 200);
  EXPECT_EQ(door.hear(patient), "");
}

TEST(AwsDoor, APurgedMessageDoesNotComeBackWhenItsLeaseEnds) {
  TestDoor door;
  const std::string queue = R"({"QueueUrl":"q"})";
  door.ask_json("AmazonSQS.CreateQueue", R"({"QueueName":"q"})");
  door.ask_json("AmazonSQS.SendMessage", R"({"QueueUrl":"q","MessageBody":"old"})");
  EXPECT_TRUE(says(door.ask_json("AmazonSQS.ReceiveMessage", queue), "old"));
  EXPECT_EQ(status_of(door.ask_json("AmazonSQS.PurgeQueue", queue)), 200);
  door.ask_json("AmazonSQS.SendMessage", R"({"QueueUrl":"q","MessageBody":"new"})");
  door.skip(Millis(60'000));
  EXPECT_TRUE(
      says(door.ask_json("AmazonSQS.ReceiveMessage", R"({"QueueUrl":"q","MaxNumberOfMessages":1})"),
           "new"));
}

TEST(AwsDoor, AKeyThatEndsIsRefusedAndWaitsNoLonger) {
  TestDoor door;
  door.ask_json("AmazonSQS.CreateQueue", R"({"QueueName":"q"})");
  door.use_key(Scope::worker, Millis(5'000));
  const net::PeerId peer = door.connect();
  door.say(peer, door.json_request("AmazonSQS.ReceiveMessage",
                                   R"({"QueueUrl":"q","WaitTimeSeconds":20})"));
  EXPECT_EQ(door.hear(peer), "");
  door.skip(Millis(5'000));
  EXPECT_EQ(status_of(door.hear(peer)), 200);  // With no message; what comes is for others.
  door.say(peer, door.json_request("AmazonSQS.ReceiveMessage", R"({"QueueUrl":"q"})"));
  const std::string refused = door.hear(peer);
  EXPECT_EQ(status_of(refused) / 100, 4);
  EXPECT_TRUE(says(refused, "expired"));
}

TEST(AwsDoor, AKeyOfWhoSubmitsWritesWhatIsTheDoorsAndReceivesNothing) {
  TestDoor door;
  door.use_key(Scope::submit);
  EXPECT_EQ(status_of(door.ask_json("AmazonSQS.CreateQueue", R"({"QueueName":"q"})")), 200);
  EXPECT_EQ(status_of(door.ask_json("AmazonSQS.SendMessage",
                                    R"({"QueueUrl":"q","MessageBody":"it","DelaySeconds":9})")),
            200);
  EXPECT_EQ(status_of(door.ask_json("AmazonSQS.ReceiveMessage", R"({"QueueUrl":"q"})")) / 100, 4);
  EXPECT_EQ(status_of(door.ask(door.request("s3", "PUT", "/bucket", ""))), 200);
  EXPECT_EQ(status_of(door.ask(door.request("s3", "PUT", "/bucket/key", "bytes"))), 200);
  EXPECT_TRUE(says(door.ask(door.request("s3", "GET", "/bucket/key", "")), "bytes"));
  door.use_key(Scope::read);
  EXPECT_TRUE(says(door.ask(door.request("s3", "GET", "/bucket/key", "")), "bytes"));
  EXPECT_EQ(status_of(door.ask(door.request("s3", "PUT", "/bucket/key", "other"))), 403);
  EXPECT_EQ(status_of(door.ask(door.request("s3", "DELETE", "/bucket/key", ""))), 403);
}

TEST(AwsDoor, ADelayedMessageComesWhenItIsDueAndWakesWhoWaits) {
  TestDoor door;
  door.settle();
  door.ask_json("AmazonSQS.CreateQueue", R"({"QueueName":"q"})");
  const std::string wait =
      door.json_request("AmazonSQS.ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})");
  door.ask_json("AmazonSQS.SendMessageBatch",
                R"({"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"late","DelaySeconds":9},)"
                R"({"Id":"2","MessageBody":"later","DelaySeconds":12},)"
                R"({"Id":"3","MessageBody":"now"}]})");
  EXPECT_TRUE(says(
      door.ask_json("AmazonSQS.GetQueueAttributes", R"({"QueueUrl":"q","AttributeNames":["All"]})"),
      R"("ApproximateNumberOfMessagesDelayed":"2")"));
  EXPECT_TRUE(says(door.ask(wait), R"("Body":"now")"));
  const net::PeerId peer = door.connect();
  door.say(peer, wait);
  door.skip(Millis(8'999));
  EXPECT_EQ(door.hear(peer), "");
  door.skip(Millis(1));
  EXPECT_TRUE(says(door.hear(peer), R"("Body":"late")"));
  door.skip(Millis(3'000));
  EXPECT_TRUE(says(door.ask(wait), R"("Body":"later")"));
  EXPECT_EQ(door.rows(aws::kLaterTable), 0U);
}

TEST(AwsDoor, UpdatesOfOneItemInOneTurnAllCount) {
  TestDoor door;
  door.ask_json("DynamoDB_20120810.CreateTable",
                R"({"TableName":"ttt","KeySchema":[{"AttributeName":"h","KeyType":"HASH"}],)"
                R"("AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"}]})");
  const std::string add = door.json_request(
      "DynamoDB_20120810.UpdateItem",
      R"({"TableName":"ttt","Key":{"h":{"S":"a"}},"UpdateExpression":"ADD n :one",)"
      R"("ExpressionAttributeValues":{":one":{"N":"1"}}})");
  std::vector<net::PeerId> peers;
  peers.reserve(30);
  for (int i = 0; i < 30; ++i) peers.push_back(door.connect());
  for (const net::PeerId peer : peers) door.say_only(peer, add);
  door.settle();
  for (const net::PeerId peer : peers) EXPECT_EQ(status_of(door.hear(peer)), 200);
  EXPECT_TRUE(says(
      door.ask_json("DynamoDB_20120810.GetItem", R"({"TableName":"ttt","Key":{"h":{"S":"a"}}})"),
      R"("N":"30")"));
}

constexpr std::string_view kTableWithRange = R"({"TableName":"ttt","BillingMode":"PAY_PER_REQUEST",
  "KeySchema":[{"AttributeName":"h","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}],
  "AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"},
                          {"AttributeName":"r","AttributeType":"S"}]})";

TEST(AwsDoor, AKeyConditionHasWhatASortKeyIsComparedWith) {
  TestDoor door;
  ASSERT_EQ(status_of(door.ask_json("DynamoDB_20120810.CreateTable", kTableWithRange)), 200);
  for (const char* range :
       {"attribute_exists(r)", "attribute_not_exists(r)", "attribute_type(r, :h)", "r IN (:h)",
        "contains(r, :h)", "size(r) = :h", "NOT r = :h", "r <> :h"}) {
    const std::string reply =
        door.ask_json("DynamoDB_20120810.Query",
                      fmt::format(R"({{"TableName":"ttt","KeyConditionExpression":"h = :h AND {}",
                         "ExpressionAttributeValues":{{":h":{{"S":"a"}}}}}})",
                                  range));
    EXPECT_TRUE(says(reply, "ValidationException")) << range << ": " << reply;
  }
  EXPECT_EQ(status_of(door.ask_json(
                "DynamoDB_20120810.Query",
                R"({"TableName":"ttt","KeyConditionExpression":"h = :h AND r BETWEEN :h AND :h",
                    "ExpressionAttributeValues":{":h":{"S":"a"}}})")),
            200);
}

TEST(AwsDoor, AnUpdateThatMakesTooMuchIsRefusedAtOnce) {
  TestDoor door;
  ASSERT_EQ(status_of(door.ask_json("DynamoDB_20120810.CreateTable", kTableWithRange)), 200);
  std::string value = R"({"N":"1"})";
  for (int i = 1; i < 40'000; ++i) value += R"(,{"N":"1"})";
  std::string expression = "SET a=:v";
  for (int i = 0; i < 500; ++i) expression += fmt::format(",a{}=:v", i);
  const std::string reply =
      door.ask_json("DynamoDB_20120810.UpdateItem",
                    fmt::format(R"({{"TableName":"ttt","Key":{{"h":{{"S":"a"}},"r":{{"S":"b"}}}},
                       "UpdateExpression":"{}","ExpressionAttributeValues":{{":v":{{"L":[{}]}}}}}})",
                                expression, value));
  EXPECT_TRUE(says(reply, "the update makes more than")) << reply;
}

TEST(AwsDoor, ReceiptsAndMessageIdsSayWhatTheyWereMadeOf) {
  const std::string id = aws::make_message_id(1'790'000'000'123, true);
  EXPECT_EQ(aws::sent_ms_of(id), 1'790'000'000'123);
  EXPECT_TRUE(aws::is_envelope(id));
  EXPECT_FALSE(aws::is_envelope(aws::make_message_id(1, false)));
  EXPECT_FALSE(aws::sent_ms_of("pushed-by-another-program"));
  const Lease lease = {"an:id", UINT64_MAX};
  EXPECT_EQ(aws::from_receipt(aws::to_receipt(lease)), lease);
  for (const std::string_view bad : {"", "x", "AAAA", "MTo=", "eDp4"}) {
    EXPECT_FALSE(aws::from_receipt(bad)) << bad;
  }
}

}  // namespace
}  // namespace dunlin::hub
