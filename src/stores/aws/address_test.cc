#include "stores/aws/address.h"

#include <gtest/gtest.h>

#include <set>

namespace dunlin::cloud {
namespace {

std::string wrong(std::string_view url, std::string_view endpoints = "") {
  const auto parsed = parse_cloud_address(url, endpoints);
  if (parsed.ok()) return "ok";
  EXPECT_EQ(parsed.error().code, Code::invalid);
  return parsed.error().what;
}

CloudAddress right(std::string_view url, std::string_view endpoints = "") {
  const auto parsed = parse_cloud_address(url, endpoints);
  CHECK(parsed.ok());
  return parsed.value();
}

TEST(CloudAddress, HasRegionAndPrefix) {
  const CloudAddress address = right("aws:eu-north-1/lab-2");
  EXPECT_EQ(address.region, "eu-north-1");
  EXPECT_EQ(address.prefix, "lab-2");
  EXPECT_EQ(address.endpoint(Service::sqs), "https://sqs.eu-north-1.amazonaws.com");
  EXPECT_EQ(address.endpoint(Service::dynamodb), "https://dynamodb.eu-north-1.amazonaws.com");
  EXPECT_EQ(address.endpoint(Service::s3), "https://s3.eu-north-1.amazonaws.com");
  EXPECT_EQ(right("aws:cn-north-1/lab").endpoint(Service::s3),
            "https://s3.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(address.rows_table(), "lab-2-rows");
  EXPECT_EQ(address.blobs_bucket(), "lab-2-blobs");
}

TEST(CloudAddress, SaysWhichPartIsWrong) {
  EXPECT_NE(wrong("awz:eu-north-1/lab").find("begins with aws:"), std::string::npos);
  EXPECT_NE(wrong("aws:eu-north-1").find("no '/'"), std::string::npos);
  for (const char* url : {"aws:/lab", "aws:EU/lab", "aws:eu.north/lab"}) {
    EXPECT_NE(wrong(url).find("a region is"), std::string::npos) << url;
  }
  for (const char* url : {"aws:eu/", "aws:eu/a", "aws:eu/-ab", "aws:eu/Lab", "aws:eu/a_b",
                          "aws:eu/a/b", "aws:eu/abcdefghijabcdefghijabcdefghijab"}) {
    EXPECT_NE(wrong(url).find("a prefix has"), std::string::npos) << url;
  }
}

TEST(CloudAddress, BlobsMayBeInABucketOfTheUsers) {
  const CloudAddress address = right("s3://results.2026/lab-2");
  EXPECT_EQ(address.blobs_bucket(), "results.2026");
  EXPECT_EQ(address.objects_start(), "lab-2/");
  EXPECT_EQ(address.endpoint(Service::s3), "https://s3.us-east-1.amazonaws.com");
  EXPECT_EQ(right("aws:eu-north-1/lab-2").objects_start(), "");
  const auto north = parse_cloud_address("s3://results/lab", "", "eu-north-1");
  ASSERT_TRUE(north.ok());
  EXPECT_EQ(north.value().region, "eu-north-1");
  EXPECT_FALSE(parse_cloud_address("s3://results/lab", "", "Nowhere").ok());
  for (const char* url : {"s3://results", "s3://", "s3://re/lab", "s3://Results/lab",
                          "s3://results/", "s3://results/a/b", "s3://results/-a"}) {
    EXPECT_NE(wrong(url).find("s3://BUCKET/PREFIX"), std::string::npos) << url;
  }
}

TEST(CloudAddress, EndpointsAreForAllOrForEach) {
  const CloudAddress all = right("aws:eu/lab", "http://127.0.0.1:9324/");
  EXPECT_EQ(all.endpoint(Service::sqs), "http://127.0.0.1:9324");
  EXPECT_EQ(all.endpoint(Service::s3), "http://127.0.0.1:9324");
  const CloudAddress some = right("aws:eu/lab", "s3=https://minio.lab:9000,sqs=http://[::1]:1");
  EXPECT_EQ(some.endpoint(Service::s3), "https://minio.lab:9000");
  EXPECT_EQ(some.endpoint(Service::sqs), "http://[::1]:1");
  EXPECT_EQ(some.endpoint(Service::dynamodb), "https://dynamodb.eu.amazonaws.com");
}

TEST(CloudAddress, WithoutTlsOnlyOnThisMachine) {
  for (const char* endpoint :
       {"http://localhost:1", "http://127.0.0.1", "http://127.3.2.1:1/", "http://[::1]",
        "https://example.com/", "https://[fe80::1]:9000", "https://0.0.0.0:1"}) {
    EXPECT_EQ(wrong("aws:eu/lab", endpoint), "ok") << endpoint;
  }
  for (const char* endpoint : {"http://example.com",
                               "http://127.0.0.1.example.com",
                               "http://10.0.0.1:1",
                               "http://localhost@example.com",
                               "ftp://localhost",
                               "https://",
                               "https://host/path",
                               "sqs=",
                               "sqs",
                               "ec2=https://host",
                               "https://a b",
                               "http://127.1",
                               "http://0.0.0.0:1",
                               "http://127.0.0.1.5",
                               "http://[::2]:1",
                               "https://host?",
                               "https://host#",
                               "https://host:0",
                               "https://a,b",
                               "https://[host]",
                               "https://host//",
                               "https://u:p@host"}) {
    EXPECT_NE(wrong("aws:eu/lab", endpoint), "ok") << endpoint;
  }
}

TEST(CloudAddress, QueuesHaveNamesThatSqsTakes) {
  const CloudAddress address = right("aws:eu/lab");
  EXPECT_EQ(address.queue_name("work"), "lab_work");
  EXPECT_EQ(address.queue_name("a_b-C9"), "lab_a_b-C9");
  std::set<std::string> names;
  const std::string longest(64, 'x');
  const CloudAddress other = right("aws:eu/abcdefghijabcdefghijabcdefghija");
  for (const std::string& queue : {std::string("a.b"), std::string("a_b"), std::string("a..b"),
                                   longest, longest.substr(1) + "y"}) {
    for (const CloudAddress& one : {address, other}) {
      const std::string name = one.queue_name(queue);
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_TRUE(name.starts_with(one.queues_start()));
      EXPECT_LE(name.size(), 80U);
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace dunlin::cloud
