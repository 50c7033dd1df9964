#include "aws/auth.h"

#include <fmt/format.h>

#include "aws/door.h"
#include "aws/json.h"
#include "aws/xml.h"
#include "base/digest.h"

namespace dunlin::aws {
namespace {

constexpr std::string_view kMismatch =
    "the signature does not match: check the secret access key (DIR/aws-credentials of the hub, or "
    "`dunlin token --aws`) and the clock";

Kind kind_of(const HttpHead& head) {
  const std::string* target = head.header("x-amz-target");
  // SDKs of before 2023 speak another protocol with SQS, and are told so in that (services.cc).
  if (!target && head.header_or("authorization", "").find("/sqs/aws4") != std::string::npos) {
    return Kind::sqs;
  }
  if (!target) return Kind::s3;
  return target->starts_with("DynamoDB") ? Kind::dynamo : Kind::sqs;
}

std::string_view scope_name(Kind service) {
  return service == Kind::sqs ? "sqs" : service == Kind::dynamo ? "dynamodb" : "s3";
}

Signable signable(const HttpHead& head, std::string payload_hash) {
  Query query;
  for (const auto& parameter : head.query) {
    if (parameter.first != "X-Amz-Signature") query.push_back(parameter);
  }
  return {head.method, head.path, std::move(query), head.headers, std::move(payload_hash)};
}

HttpReply s3_refusal(const ClaimFault& fault) {
  switch (fault.fault) {
    case Fault::unsigned_request:
    case Fault::expired:
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

std::string common(std::string_view type) { return fmt::format("{}{}", kCommonErrors, type); }

}  // namespace

std::variant<Signer, HttpReply> identify(const HttpHead& head, DoorHost& host, WallTime now) {
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
    return json_error(400, common("UnrecognizedClientException"), secret.error().what);
  }
  signer.secret = std::move(secret).value();
  return signer;
}

std::string s3_payload_hash(const Signer& signer, const HttpHead& head) {
  if (const std::string* given = head.header("x-amz-content-sha256")) return *given;
  if (signer.claim.expires_s > 0) return std::string(kUnsignedPayload);
  return hex(sha256(""));
}

bool s3_is_signed(const Signer& signer, const HttpHead& head) {
  return verify(signer.claim, signable(head, s3_payload_hash(signer, head)), signer.secret);
}

bool is_signed(const Signer& signer, const HttpHead& head, std::string_view body) {
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

size_t body_max(Kind service) { return service == Kind::dynamo ? 17 << 20 : 4 << 20; }

HttpReply refusal(Kind service, const ClaimFault& fault) {
  if (service == Kind::s3) return s3_refusal(fault);
  switch (fault.fault) {
    case Fault::unsigned_request:
      return json_error(400, common("MissingAuthenticationTokenException"), fault.what);
    case Fault::malformed:
      return json_error(400, common("IncompleteSignatureException"), fault.what);
    case Fault::skewed:
    case Fault::expired:
      return json_error(400, common("InvalidSignatureException"), fault.what);
    case Fault::mismatch:
      break;
  }
  return json_error(400, common("InvalidSignatureException"), kMismatch);
}

HttpReply too_large(Kind service, bool alone) {
  const std::string what =
      alone ? fmt::format("the body has more than {} bytes: send less at once", body_max(service))
            : "the hub holds as many request bodies as it takes: try again later";
  if (service == Kind::s3) {
    return alone ? s3_error(400, "EntityTooLarge", what) : s3_error(503, "SlowDown", what);
  }
  return json_error(alone ? 413 : 503,
                    common(alone ? "RequestEntityTooLargeException" : "ThrottlingException"), what);
}

HttpReply json_error(int status, std::string_view type, std::string_view message) {
  const json body = {{"__type", type}, {"message", message}};
  return json_reply(status, body);
}

HttpReply s3_error(int status, std::string_view code, std::string_view message) {
  Xml xml;
  xml.open("Error").leaf("Code", code).leaf("Message", message);
  xml.leaf("RequestId", hex(random_bytes(8))).close("Error");
  return xml_reply(status, xml);
}

}  // namespace dunlin::aws
