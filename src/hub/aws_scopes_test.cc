// Every operation of the AWS-compatible door with a key of every scope: it is done whole, or it is
// refused in one step and nothing has changed.

#include <gtest/gtest.h>

#include <array>

#include "testing/door.h"

namespace dunlin::hub {
namespace {

constexpr std::string_view kAdminToken =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

struct Operation {
  std::string service;
  std::string what;    // The operation, or the method.
  std::string target;  // Of S3.
  std::string body;
  Scope least = Scope::read;
};

// `receipt` is of a message that is held.
std::vector<Operation> operations_of_sqs(const std::string& receipt) {
  const std::string queue = R"("QueueUrl":"q")";
  const std::string held = fmt::format(R"({},"ReceiptHandle":"{}")", queue, receipt);
  const std::string entry = fmt::format(R"("Entries":[{{"Id":"1","ReceiptHandle":"{}")", receipt);
  const auto sqs = [](std::string what, const std::string& members, Scope least) {
    return Operation{"sqs", "AmazonSQS." + std::move(what), "", "{" + members + "}", least};
  };
  return {
      sqs("GetQueueUrl", R"("QueueName":"q")", Scope::read),
      sqs("ListQueues", "", Scope::read),
      sqs("GetQueueAttributes", queue + R"(,"AttributeNames":["All"])", Scope::read),
      sqs("ListQueueTags", queue, Scope::read),
      sqs("CreateQueue", R"("QueueName":"new")", Scope::submit),
      sqs("SetQueueAttributes", queue + R"(,"Attributes":{"DelaySeconds":"1"})", Scope::submit),
      sqs("TagQueue", queue + R"(,"Tags":{"a":"b"})", Scope::submit),
      sqs("UntagQueue", queue + R"(,"TagKeys":["kept"])", Scope::submit),
      sqs("SendMessage", queue + R"(,"MessageBody":"x")", Scope::submit),
      sqs("SendMessage", queue + R"(,"MessageBody":"x","DelaySeconds":9)", Scope::submit),
      sqs("SendMessageBatch", queue + R"(,"Entries":[{"Id":"1","MessageBody":"x"}])",
          Scope::submit),
      sqs("ReceiveMessage", queue, Scope::worker),
      sqs("ReceiveMessage", queue + R"(,"AttributeNames":["All"])", Scope::worker),
      sqs("DeleteMessage", held, Scope::worker),
      sqs("DeleteMessageBatch", queue + "," + entry + "}]", Scope::worker),
      sqs("ChangeMessageVisibility", held + R"(,"VisibilityTimeout":0)", Scope::worker),
      sqs("ChangeMessageVisibilityBatch", queue + "," + entry + R"(,"VisibilityTimeout":0}])",
          Scope::worker),
      sqs("PurgeQueue", queue, Scope::worker),
      sqs("DeleteQueue", queue, Scope::worker),
  };
}

std::vector<Operation> operations_of_dynamo() {
  const std::string table = R"("TableName":"ttt")";
  const std::string key = table + R"(,"Key":{"h":{"S":"a"}})";
  const std::string item = table + R"(,"Item":{"h":{"S":"b"}})";
  const auto dynamo = [](std::string what, const std::string& members, Scope least) {
    return Operation{"dynamodb", "DynamoDB_20120810." + std::move(what), "", "{" + members + "}",
                     least};
  };
  return {
      dynamo("ListTables", "", Scope::read),
      dynamo("DescribeTable", table, Scope::read),
      dynamo("GetItem", key, Scope::read),
      dynamo("Scan", table, Scope::read),
      dynamo("Query",
             table + R"(,"KeyConditionExpression":"h = :h",)"
                     R"("ExpressionAttributeValues":{":h":{"S":"a"}})",
             Scope::read),
      dynamo("BatchGetItem", R"("RequestItems":{"ttt":{"Keys":[{"h":{"S":"a"}}]}})", Scope::read),
      dynamo("TransactGetItems", R"("TransactItems":[{"Get":{)" + key + "}}]", Scope::read),
      dynamo("CreateTable",
             R"("TableName":"new","KeySchema":[{"AttributeName":"h","KeyType":"HASH"}],)"
             R"("AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"}])",
             Scope::submit),
      dynamo("PutItem", item, Scope::submit),
      dynamo("UpdateItem", key + R"(,"UpdateExpression":"SET b = h")", Scope::submit),
      dynamo("DeleteItem", key, Scope::submit),
      dynamo("BatchWriteItem",
             R"("RequestItems":{"ttt":[{"DeleteRequest":{"Key":{"h":{"S":"a"}}}},)"
             R"({"PutRequest":{"Item":{"h":{"S":"b"}}}}]})",
             Scope::submit),
      dynamo("TransactWriteItems", R"("TransactItems":[{"Put":{)" + item + "}}]", Scope::submit),
      dynamo("DeleteTable", table, Scope::submit),
  };
}

// `upload` is under way, with one part.
std::vector<Operation> operations_of_s3(const std::string& upload) {
  const std::string in_upload = "/bucket/big?uploadId=" + upload;
  const std::string parts = fmt::format(
      "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>"
      "</CompleteMultipartUpload>",
      hex(md5("part")));
  const auto s3 = [](std::string method, std::string target, std::string body, Scope least) {
    return Operation{"s3", std::move(method), std::move(target), std::move(body), least};
  };
  return {
      s3("GET", "/", "", Scope::read),
      s3("HEAD", "/bucket", "", Scope::read),
      s3("GET", "/bucket?list-type=2", "", Scope::read),
      s3("GET", "/bucket/key", "", Scope::read),
      s3("HEAD", "/bucket/key", "", Scope::read),
      s3("GET", in_upload, "", Scope::read),
      s3("GET", "/bucket?uploads=", "", Scope::read),
      s3("PUT", "/new", "", Scope::submit),
      s3("PUT", "/bucket/new", "bytes", Scope::submit),
      s3("PUT", "/bucket/key", "others", Scope::submit),
      s3("POST", "/bucket/new?uploads=", "", Scope::submit),
      s3("PUT", "/bucket/big?partNumber=1&uploadId=" + upload, "again", Scope::submit),
      s3("POST", in_upload, parts, Scope::submit),
      s3("DELETE", in_upload, "", Scope::submit),
      s3("POST", "/bucket?delete=", "<Delete><Object><Key>key</Key></Object></Delete>",
         Scope::submit),
      s3("DELETE", "/bucket/key", "", Scope::submit),
      s3("DELETE", "/empty", "", Scope::submit),
  };
}

std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return "";
  text.remove_prefix(begin + before.size());
  return std::string(text.substr(0, text.find(after)));
}

// A queue with a message and one that is held, a table with an item, buckets with an object and an
// upload that is under way; and all operations, in terms of them.
std::vector<Operation> furnish(TestDoor& door) {
  door.settle();
  door.ask_json("AmazonSQS.CreateQueue", R"({"QueueName":"q","tags":{"kept":"tag"}})");
  door.ask_json("AmazonSQS.SendMessage", R"({"QueueUrl":"q","MessageBody":"held"})");
  const std::string held = door.ask_json("AmazonSQS.ReceiveMessage", R"({"QueueUrl":"q"})");
  door.ask_json("AmazonSQS.SendMessage", R"({"QueueUrl":"q","MessageBody":"keep me"})");
  door.ask_json("AmazonSQS.SendMessage",
                R"({"QueueUrl":"q","MessageBody":"later","DelaySeconds":900})");
  door.ask_json("DynamoDB_20120810.CreateTable",
                R"({"TableName":"ttt","KeySchema":[{"AttributeName":"h","KeyType":"HASH"}],)"
                R"("AttributeDefinitions":[{"AttributeName":"h","AttributeType":"S"}]})");
  door.ask_json("DynamoDB_20120810.PutItem", R"({"TableName":"ttt","Item":{"h":{"S":"a"}}})");
  door.ask(door.request("s3", "PUT", "/bucket", ""));
  door.ask(door.request("s3", "PUT", "/empty", ""));
  door.ask(door.request("s3", "PUT", "/bucket/key", "object"));
  const std::string begun = door.ask(door.request("s3", "POST", "/bucket/big?uploads=", ""));
  const std::string upload = between(begun, "<UploadId>", "</UploadId>");
  door.ask(door.request("s3", "PUT", "/bucket/big?partNumber=1&uploadId=" + upload, "part"));

  std::vector<Operation> all = operations_of_sqs(between(held, R"("ReceiptHandle":")", R"(")"));
  for (auto& more : {operations_of_dynamo(), operations_of_s3(upload)}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string ask(TestDoor& door, const Operation& operation) {
  if (operation.service != "s3") return door.ask_json(operation.what, operation.body);
  return door.ask(door.request("s3", operation.what, operation.target, operation.body));
}

size_t count_of_operations() {
  TestDoor door;
  return furnish(door).size();
}

TEST(AwsScopes, AnOperationIsDoneWholeOrRefusedWithNothingChanged) {
  const std::array<std::pair<Scope, std::string_view>, 4> scopes = {{{Scope::read, "read"},
                                                                     {Scope::submit, "submit"},
                                                                     {Scope::worker, "worker"},
                                                                     {Scope::admin, "admin"}}};
  const size_t count = count_of_operations();
  for (size_t i = 0; i < count; ++i) {
    for (const auto& [scope, name] : scopes) {
      TestDoor door;
      const Operation operation = furnish(door).at(i);
      const std::string before = door.picture();
      door.key = make_aws_key(kAdminToken, scope, 0);
      const std::string reply = ask(door, operation);
      const std::string which =
          fmt::format("{} {} with {}: {}", operation.what, operation.target, name, reply);
      const int status = std::stoi(reply.substr(9, 3));
      if (scope >= operation.least) {
        EXPECT_LT(status, 300) << which;
        EXPECT_EQ(door.picture() == before, operation.least == Scope::read) << which;
        continue;
      }
      EXPECT_EQ(status, operation.service == "dynamodb" ? 400 : 403) << which;  // As AWS has it.
      const std::string needed = operation.least == Scope::submit ? "'submit'" : "'worker'";
      if (operation.what != "HEAD") {
        EXPECT_NE(reply.find("scope " + needed), std::string::npos) << which;
      }
      EXPECT_EQ(door.picture(), before) << which;
    }
  }
}

TEST(AwsScopes, TheQueryProtocolRefusesInOneStepToo) {
  TestDoor door;
  furnish(door);
  const std::string before = door.picture();
  door.key = make_aws_key(kAdminToken, Scope::submit, 0);
  for (const std::string_view action : {"PurgeQueue", "DeleteQueue", "ReceiveMessage"}) {
    const std::string reply =
        door.ask(door.request("sqs", "POST", "/000000000000/q", fmt::format("Action={}", action)));
    EXPECT_NE(reply.find("<Code>AccessDenied</Code>"), std::string::npos) << reply;
    EXPECT_NE(reply.find("scope 'worker'"), std::string::npos) << reply;
    EXPECT_EQ(door.picture(), before) << action;
  }
}

}  // namespace
}  // namespace dunlin::hub
