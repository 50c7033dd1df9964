// SQS over our queues: what its operations share. A queue of SQS is a row of the table aws.sqs and
// a queue of the store; a message keeps its body as it is unless it has attributes.
//
// There is one set of operations, in terms of SQS's JSON protocol. The Query protocol of older
// clients is translated to it and back (sqs_query.h), by SqsCall and nobody else.
//
// Functions that take an SqsCall run in the door's thread, may go on in a later turn of the loop
// (call.h), and answer themselves if something is wrong. The others are pure; only
// make_message_id() takes random numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aws_protocol/json.h"
#include "doors/aws/call/call.h"
#include "doors/aws/call/query_error.h"

namespace dunlin::aws {

inline constexpr std::string_view kSqsTable = "aws.sqs";
inline constexpr std::string_view kSqsAccount = "000000000000";
inline constexpr int64_t kVisibilityMaxS = 43'200;
inline constexpr int64_t kDelayMaxS = 900;
inline constexpr int kTriesMax = 20;      // Of a change to a row that others change meanwhile.
inline constexpr size_t kShownMax = 100;  // Bytes of a client's word in an error.

SqsError sqs_error(const Error& error);

class SqsCall;

// Takes a call whose signature was checked and replies to it, at once or in a later turn of the
// loop.
void serve_sqs(Call& call, std::string_view operation, const json& in);
void serve_sqs_query(Call& call, std::string_view body);  // Its operation is a parameter.

// What an operation does, so that its caller may or may not; sums of these.
enum SqsRight : unsigned { kLook = 1, kChange = 2, kTake = 4 };

struct SqsOperation {
  std::string_view name;
  void (*serve)(SqsCall&, const json&);
  unsigned rights = kLook;
  bool has_result = true;  // Else the Query protocol has no element for it.
};
std::span<const SqsOperation> sqs_queue_operations();
std::span<const SqsOperation> sqs_tag_operations();
std::span<const SqsOperation> sqs_send_operations();
std::span<const SqsOperation> sqs_receive_operations();

// A call as SQS's operations see it. Its answer is JSON, and goes out in the client's protocol.
class SqsCall final : public CallState {
 public:
  // `version`: of the Query protocol; empty for the JSON protocol.
  SqsCall(Call& call, const SqsOperation& operation, std::string version)
      : call_(call), operation_(operation), version_(std::move(version)) {}

  void answer(const json& out);
  void fail(const SqsError& error);
  void fail(std::string_view type, std::string_view message);

  // The answer as what was asked for; else the error has gone out.
  template <typename T>
  T* expect(Answer& answer) {
    if (auto* error = std::get_if<Error>(&answer)) {
      fail(sqs_error(*error));
      return nullptr;
    }
    return std::get_if<T>(&answer);
  }

  void ask(Request&& request, Call::Then then) { call_.ask(std::move(request), std::move(then)); }
  void note_later(int64_t due_ms) { call_.note_later(due_ms); }
  void must_end() { call_.must_end(); }
  int64_t now_ms() const { return call_.wall().time_since_epoch().count(); }
  std::string url_of(std::string_view queue) const;
  std::string arn_of(std::string_view queue) const;

  // What an operation remembers between its steps; one for each call.
  template <typename State>
  State& keep(std::unique_ptr<State> kept) {
    State& made = *kept;
    state_ = std::move(kept);
    return made;
  }

 private:
  Call& call_;
  const SqsOperation& operation_;
  const std::string version_;
  std::unique_ptr<CallState> state_;
};

struct SqsQueue {
  std::string name;
  std::string store;                      // Its name in our store.
  json attributes = json::value_t::null;  // Name to text, as SetQueueAttributes has them.
  json tags = json::value_t::null;        // Name to text.
  int64_t created_ms = 0;
  int64_t changed_ms = 0;
  int64_t born_ms = 0;  // Messages sent before are gone: those of a queue deleted or purged.

  // How many of those were held when they went. They leave the store when they come back or are
  // deleted, at the latest at that time, and until then nobody should count them.
  uint64_t ghosts = 0;
  int64_t ghosts_until_ms = 0;

  uint64_t version = 0;  // Of its row; 0: there is none.

  int64_t number(std::string_view attribute, int64_t otherwise) const;
  bool is_ghost(std::string_view message_id) const;
  void bury(const Depth& depth, int64_t now_ms);  // All messages up to now are gone.
};

SqsQueue queue_of(std::string name, const Row& row);
Put put_of(const SqsQueue& queue);  // With its version.
std::string queue_name_in(const json& in);
bool is_queue_name(std::string_view name);

std::optional<SqsError> check_tags(const json& tags);  // What is wrong with them.

// Goes on with the queue that QueueUrl names; answers itself if there is none.
void with_queue(SqsCall& call, const json& in, std::function<void(const SqsQueue&)> then);

// A number of `in`, or `otherwise` if it is not there: then nothing means that it must be. The
// error names the parameter and its limits.
Result<int64_t> number_in(const json& in, std::string_view name, int64_t least, int64_t most,
                          std::optional<int64_t> otherwise);

// The texts in a list of `in`.
std::set<std::string> names_in(const json& in, std::string_view list);

// The entries of a batch; null if it has answered that they are wrong.
const json* entries_of(SqsCall& call, const json& in);
json failed_entry(const std::string& id, const SqsError& error);

// Message ids are UUIDs with the time in front: version 7, or 8 if the body is an envelope
// {"b": body, "a": attributes, "s": system attributes}.
std::string make_message_id(int64_t sent_ms, bool envelope);
std::optional<int64_t> sent_ms_of(std::string_view id);
bool is_envelope(std::string_view id);

// As SQS computes it over message attributes.
std::string md5_of_attributes(const json& attributes);

std::string to_receipt(const Lease& lease);
std::optional<Lease> from_receipt(std::string_view handle);

}  // namespace dunlin::aws
