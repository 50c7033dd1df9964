#include "doors/aws/call/query_error.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/digest.h"
#include "base/xml.h"

namespace dunlin::aws {

http::HttpReply query_reply(int status, std::string&& body, const std::string& request_id) {
  return {.status = status,
          .headers = {{"content-type", "text/xml"}, {"x-amzn-requestid", request_id}},
          .body = "<?xml version=\"1.0\"?>" + std::move(body),
          .length = {}};
}

http::HttpReply query_error(const SqsError& error) {
  const std::string id = hex(random_bytes(16));
  return query_reply(
      error.status,
      fmt::format("<ErrorResponse xmlns=\"http://queue.amazonaws.com/doc/{}/\"><Error>"
                  "<Type>{}</Type><Code>{}</Code><Message>{}</Message><Detail/></Error>"
                  "<RequestId>{}</RequestId></ErrorResponse>",
                  kQueryVersions[0], error.status < 500 ? "Sender" : "Receiver",
                  query_code(error.type), xml_text(error.message), id),
      id);
}

std::string query_code(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kCodes = {{
      {"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"},
      {"QueueNameExists", "QueueAlreadyExists"},
      {"UnknownOperationException", "InvalidAction"},
      {"AccessDeniedException", "AccessDenied"},
      {"ThrottlingException", "Throttling"},
      {"MissingAuthenticationTokenException", "MissingAuthenticationToken"},
      {"UnrecognizedClientException", "InvalidClientTokenId"},
      {"InvalidSignatureException", "SignatureDoesNotMatch"},
      {"IncompleteSignatureException", "IncompleteSignature"},
      {"RequestEntityTooLargeException", "RequestEntityTooLarge"},
      {"InternalFailure", "InternalError"},
  }};
  const auto* found = std::ranges::find(kCodes, type, [](const auto& code) { return code.first; });
  if (found != kCodes.end()) return std::string(found->second);
  constexpr std::array<std::string_view, 8> kOfSqs = {
      "BatchEntryIdsNotDistinct", "BatchRequestTooLong", "EmptyBatchRequest",
      "InvalidBatchEntryId",      "MessageNotInflight",  "TooManyEntriesInBatchRequest",
      "UnsupportedOperation",     "PurgeQueueInProgress"};
  const bool is_of_sqs = std::ranges::find(kOfSqs, type) != kOfSqs.end();
  return is_of_sqs ? fmt::format("AWS.SimpleQueueService.{}", type) : std::string(type);
}

}  // namespace dunlin::aws
