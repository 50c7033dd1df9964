// One HTTP client over libcurl: a request, its answer whole, connections kept for the next one.
// Certificates are checked. Blocks; one thread, but for stop().
#pragma once

#include <atomic>
#include <cstdint>
#include <curl/curl.h>
#include <memory>
#include <string>

#include "aws_protocol/sigv4.h"
#include "base/env.h"
#include "base/result.h"
#include "stores/aws/address.h"

namespace dunlin::cloud {

struct HttpRequest {
  std::string method;
  std::string url;  // As on the wire.
  http::Headers headers;
  std::string body;
  Millis timeout = Millis(15'000);
  size_t answer_max = 32 << 20;
  bool stoppable = false;
  bool told = false;  // Outages of its host are logged.
};

struct HttpAnswer {
  int status = 0;
  http::Headers headers;
  std::string body;
};

class HttpClient {
 public:
  explicit HttpClient(std::string ca_file);

  // `unavailable` if there is no answer, `invalid` if it is too long.
  Result<HttpAnswer> send(const HttpRequest& request);

  // From any thread: a stoppable request ends soon with `unavailable`, and all later ones do.
  void stop();
  bool stopped() const { return stopped_; }

  // The last request found no host of that name, or one that refused the connection.
  bool nobody_there() const { return nobody_there_; }

 private:
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  CURLcode perform(const HttpRequest& request);

  const std::string ca_file_;
  std::atomic<bool> stopped_ = false;
  bool nobody_there_ = false;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::unique_ptr<CURL, FreeEasy> easy_;
};

// How many requests this process has sent, repeats included.
struct Sent {
  uint64_t sqs = 0;
  uint64_t dynamodb = 0;
  uint64_t s3 = 0;
  uint64_t all() const { return sqs + dynamodb + s3; }
};
Sent requests_sent();
void count_request(Service service);

}  // namespace dunlin::cloud
