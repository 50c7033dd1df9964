// The AWS-compatible door among clients that say what they like.
//
//   byte    0: the rest is what an unknown client sends, in pieces
//           1: the rest is an expression of DynamoDB
//           2: the rest is an aws-chunked body
//           3: forms of SQS's Query protocol until the end
//           else steps until the end: a signed request of SQS, DynamoDB or S3 with such a body
//
// Nothing takes the hub down; a signed request gets exactly one reply.
#include "base/check.h"
#include "base/log.h"
#include "doors/aws/call/aws_chunked.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/dynamo/expression.h"
#include "testing/door.h"
#include "tests/fuzz/target.h"

namespace dunlin {
namespace {

using aws::json;

constexpr size_t kStepsMax = 40;

constexpr std::string_view kOperations[] = {
    "AmazonSQS.CreateQueue",
    "AmazonSQS.GetQueueUrl",
    "AmazonSQS.ListQueues",
    "AmazonSQS.DeleteQueue",
    "AmazonSQS.PurgeQueue",
    "AmazonSQS.GetQueueAttributes",
    "AmazonSQS.SetQueueAttributes",
    "AmazonSQS.SendMessage",
    "AmazonSQS.SendMessageBatch",
    "AmazonSQS.ReceiveMessage",
    "AmazonSQS.DeleteMessage",
    "AmazonSQS.DeleteMessageBatch",
    "AmazonSQS.ChangeMessageVisibility",
    "AmazonSQS.ChangeMessageVisibilityBatch",
    "DynamoDB_20120810.CreateTable",
    "DynamoDB_20120810.DescribeTable",
    "DynamoDB_20120810.ListTables",
    "DynamoDB_20120810.DeleteTable",
    "DynamoDB_20120810.GetItem",
    "DynamoDB_20120810.PutItem",
    "DynamoDB_20120810.DeleteItem",
    "DynamoDB_20120810.UpdateItem",
    "DynamoDB_20120810.BatchGetItem",
    "DynamoDB_20120810.BatchWriteItem",
    "DynamoDB_20120810.TransactWriteItems",
    "DynamoDB_20120810.TransactGetItems",
    "DynamoDB_20120810.Query",
    "DynamoDB_20120810.Scan",
};
constexpr std::string_view kMethods[] = {"GET", "PUT", "HEAD", "DELETE", "POST"};

// A queue, a table with an item, a bucket with an object: something for requests to be about.
void furnish(TestDoor& door) {
  door.ask_json("AmazonSQS.CreateQueue", R"({"QueueName":"q"})");
  door.ask_json("AmazonSQS.SendMessage", R"({"QueueUrl":"q","MessageBody":"m"})");
  door.ask_json("DynamoDB_20120810.CreateTable",
                R"({"TableName":"ttt","KeySchema":[{"AttributeName":"h","KeyType":"HASH"},)"
                R"({"AttributeName":"r","KeyType":"RANGE"}],"AttributeDefinitions":[)"
                R"({"AttributeName":"h","AttributeType":"S"},)"
                R"({"AttributeName":"r","AttributeType":"N"}]})");
  door.ask_json("DynamoDB_20120810.PutItem",
                R"({"TableName":"ttt","Item":{"h":{"S":"a"},"r":{"N":"1"},"l":{"L":[]}}})");
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  door.ask(door.request("s3", "PUT", "/bucket/key", "bytes"));
}

size_t count(std::string_view text, std::string_view word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

void check_signed(Input& input) {
  TestDoor door;
  furnish(door);
  for (size_t steps = 0; steps < kStepsMax && !input.empty(); ++steps) {
    const size_t operation = input.below(std::size(kOperations) + 1);
    std::string request;
    if (operation < std::size(kOperations)) {
      request = door.json_request(kOperations[operation], input.sized());
    } else {
      const std::string_view method = kMethods[input.below(std::size(kMethods))];
      std::string target = "/bucket";
      for (const char c : input.sized()) target += c > ' ' && c < 0x7f ? c : '/';
      if (!parse_query(target.substr(std::min(target.size(), target.find('?') + 1)))) continue;
      request = door.request("s3", method, target, input.sized());
    }
    const net::PeerId peer = door.connect();
    door.say(peer, request);
    door.skip(Millis(20'000));  // The longest wait.
    CHECK(count(door.hear(peer), "HTTP/1.1 ") >= 1);
    door.leave(peer);
  }
  CHECK(door.ask_json("AmazonSQS.ListQueues", "{}").starts_with("HTTP/1.1 200"));
}

void check_stranger(Input& input) {
  TestDoor door;
  const net::PeerId peer = door.connect();
  while (!input.empty() && !door.finished(peer)) {
    door.say(peer, input.sized());
    CHECK(door.hear(peer).find("200 OK") == std::string::npos);
  }
  CHECK(door.ask_json("AmazonSQS.ListQueues", "{}").starts_with("HTTP/1.1 200"));
}

void check_expression(std::string_view text) {
  const json item = {{"a", {{"N", "1"}}},
                     {"b", {{"M", {{"c", {{"L", json::array({{{"S", "x"}}})}}}}}}},
                     {"s", {{"SS", json::array({"p", "q"})}}}};
  aws::Placeholders placeholders;
  placeholders.names = {{"#n", "b"}};
  const auto shared = [](json value) { return std::make_shared<const json>(std::move(value)); };
  placeholders.values = {{":n", shared({{"N", "2"}})},
                         {":s", shared({{"SS", json::array({"q"})}})}};
  const auto condition = aws::parse_condition(text, placeholders);
  if (condition.ok()) static_cast<void>(aws::holds(condition.value(), item));
  const auto update = aws::parse_update(text, placeholders);
  if (update.ok()) {
    const auto made = aws::apply(update.value(), item);
    if (made.ok()) CHECK(aws::normal_item(made.value()).ok());
  }
  const auto paths = aws::parse_projection(text, placeholders);
  if (paths.ok()) static_cast<void>(aws::project(item, paths.value()));
  // What bytes become sorts like them and comes back.
  CHECK(aws::from_sortable(aws::sortable_bytes(text)) == text);
}

// However the body is cut.
void check_chunked(std::string_view body) {
  const auto decode = [&](size_t size) {
    aws::ChunkDecoder decoder(std::nullopt);
    std::string out;
    for (size_t at = 0; at < body.size(); at += size) {
      if (!decoder.feed(body.substr(at, size), out).ok()) return std::string("broken");
    }
    return out + (decoder.done() ? "!" : "?");
  };
  CHECK(decode(1) == decode(body.size() + 1));
  CHECK(decode(7) == decode(body.size() + 1));
}

// Every form is answered with XML, and changes the store only if the answer is good.
void check_forms(Input& input) {
  TestDoor door;
  furnish(door);
  for (size_t steps = 0; steps < kStepsMax && !input.empty(); ++steps) {
    const std::string before = door.picture();
    const net::PeerId peer = door.connect();
    door.say(peer, door.request("sqs", "POST", "/000000000000/q", input.sized()));
    std::string reply = door.hear(peer);
    if (!reply.empty() && !reply.starts_with("HTTP/1.1 200")) CHECK(door.picture() == before);
    door.skip(Millis(20'000));  // The longest wait.
    reply += door.hear(peer);
    CHECK(reply.find("\r\n\r\n<?xml version=\"1.0\"?><") != std::string::npos);
    door.leave(peer);
  }
  CHECK(door.ask_json("AmazonSQS.ListQueues", "{}").starts_with("HTTP/1.1 200"));
}

std::string one_request(size_t operation, std::string_view body) {
  return Output().byte(9).number(operation).sized(body).bytes();
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  const std::string_view bodies[] = {
      R"({"QueueUrl":"http://x/1/q","QueueName":"q2","Attributes":{"VisibilityTimeout":"5"},)"
      R"("AttributeNames":["All"],"MessageBody":"b","MaxNumberOfMessages":2,"WaitTimeSeconds":1,)"
      R"("MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"AAE="}},)"
      R"("ReceiptHandle":"MTp4","VisibilityTimeout":3,)"
      R"("Entries":[{"Id":"1","MessageBody":"b","ReceiptHandle":"MTp4"}]})",
      R"({"TableName":"ttt","Key":{"h":{"S":"a"},"r":{"N":"1"}},)"
      R"("Item":{"h":{"S":"a"},"r":{"N":"-2.5"},"m":{"M":{"x":{"NS":["1","2"]}}}},)"
      R"("UpdateExpression":"SET #c = if_not_exists(#c, :n) + :n REMOVE l[0] ADD t :n",)"
      R"("ConditionExpression":"attribute_exists(h) AND NOT size(l) > :n",)"
      R"("ExpressionAttributeNames":{"#c":"c"},"ExpressionAttributeValues":{":n":{"N":"1"}},)"
      R"("ReturnValues":"ALL_NEW"})",
      R"({"TableName":"ttt","KeyConditionExpression":"h = :h AND r BETWEEN :a AND :b",)"
      R"("ExpressionAttributeValues":{":h":{"S":"a"},":a":{"N":"0"},":b":{"N":"9"}},)"
      R"("ScanIndexForward":false,"Limit":1,"ProjectionExpression":"h,l[0]",)"
      R"("ExclusiveStartKey":{"h":{"S":"a"},"r":{"N":"5"}}})",
      R"({"RequestItems":{"ttt":[{"PutRequest":{"Item":{"h":{"S":"b"},"r":{"N":"1"}}}}]}})",
      R"({"RequestItems":{"ttt":{"Keys":[{"h":{"S":"a"},"r":{"N":"1"}}]}}})",
      R"({"TransactItems":[{"Put":{"TableName":"ttt","Item":{"h":{"S":"c"},"r":{"N":"1"}}}},)"
      R"({"Get":{"TableName":"ttt","Key":{"h":{"S":"a"},"r":{"N":"1"}}}}]})",
  };
  for (size_t i = 0; i < std::size(kOperations); ++i) {
    for (const std::string_view body : bodies) all.push_back(one_request(i, body));
  }
  const std::pair<size_t, std::string_view> targets[] = {{0, "/key"},
                                                         {1, "/new"},
                                                         {2, "/key"},
                                                         {3, "/key"},
                                                         {0, "?list-type=2&delimiter=/&max-keys=1"},
                                                         {4, "/key?uploads="},
                                                         {4, "?delete="},
                                                         {0, "?location"},
                                                         {1, "/k?partNumber=1&uploadId=0"}};
  for (const auto& [method, target] : targets) {
    all.push_back(Output()
                      .byte(9)
                      .number(std::size(kOperations))
                      .number(method)
                      .sized(target)
                      .sized("<Delete><Object><Key>key</Key></Object></Delete>")
                      .bytes());
  }
  all.push_back(
      Output()
          .byte(0)
          .sized("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n")
          .sized("Authorization: AWS4-HMAC-SHA256 Credential=a/20130524/r/s3/aws4_request, "
                 "SignedHeaders=host, Signature=0\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
          .bytes());
  for (const std::string_view text :
       {"a = :n AND (b.c[0] <> :s OR contains(s, :s))",
        "SET b.c[1] = list_append(#n.c, b.c), a = a - :n", "ADD s :s DELETE s :s REMOVE #n.c[0]",
        "a, #n.c[0]", "a BETWEEN :n AND :n", "a IN (:n, :s)"}) {
    all.push_back(Output().byte(1).raw(text).bytes());
  }
  all.push_back(Output()
                    .byte(2)
                    .raw("3;chunk-signature=0\r\nabc\r\n0\r\nx-amz-checksum-crc32:A\r\n\r\n")
                    .bytes());
  for (const std::string_view form :
       {"Action=CreateQueue&Version=2012-11-05&QueueName=w&Attribute.1.Name=DelaySeconds&"
        "Attribute.1.Value=1&Tag.1.Key=k&Tag.1.Value=v",
        "Action=SendMessage&MessageBody=a+b%0A&MessageAttribute.1.Name=n&"
        "MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=AAE%3D",
        "Action=SendMessageBatch&SendMessageBatchRequestEntry.1.Id=1&"
        "SendMessageBatchRequestEntry.1.MessageBody=x",
        "Action=ReceiveMessage&AttributeName.1=All&MessageAttributeName.1=All&WaitTimeSeconds=1",
        "Action=DeleteMessageBatch&DeleteMessageBatchRequestEntry.2.Id=1&"
        "DeleteMessageBatchRequestEntry.2.ReceiptHandle=MTp4",
        "Action=GetQueueAttributes&AttributeName=All", "Action=PurgeQueue"}) {
    all.push_back(Output().byte(3).sized(form).sized(form).bytes());
  }
  return all;
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  log::set_level(log::Level::off);
  Input input(data, size);
  const uint8_t kind = input.byte();
  if (kind == 0) {
    check_stranger(input);
  } else if (kind == 1) {
    check_expression(input.rest());
  } else if (kind == 2) {
    check_chunked(input.rest());
  } else if (kind == 3) {
    check_forms(input);
  } else {
    check_signed(input);
  }
  return 0;
}
