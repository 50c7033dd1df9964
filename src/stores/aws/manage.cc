#include "stores/aws/manage.h"

#include <fmt/format.h>

#include "aws_protocol/xml.h"
#include "base/digest.h"
#include "base/text.h"
#include "base/wait.h"
#include "stores/aws/dynamo_table.h"
#include "stores/aws/s3_blobs.h"

namespace dunlin::cloud {
namespace {

constexpr size_t kQueuesMax = 100'000;
constexpr Millis kGoneWait = std::chrono::minutes(3);
constexpr Millis kLook = Millis(500);

Result<std::vector<std::string>> queue_urls(CloudLink& link) {
  std::vector<std::string> urls;
  json in = {{"QueueNamePrefix", link.address().queues_start()}, {"MaxResults", 1000}};
  while (urls.size() < kQueuesMax) {
    const Reply reply = TRY(link.call(Service::sqs, "ListQueues", in));
    if (!reply.ok()) return refused(reply, "the SQS queues cannot be listed");
    for (const json& url : aws::list_or_empty(reply.body, "QueueUrls")) {
      if (url.is_string()) urls.push_back(url.get<std::string>());
    }
    const std::string next = aws::text_or(reply.body, "NextToken", "");
    if (next.empty()) break;
    in["NextToken"] = next;
  }
  return urls;
}

Result<std::string> table_status(CloudLink& link) {
  const Reply reply = TRY(
      link.call(Service::dynamodb, "DescribeTable", {{"TableName", link.address().rows_table()}}));
  if (reply.error == "ResourceNotFoundException") return std::string();
  if (!reply.ok()) return refused(reply, "the DynamoDB table cannot be looked at");
  const json table = aws::object_or_empty(reply.body, "Table");
  TRY(check_rows_table(link.address(), table));
  return aws::text_or(table, "TableStatus", "ACTIVE");
}

Result<bool> has_bucket(CloudLink& link) {
  const Reply reply = TRY(link.s3({.method = "HEAD",
                                   .path = "/" + link.address().blobs_bucket(),
                                   .query = {},
                                   .headers = {},
                                   .body = ""}));
  if (!reply.ok() && reply.status != 404) return refused(reply, "the S3 bucket cannot be seen");
  return reply.ok();
}

Result<void> remove_table(CloudLink& link) {
  const Instant deadline = link.clock().now() + kGoneWait;
  while (true) {
    const std::string status = TRY(table_status(link));
    if (status.empty()) return {};
    if (status != "DELETING") {
      const Reply reply = TRY(link.call(Service::dynamodb, "DeleteTable",
                                        {{"TableName", link.address().rows_table()}}));
      const bool fine = reply.ok() || reply.error == "ResourceInUseException" ||
                        reply.error == "ResourceNotFoundException";
      if (!fine) return refused(reply, "the DynamoDB table cannot be removed");
    }
    if (link.clock().now() >= deadline) {
      return Error{Code::unavailable, fmt::format("the DynamoDB table {} is still being removed",
                                                  link.address().rows_table())};
    }
    wait_until(link.clock().now() + kLook, link.clock());
  }
}

Result<void> remove_bucket(CloudLink& link, S3Blobs& blobs) {
  const std::string path = "/" + link.address().blobs_bucket();
  if (!TRY(has_bucket(link))) return {};
  while (true) {
    const std::vector<BlobInfo> some = TRY(blobs.list("", "", 1000));
    if (some.empty()) break;
    aws::Xml xml;
    xml.open("Delete").leaf("Quiet", "true");
    for (const BlobInfo& blob : some) {
      const std::string key = link.address().objects_start() + blob.name;
      xml.open("Object").leaf("Key", key).close("Object");
    }
    const std::string body = xml.close("Delete").text();
    const Reply reply = TRY(link.s3({.method = "POST",
                                     .path = path,
                                     .query = {{"delete", ""}},
                                     .headers = {{"content-md5", to_base64(md5(body))}},
                                     .body = body}));
    if (!reply.ok()) return refused(reply, "the objects of the S3 bucket cannot be removed");
    const auto removed = aws::read_xml(reply.http.body);
    if (!reply.http.body.empty() && (!removed || removed->find("Error") != nullptr)) {
      return Error{Code::denied, "some objects of the S3 bucket cannot be removed"};
    }
  }
  if (!link.address().bucket.empty()) return {};  // The user's.
  const Reply reply =
      TRY(link.s3({.method = "DELETE", .path = path, .query = {}, .headers = {}, .body = ""}));
  if (reply.ok() || reply.status == 404) return {};
  return refused(reply, fmt::format("the S3 bucket {} cannot be removed", path.substr(1)));
}

Result<void> remove_queues(CloudLink& link) {
  for (const std::string& url : TRY(queue_urls(link))) {
    const Reply reply = TRY(link.call(Service::sqs, "DeleteQueue", {{"QueueUrl", url}}));
    const bool gone = reply.error.find("QueueDoesNotExist") != std::string::npos ||
                      reply.error.find("NonExistentQueue") != std::string::npos;
    if (!reply.ok() && !gone) return refused(reply, fmt::format("the SQS queue {}", url));
  }
  return {};
}

}  // namespace

Result<std::vector<CloudThing>> list_cloud(const CloudAddress& address, CloudParts parts,
                                           const CloudOptions& options, const Clock& clock,
                                           const Disk& disk) {
  CloudLink link(address, options, clock, disk);
  std::vector<CloudThing> things;
  if (parts.queues) {
    for (const std::string& url : TRY(queue_urls(link))) {
      things.push_back({Service::sqs, url.substr(url.rfind('/') + 1)});
    }
  }
  if (parts.table && !TRY(table_status(link)).empty()) {
    things.push_back({Service::dynamodb, address.rows_table()});
  }
  if (parts.blobs && TRY(has_bucket(link))) {
    const std::string below = address.bucket.empty() ? "" : "/" + address.objects_start();
    things.push_back({Service::s3, address.blobs_bucket() + below});
  }
  return things;
}

Result<void> destroy_cloud(const CloudAddress& address, CloudParts parts,
                           const CloudOptions& options, const Clock& clock, const Disk& disk) {
  CloudLink link(address, options, clock, disk);
  // What is not ours is found before anything is removed.
  if (parts.table) TRY(table_status(link));
  if (parts.queues) TRY(remove_queues(link));
  if (parts.blobs) {
    S3Blobs blobs(address, options, clock, disk);
    TRY(remove_bucket(link, blobs));
  }
  if (parts.table) TRY(remove_table(link));
  return {};
}

}  // namespace dunlin::cloud
