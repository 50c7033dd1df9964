// Finds out who signed a request and for which of the services, and words the reply if the request
// is refused. The checks themselves are in sigv4.h. Never blocks. One thread, the door's.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "aws_protocol/sigv4.h"
#include "http/http.h"

namespace dunlin::aws {

class DoorHost;

enum class Kind {
  sqs,
  sqs_query,  // SQS in the protocol that clients of before 2023 speak.
  dynamo,
  s3,
};

struct Signer {
  Kind service = Kind::s3;
  Claim claim;
  std::string secret;
};

// What of a request can be checked before its body is here; else the reply that refuses it.
std::variant<Signer, http::HttpReply> identify(const http::HttpHead& head, DoorHost& host,
                                               WallTime now);

// The signature is right and the body is the one that was signed.
bool is_signed(const Signer& signer, const http::HttpHead& head, std::string_view body);

// The same without the body, whose hash is to be compared with what the header
// x-amz-content-sha256 says: for uploads.
bool s3_is_signed(const Signer& signer, const http::HttpHead& head);

// What the header says about the body, or what its absence means.
std::string s3_payload_hash(const Signer& signer, const http::HttpHead& head);

size_t body_max(Kind service, const http::HttpHead& head);  // Of a body that is kept whole.

// Replies in the words of the service.
http::HttpReply refusal(Kind service, const ClaimFault& fault);
http::HttpReply too_large(Kind service, size_t max);

}  // namespace dunlin::aws
