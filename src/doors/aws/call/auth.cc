#include "doors/aws/call/auth.h"

#include <fmt/format.h>

#include "aws_protocol/json.h"
#include "aws_protocol/xml.h"
#include "base/digest.h"
#include "doors/aws/call/door_host.h"
#include "doors/aws/call/query_error.h"
#include "doors/aws/call/replies.h"

namespace dunlin::aws {
namespace {

constexpr std::string_view kMismatch =
    "the signature does not match: check the secret access key (DIR/aws-credentials of the hub, or "
    "`dunlin token --aws`) and the clock";

constexpr std::string_view kUnsignedQuery =
    "the request is not signed with version 4 (SDKs from before 2014 use version 2, which is not "
    "supported: use a newer one): give the client an access key of this hub (DIR/aws-credentials, "
    "or `dunlin token --aws`)";

bool names_sqs(std::string_view credential) {
  return credential.find("/sqs/aws4") != std::string_view::npos;
}

// Who does not say in a header what is asked of whom asks S3, or SQS in its Query protocol.
Kind kind_without_target(const http::HttpHead& head) {
  if (const std::string* header = head.header("authorization")) {
    return names_sqs(*header) ? Kind::sqs_query : Kind::s3;
  }
  if (const std::string* credential = find(head.query, "X-Amz-Credential")) {
    return names_sqs(*credential) ? Kind::sqs_query : Kind::s3;
  }
  const bool form =
      head.method == "POST" &&
      head.header_or("content-type", "").starts_with("application/x-www-form-urlencoded");
  return form || find(head.query, "Action") ? Kind::sqs_query : Kind::s3;
}

Kind kind_of(const http::HttpHead& head) {
  const std::string* target = head.header("x-amz-target");
  if (!target) return kind_without_target(head);
  return target->starts_with("DynamoDB") ? Kind::dynamo : Kind::sqs;
}

std::string_view scope_name(Kind service) {
  return service == Kind::dynamo ? "dynamodb" : service == Kind::s3 ? "s3" : "sqs";
}

Signable signable(const http::HttpHead& head, std::string payload_hash) {
  Query query;
  for (const auto& parameter : head.query) {
    if (parameter.first != "X-Amz-Signature") query.push_back(parameter);
  }
  return {head.method, head.path, std::move(query), head.headers, std::move(payload_hash)};
}

http::HttpReply s3_refusal(const ClaimFault& fault) {
  switch (fault.fault) {
    case Fault::unsigned_request:
    case Fault::expired:
    case Fault::unsigned_header:
      return s3_error(403, "AccessDenied", fault.what);
    case Fault::malformed:
      return s3_error(400, "AuthorizationHeaderMalformed", fault.what);
    case Fault::skewed:
      return s3_error(403, "RequestTimeTooSkewed", fault.what);
    case Fault::mismatch:
      break;
  }
  return s3_error(403, "SignatureDoesNotMatch", kMismatch);
}

// An error that SQS and DynamoDB have in common, by its name in the JSON protocols.
http::HttpReply common_error(Kind service, int status, std::string_view type,
                             std::string_view message) {
  if (service == Kind::sqs_query) {
    return query_error({std::string(type), std::string(message), status});
  }
  return json_error(status, fmt::format("{}{}", kCommonErrors, type), message);
}

}  // namespace

std::variant<Signer, http::HttpReply> identify(const http::HttpHead& head, DoorHost& host,
                                               WallTime now) {
  const Kind service = kind_of(head);
  std::variant<Claim, ClaimFault> claim = read_claim(head.query, head.headers, now);
  if (const auto* fault = std::get_if<ClaimFault>(&claim)) return refusal(service, *fault);
  Signer signer = {service, std::move(std::get<Claim>(claim)), ""};
  if (signer.claim.scope.service != scope_name(service)) {
    return refusal(service, {Fault::malformed,
                             fmt::format("the credential is scoped to the service '{}', this is a "
                                         "request of '{}'",
                                         signer.claim.scope.service, scope_name(service))});
  }
  Result<std::string> secret = host.secret_of(signer.claim.key_id, now);
  if (!secret.ok()) {
    if (service == Kind::s3) return s3_error(403, "InvalidAccessKeyId", secret.error().what);
    return common_error(service, 400, "UnrecognizedClientException", secret.error().what);
  }
  signer.secret = std::move(secret).value();
  return signer;
}

std::string s3_payload_hash(const Signer& signer, const http::HttpHead& head) {
  if (const std::string* given = head.header("x-amz-content-sha256")) return *given;
  if (signer.claim.expires_s > 0) return std::string(kUnsignedPayload);
  return hex(sha256(""));
}

bool s3_is_signed(const Signer& signer, const http::HttpHead& head) {
  return verify(signer.claim, signable(head, s3_payload_hash(signer, head)), signer.secret);
}

bool is_signed(const Signer& signer, const http::HttpHead& head, std::string_view body) {
  const std::string hash = hex(sha256(body));
  if (signer.service != Kind::s3) {
    const std::string* given = head.header("x-amz-content-sha256");
    if (given && *given != hash) return false;
    return verify(signer.claim, signable(head, hash), signer.secret);
  }
  if (!head.header("x-amz-content-sha256") && signer.claim.expires_s == 0) {
    return verify(signer.claim, signable(head, hash), signer.secret);
  }
  const std::string said = s3_payload_hash(signer, head);
  return (said == hash || said == kUnsignedPayload) && s3_is_signed(signer, head);
}

size_t body_max(Kind service, const http::HttpHead& head) {
  if (service != Kind::dynamo) return 4 << 20;
  const std::string target = head.header_or("x-amz-target", "");
  if (target.ends_with(".BatchWriteItem")) return 8 << 20;  // 25 rows of a store.
  return target.ends_with(".TransactWriteItems") ? 5 << 20 : 2 << 20;
}

http::HttpReply refusal(Kind service, const ClaimFault& fault) {
  if (service == Kind::s3) return s3_refusal(fault);
  switch (fault.fault) {
    case Fault::unsigned_request:
      return common_error(service, 400, "MissingAuthenticationTokenException",
                          service == Kind::sqs_query ? std::string(kUnsignedQuery) : fault.what);
    case Fault::malformed:
      return common_error(service, 400, "IncompleteSignatureException", fault.what);
    case Fault::skewed:
    case Fault::expired:
    case Fault::unsigned_header:
      return common_error(service, 400, "InvalidSignatureException", fault.what);
    case Fault::mismatch:
      break;
  }
  return common_error(service, 400, "InvalidSignatureException", kMismatch);
}

http::HttpReply too_large(Kind service, size_t max) {
  const std::string what = fmt::format("the body has more than {} bytes: send less at once", max);
  if (service == Kind::s3) return s3_error(400, "EntityTooLarge", what);
  return common_error(service, 413, "RequestEntityTooLargeException", what);
}

}  // namespace dunlin::aws
