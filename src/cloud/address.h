// Where a store in AWS is, aws:REGION/PREFIX, and what its parts are called there. Pure.
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
  // Other endpoints than AWS's own: http(s)://HOST[:PORT], without a path.
  std::string sqs;
  std::string dynamodb;
  std::string s3;
  std::string ca_file;  // Trusted instead of the system's.

  std::string endpoint(Service service) const;
  std::string rows_table() const { return prefix + "-rows"; }
  std::string blobs_bucket() const { return prefix + "-blobs"; }
  // '_' stands in no prefix: no other store's queues begin like that.
  std::string queues_start() const { return prefix + "_"; }
  std::string queue_name(std::string_view queue) const;
};

// `endpoints` is empty, one URL for all three services, or some of sqs=URL,dynamodb=URL,s3=URL.
// `invalid` says which part is wrong.
Result<CloudAddress> parse_cloud_address(std::string_view url, std::string_view endpoints);

}  // namespace dunlin::cloud
