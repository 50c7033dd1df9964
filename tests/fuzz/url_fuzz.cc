// URLs as users, job files and environments give them: the parser below all of them, and what each
// scheme makes of it.
#include <optional>

#include "base/check.h"
#include "stores/amqp/address.h"
#include "stores/aws/address.h"
#include "stores/hub_engine.h"
#include "tests/fuzz/target.h"
#include "url/loopback.h"
#include "url/url.h"

namespace dunlin {
namespace {

void check_url(std::string_view text) {
  const Result<Url> url = parse_url(text);
  if (!url.ok()) return CHECK(url.error().code == Code::invalid);
  CHECK(!url.value().hosts.empty());
  CHECK(url.value().path.empty() || url.value().path.starts_with('/'));
  CHECK(url.value().user || !url.value().password);
  for (const UrlHost& host : url.value().hosts) {
    CHECK(!host.name.empty() && host.name.size() <= kHostNameMax);
    CHECK(host.name.find_first_of("/@[]") == std::string::npos);
    CHECK(host.port != 0);
  }
}

// Without TLS only to this machine, whatever was written.
void check_schemes(const std::string& text) {
  const Result<stores::HubAddress> hub = stores::parse_hub_url(text);
  if (hub.ok()) CHECK(hub.value().port != 0 && !hub.value().host.empty());
  const Result<amqp::AmqpAddress> amqp = amqp::parse_amqp_url(text);
  if (amqp.ok() && !amqp.value().tls && text.find("insecure") == std::string::npos &&
      text.find('%') == std::string::npos) {
    for (const amqp::AmqpHost& host : amqp.value().hosts) CHECK(is_loopback_host(host.name));
  }
  const Result<cloud::CloudAddress> aws = cloud::parse_cloud_address("aws:eu/lab", text);
  if (!aws.ok()) return;
  for (const std::string& one : {aws.value().sqs, aws.value().dynamodb, aws.value().s3}) {
    if (one.starts_with("http://")) {
      CHECK(is_loopback_host(parse_url(one).value().hosts.front().name));
    }
  }
}

}  // namespace

std::vector<std::string> seeds() {
  return {"dunlin://hub.example:7777",
          "dunlin+tls://[::1]:65535",
          "amqp://me:p%40s@localhost:5672,127.1.2.3/lab%2F1?prefix=x.y",
          "amqps://u:p@a.example:1,b.example,[fe80::1]:3/v?ca=/a%20b",
          "amqp://u:p@10.0.0.1?insecure=1",
          "http://127.0.0.1:9324/",
          "s3=https://minio.lab:9000,sqs=http://[::1]:1",
          "postgres://me:hush@h:5432/db?sslmode=disable#schema",
          "[::ffff:127.0.0.1]:1"};
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  dunlin::check_url(text);
  const auto host = dunlin::parse_host(text, 0);
  if (host.ok()) CHECK(!host.value().name.empty());
  dunlin::check_schemes(text);
  return 0;
}
