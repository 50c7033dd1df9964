// Calls of AWS's services: signed, repeated with jitter while the service is busy or away, and
// slowed down when it says so. Blocks; one thread, but for stop().
//
// A call may be carried out more than once: who uses it makes that harmless.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "aws_protocol/json.h"
#include "base/env.h"
#include "stores/aws/address.h"
#include "stores/aws/credentials.h"
#include "stores/aws/http.h"
#include "stores/aws/retry.h"

namespace dunlin::cloud {

using aws::json;

struct CloudOptions {
  Millis deadline = Millis(30'000);      // Of a call, with all its repeats.
  Millis try_max = Millis(15'000);       // Of one try.
  Millis connect_wait = Millis(30'000);  // For the first answer, after which it is surely there.
};

// What a service said, if it was not `again` or `throttled` until the deadline.
struct Reply {
  int status = 0;
  std::string error;                // The name of the service's error; empty: there is none.
  std::string message;              // Of the error.
  json body = json::value_t::null;  // Of the services that speak JSON.
  HttpAnswer http;                  // Of S3.

  bool ok() const { return error.empty(); }
};

struct S3Call {
  std::string method;
  std::string path;  // Percent-encoded.
  Query query;
  http::Headers headers;
  std::string body;
  size_t expected = 0;  // Bytes of the answer, about.
  size_t answer_max = 16 << 20;
};

class CloudLink {
 public:
  // `clock` and `disk` must outlive it.
  CloudLink(CloudAddress address, const CloudOptions& options, const Clock& clock,
            const Disk& disk);

  // `operation` as the service's documents name it. `wait`: how much longer than others it may
  // take; then it can be stopped.
  Result<Reply> call(Service service, std::string_view operation, const json& in,
                     Millis wait = Millis(0));
  Result<Reply> s3(const S3Call& call);

  // From any thread: what waits ends soon, and nothing waits any more.
  void stop() { http_.stop(); }
  bool stopped() const { return http_.stopped(); }

  const CloudAddress& address() const { return address_; }
  const CloudOptions& options() const { return options_; }
  const Clock& clock() const { return clock_; }
  Random& random() { return random_; }

 private:
  struct Try {
    Service service = Service::s3;
    HttpRequest request;  // Without what signs it.
    std::string path;
    Query query;
    Millis wait = Millis(0);
  };
  Result<Reply> insist(const Try& what);
  Result<Reply> once(const Try& what, Millis timeout);
  Result<void> sign(const Try& what, HttpRequest& request);
  Error refusal(Service service, const Reply& reply) const;

  const CloudAddress address_;
  const CloudOptions options_;
  const Clock& clock_;
  HttpClient http_;
  KeyChain keys_;
  Random random_;
  std::array<Pace, 3> pace_;  // By service.
  bool met_ = false;          // Somebody has answered.
};

// What a service refused, for people. `what` names what was tried.
Error refused(const Reply& reply, std::string_view what);

}  // namespace dunlin::cloud
