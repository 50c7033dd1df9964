// SQS over our queues: what its operations share. A queue of SQS is a row of the table aws.sqs and
// a queue of the store; a message keeps its body as it is unless it has attributes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/call.h"
#include "aws/json.h"

namespace dunlin::aws {

inline constexpr std::string_view kSqsTable = "aws.sqs";
inline constexpr std::string_view kSqsAccount = "000000000000";

struct SqsQueue {
  std::string name;
  std::string store;                      // Its name in our store.
  json attributes = json::value_t::null;  // Name to text, as SetQueueAttributes has them.
  int64_t created_ms = 0;
  int64_t changed_ms = 0;
  int64_t born_ms = 0;   // Messages sent before are gone: those of a queue deleted or purged.
  uint64_t version = 0;  // Of its row; 0: there is none.

  int64_t number(std::string_view attribute, int64_t otherwise) const;
};

SqsQueue queue_of(std::string name, const Row& row);
Put put_of(const SqsQueue& queue);  // With its version.

// Replies with an error of SQS.
void sqs_fail(Call& call, std::string_view type, std::string_view message);
void sqs_fail(Call& call, const Error& error);

// The answer as what was asked for; else the error has been replied.
template <typename T>
T* sqs_expect(Call& call, Answer& answer) {
  if (auto* error = std::get_if<Error>(&answer)) {
    sqs_fail(call, *error);
    return nullptr;
  }
  return std::get_if<T>(&answer);
}

// Goes on with the queue that QueueUrl names; replies itself if there is none.
void with_queue(Call& call, const json& in, std::function<void(const SqsQueue&)> then);

int64_t millis(WallTime time);

// Message ids are UUIDs with the time in front: version 7, or 8 if the body is an envelope
// {"b": body, "a": attributes}.
std::string make_message_id(int64_t sent_ms, bool envelope);
std::optional<int64_t> sent_ms_of(std::string_view id);
bool is_envelope(std::string_view id);

// As SQS computes it over message attributes.
std::string md5_of_attributes(const json& attributes);

std::string to_receipt(const Lease& lease);
std::optional<Lease> from_receipt(std::string_view handle);

// Operations on messages, in sqs_messages.cc. True if there is one of that name.
bool serve_sqs_messages(Call& call, std::string_view operation, const json& in);

}  // namespace dunlin::aws
