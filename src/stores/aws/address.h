// Where a store in AWS is, aws:REGION/PREFIX, and what its parts are called there; and where blobs
// alone are, s3://BUCKET/PREFIX, in a bucket that somebody else looks after. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dunlin::cloud {

enum class Service { sqs, dynamodb, s3 };
std::string_view service_name(Service service);

struct CloudAddress {
  std::string region;
  std::string prefix;  // Of the names of all that the store has there.
  std::string bucket;  // Of s3://; then the prefix is that of the objects in it.
  // Other endpoints than AWS's own: http(s)://HOST[:PORT], without a path.
  std::string sqs;
  std::string dynamodb;
  std::string s3;
  std::string ca_file;  // Trusted instead of the system's.

  std::string endpoint(Service service) const;
  std::string rows_table() const { return prefix + "-rows"; }
  std::string blobs_bucket() const { return bucket.empty() ? prefix + "-blobs" : bucket; }
  std::string objects_start() const { return bucket.empty() ? "" : prefix + "/"; }
  // '_' stands in no prefix: no other store's queues begin like that.
  std::string queues_start() const { return prefix + "_"; }
  std::string queue_name(std::string_view queue) const;
};

bool is_bucket_url(std::string_view url);

// `endpoints` is empty, one URL for all three services, or some of sqs=URL,dynamodb=URL,s3=URL.
// `region` is for s3://, which does not say it. `invalid` says which part is wrong.
Result<CloudAddress> parse_cloud_address(std::string_view url, std::string_view endpoints,
                                         std::string_view region = "us-east-1");

}  // namespace dunlin::cloud
