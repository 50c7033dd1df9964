// SQS's operations that send messages.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "doors/aws/call/decimal.h"
#include "doors/aws/call/later.h"
#include "doors/aws/sqs/sqs.h"

namespace dunlin::aws {
namespace {

constexpr size_t kAttributesMax = 10;
constexpr size_t kAttributeNameMax = 256;
constexpr size_t kBatchMaxBytes = 1 << 20;  // SQS's own limit.

// A message to be sent, or why it cannot be.
struct Outgoing {
  std::string entry;  // Its id in a batch.
  Message message;
  int64_t due_ms = 0;  // 0: at once.
  json reply = json::value_t::null;
  std::optional<SqsError> refused;
};

// What XML can hold, as SQS has it.
bool has_only_characters(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') return false;
    if (text.substr(i, 3) == "\xEF\xBF\xBE" || text.substr(i, 3) == "\xEF\xBF\xBF") return false;
  }
  return true;
}

SqsError bad_characters(std::string_view what) {
  return {
      "InvalidMessageContents",
      fmt::format("{} has a control character, or U+FFFE or U+FFFF: send bytes as base64", what)};
}

// In upper or lower case.
bool begins_with_word(std::string_view name, std::string_view word) {
  return std::ranges::equal(name.substr(0, word.size()), word, {}, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

bool is_attribute_name(std::string_view name) {
  return !name.empty() && name.size() <= kAttributeNameMax && !begins_with_word(name, "aws.") &&
         !begins_with_word(name, "amazon.") && !name.starts_with('.') && !name.ends_with('.') &&
         name.find("..") == std::string_view::npos && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

std::optional<SqsError> check_attribute(const std::string& name, const json& value) {
  const std::string shown = escape(name.substr(0, kAttributeNameMax));
  if (!is_attribute_name(name)) {
    return SqsError{
        "InvalidParameterValue",
        fmt::format("the message attribute '{}': a name has 1 to {} of A-Z a-z 0-9 - _ "
                    "and ., which stands neither at an end nor beside another, and does "
                    "not begin with AWS. or Amazon.",
                    shown, kAttributeNameMax)};
  }
  const std::string type = text_or(value, "DataType", "");
  const bool binary = type.starts_with("Binary");
  const std::string* text = text_member(value, binary ? "BinaryValue" : "StringValue");
  if (!text || (binary && !from_base64(*text)) ||
      (!binary && !type.starts_with("String") && !type.starts_with("Number"))) {
    return SqsError{"InvalidParameterValue",
                    fmt::format("the message attribute '{}' needs a DataType of String, Number or "
                                "Binary and the value for it",
                                shown)};
  }
  if (text->empty()) {
    return SqsError{"InvalidParameterValue",
                    fmt::format("the message attribute '{}' must not be empty", shown)};
  }
  if (type.starts_with("Number") && !parse_decimal(*text)) {
    return SqsError{"InvalidParameterValue",
                    fmt::format("the message attribute '{}' is a Number, and its value is none of "
                                "at most 38 digits",
                                shown)};
  }
  if (!has_only_characters(*text) || !has_only_characters(type)) {
    return bad_characters(fmt::format("the message attribute '{}'", shown));
  }
  return std::nullopt;
}

std::optional<SqsError> check_message_attributes(const json& attributes, const json& system) {
  if (attributes.size() > kAttributesMax) {
    return SqsError{"InvalidParameterValue", "a message has at most 10 attributes"};
  }
  for (const auto& [name, value] : attributes.items()) {
    if (auto error = check_attribute(name, value)) return error;
  }
  for (const auto& [name, value] : system.items()) {
    if (name != "AWSTraceHeader" || text_or(value, "DataType", "") != "String") {
      return SqsError{"InvalidParameterValue",
                      fmt::format("the message system attribute '{}': there is AWSTraceHeader, a "
                                  "String",
                                  escape(name.substr(0, kShownMax)))};
    }
    if (auto error = check_attribute(name, value)) return error;
  }
  return std::nullopt;
}

std::optional<SqsError> check_body(const std::string* body) {
  if (!body || body->empty()) {
    return SqsError{"MissingParameter", "a message needs a MessageBody"};
  }
  if (!has_only_characters(*body)) return bad_characters("the MessageBody");
  return std::nullopt;
}

Outgoing outgoing_of(const SqsQueue& queue, const json& entry, int64_t now_ms) {
  Outgoing out;
  out.entry = text_or(entry, "Id", "");
  const std::string* body = text_member(entry, "MessageBody");
  const json attributes = object_or_empty(entry, "MessageAttributes");
  const json system = object_or_empty(entry, "MessageSystemAttributes");
  const Result<int64_t> delay_s =
      number_in(entry, "DelaySeconds", 0, kDelayMaxS, queue.number("DelaySeconds", 0));
  out.refused = check_body(body);
  if (!out.refused) out.refused = check_message_attributes(attributes, system);
  if (!out.refused && !delay_s.ok()) out.refused = sqs_error(delay_s.error());
  if (out.refused) return out;
  if (delay_s.value() > 0) out.due_ms = now_ms + delay_s.value() * 1000;
  json envelope = {{"b", *body}};
  if (!attributes.empty()) envelope["a"] = attributes;
  if (!system.empty()) envelope["s"] = system;
  const bool plain = envelope.size() == 1;
  out.message.id = make_message_id(std::max(now_ms, queue.born_ms), !plain);
  out.message.body = plain ? *body : dump(envelope);
  const auto max = static_cast<size_t>(queue.number("MaximumMessageSize", kValueMax));
  if (out.message.body.size() > std::min(max, kValueMax)) {
    out.refused = {"InvalidParameterValue",
                   fmt::format("the message has {} bytes: the limit is {}, put it in S3",
                               out.message.body.size(), std::min(max, kValueMax))};
  }
  out.reply = {{"MessageId", out.message.id}, {"MD5OfMessageBody", hex(md5(*body))}};
  if (!attributes.empty()) out.reply["MD5OfMessageAttributes"] = md5_of_attributes(attributes);
  if (!system.empty()) out.reply["MD5OfMessageSystemAttributes"] = md5_of_attributes(system);
  return out;
}

Write write_of(const SqsQueue& queue, Outgoing& out) {
  if (out.due_ms > 0) return put_later(queue.store, out.message, out.due_ms);
  return Push{queue.store, {std::move(out.message)}};
}

// Commits the writes and answers; `due_ms` is when the first of them is due, 0 if at once.
void commit_sends(SqsCall& call, std::vector<Write> writes, int64_t due_ms, const json& reply) {
  call.ask(Commit{0, std::move(writes)}, [&call, due_ms, reply](Answer&& answer) {
    if (!call.expect<Committed>(answer)) return;
    if (due_ms > 0) call.note_later(due_ms);
    call.answer(reply);
  });
}

void send(SqsCall& call, const json& in) {
  with_queue(call, in, [&call, in](const SqsQueue& queue) {
    Outgoing out = outgoing_of(queue, in, call.now_ms());
    if (out.refused) return call.fail(*out.refused);
    commit_sends(call, {write_of(queue, out)}, out.due_ms, out.reply);
  });
}

void send_batch(SqsCall& call, const json& in) {
  const json* entries = entries_of(call, in);
  if (!entries) return;
  with_queue(call, in, [&call, entries = *entries](const SqsQueue& queue) {
    json good = json::array();
    json bad = json::array();
    std::vector<Write> writes;
    int64_t due_ms = 0;
    size_t bytes = 0;
    for (const json& entry : entries) {
      Outgoing out = outgoing_of(queue, entry, call.now_ms());
      if (out.refused) {
        bad.push_back(failed_entry(out.entry, *out.refused));
        continue;
      }
      bytes += out.message.body.size();
      out.reply["Id"] = out.entry;
      good.push_back(std::move(out.reply));
      if (out.due_ms > 0) due_ms = due_ms > 0 ? std::min(due_ms, out.due_ms) : out.due_ms;
      writes.push_back(write_of(queue, out));
    }
    if (bytes > kBatchMaxBytes) {
      return call.fail("BatchRequestTooLong", fmt::format("the batch has {} bytes: the limit is {}",
                                                          bytes, kBatchMaxBytes));
    }
    const json reply = {{"Successful", good}, {"Failed", bad}};
    if (writes.empty()) return call.answer(reply);
    commit_sends(call, std::move(writes), due_ms, reply);
  });
}

}  // namespace

std::span<const SqsOperation> sqs_send_operations() {
  static constexpr std::array<SqsOperation, 2> kOperations = {
      {{"SendMessage", send, kLook | kChange}, {"SendMessageBatch", send_batch, kLook | kChange}}};
  return kOperations;
}

}  // namespace dunlin::aws
