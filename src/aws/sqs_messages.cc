// SQS's operations on messages: send, receive, delete, change the visibility.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

#include "aws/later.h"
#include "aws/sqs.h"
#include "base/digest.h"

namespace dunlin::aws {
namespace {

constexpr size_t kEntriesMax = 10;
constexpr size_t kAttributesMax = 10;

struct Refused {
  std::string code;
  std::string message;
};

// A message to be sent, or why it cannot be.
struct Outgoing {
  std::string entry;  // Its id in a batch.
  Message message;
  int64_t due_ms = 0;  // 0: at once.
  json reply = json::value_t::null;
  std::optional<Refused> refused;
};

std::optional<Refused> check_message_attributes(const json& attributes) {
  if (!attributes.is_object() || attributes.size() > kAttributesMax) {
    return Refused{"InvalidParameterValue", "a message has at most 10 attributes"};
  }
  for (const auto& [name, value] : attributes.items()) {
    const std::string type = text_or(value, "DataType", "");
    const bool binary = type.starts_with("Binary");
    const std::string* text = text_member(value, binary ? "BinaryValue" : "StringValue");
    if (!text || (binary && !from_base64(*text)) ||
        (!binary && !type.starts_with("String") && !type.starts_with("Number"))) {
      return Refused{"InvalidParameterValue",
                     fmt::format("the message attribute '{}' needs a DataType of String, Number or "
                                 "Binary and the value for it",
                                 name)};
    }
  }
  return std::nullopt;
}

Outgoing outgoing_of(const SqsQueue& queue, const json& entry, int64_t now_ms) {
  Outgoing out;
  out.entry = text_or(entry, "Id", "");
  const std::string* body = text_member(entry, "MessageBody");
  const json attributes = object_or_empty(entry, "MessageAttributes");
  if (!body || body->empty()) {
    out.refused = {"MissingParameter", "a message needs a MessageBody"};
    return out;
  }
  const int64_t delay_s = number_or(entry, "DelaySeconds", queue.number("DelaySeconds", 0));
  if (delay_s < 0 || delay_s > 900) {
    out.refused = {"InvalidParameterValue", "DelaySeconds is 0 to 900"};
    return out;
  }
  if (delay_s > 0) out.due_ms = now_ms + delay_s * 1000;
  out.refused = check_message_attributes(attributes);
  if (out.refused) return out;
  out.message.id = make_message_id(std::max(now_ms, queue.born_ms), !attributes.empty());
  out.message.body = attributes.empty() ? *body : dump({{"b", *body}, {"a", attributes}});
  const auto max = static_cast<size_t>(queue.number("MaximumMessageSize", kValueMax));
  if (out.message.body.size() > std::min(max, kValueMax)) {
    out.refused = {"InvalidParameterValue",
                   fmt::format("the message has {} bytes: the limit is {}, put it in S3",
                               out.message.body.size(), std::min(max, kValueMax))};
  }
  out.reply = {{"MessageId", out.message.id}, {"MD5OfMessageBody", hex(md5(*body))}};
  if (!attributes.empty()) out.reply["MD5OfMessageAttributes"] = md5_of_attributes(attributes);
  return out;
}

Write write_of(const SqsQueue& queue, Outgoing& out) {
  if (out.due_ms > 0) return put_later(queue.store, out.message, out.due_ms);
  return Push{queue.store, {std::move(out.message)}};
}

// Commits the writes and replies; `due_ms` is when the first of them is due, 0 if at once.
void commit_sends(Call& call, std::vector<Write> writes, int64_t due_ms, const json& reply) {
  call.ask(Commit{0, std::move(writes)}, [&call, due_ms, reply](Answer&& answer) {
    if (!sqs_expect<Committed>(call, answer)) return;
    if (due_ms > 0) call.note_later(due_ms);
    call.reply(json_reply(200, reply));
  });
}

void send(Call& call, const json& in) {
  with_queue(call, in, [&call, in](const SqsQueue& queue) {
    Outgoing out = outgoing_of(queue, in, millis(call.wall()));
    if (out.refused) return sqs_fail(call, out.refused->code, out.refused->message);
    commit_sends(call, {write_of(queue, out)}, out.due_ms, out.reply);
  });
}

// The entries of a batch; null if it has replied that they are wrong.
const json* entries_of(Call& call, const json& in) {
  const json* entries = list_member(in, "Entries");
  if (!entries || entries->empty()) {
    sqs_fail(call, "EmptyBatchRequest", "a batch has 1 to 10 Entries");
    return nullptr;
  }
  if (entries->size() > kEntriesMax) {
    sqs_fail(call, "TooManyEntriesInBatchRequest",
             fmt::format("the batch has {} entries: the limit is 10", entries->size()));
    return nullptr;
  }
  std::set<std::string> ids;
  for (const json& entry : *entries) {
    const std::string* id = text_member(entry, "Id");
    if (!id || id->empty() || id->size() > 80) {
      sqs_fail(call, "InvalidBatchEntryId",
               "each entry of a batch has an Id of 1 to 80 characters");
      return nullptr;
    }
    if (ids.insert(*id).second) continue;
    sqs_fail(call, "BatchEntryIdsNotDistinct", fmt::format("the Id '{}' comes twice", *id));
    return nullptr;
  }
  return entries;
}

json failed_entry(const std::string& id, const Refused& refused) {
  return {{"Id", id}, {"SenderFault", true}, {"Code", refused.code}, {"Message", refused.message}};
}

void send_batch(Call& call, const json& in) {
  const json* entries = entries_of(call, in);
  if (!entries) return;
  with_queue(call, in, [&call, entries = *entries](const SqsQueue& queue) {
    json good = json::array();
    json bad = json::array();
    std::vector<Write> writes;
    int64_t due_ms = 0;
    size_t bytes = 0;
    for (const json& entry : entries) {
      Outgoing out = outgoing_of(queue, entry, millis(call.wall()));
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
    if (bytes > 4 * kValueMax) {
      return sqs_fail(call, "BatchRequestTooLong",
                      fmt::format("the batch has {} bytes: the limit is {}", bytes, 4 * kValueMax));
    }
    const json reply = {{"Successful", good}, {"Failed", bad}};
    if (writes.empty()) return call.reply(json_reply(200, reply));
    commit_sends(call, std::move(writes), due_ms, reply);
  });
}

// --- Receiving ---

struct Receive {
  std::string queue;
  int64_t born_ms = 0;
  size_t max = 1;
  Millis hold = Millis(0);
  Millis wait = Millis(0);
  std::set<std::string> attributes;          // "All" for all.
  std::set<std::string> message_attributes;  // "All", ".*", "prefix.*" or a name.
};

std::set<std::string> names_in(const json& in, std::string_view member_name) {
  std::set<std::string> names;
  if (const json* list = list_member(in, member_name)) {
    for (const json& item : *list) {
      if (const auto* name = item.get_ptr<const std::string*>()) names.insert(*name);
    }
  }
  return names;
}

bool wants(const std::set<std::string>& names, const std::string& name) {
  return std::ranges::any_of(names, [&](const std::string& wanted) {
    return wanted == "All" || wanted == name ||
           (wanted.ends_with(".*") && name.starts_with(wanted.substr(0, wanted.size() - 2)));
  });
}

json message_of(const Receive& receive, Delivery&& delivery) {
  const std::string& id = delivery.lease.id;
  std::string body = std::move(delivery.body);
  json attributes = json::object();
  if (is_envelope(id)) {
    const json envelope = parse_object(body).value_or(json::object());
    body = text_or(envelope, "b", "");
    attributes = object_or_empty(envelope, "a");
  }
  json out = {{"MessageId", id},
              {"ReceiptHandle", to_receipt(delivery.lease)},
              {"MD5OfBody", hex(md5(body))},
              {"Body", body}};
  json shown = json::object();
  for (const auto& [name, value] : attributes.items()) {
    if (wants(receive.message_attributes, name)) shown[name] = value;
  }
  if (!shown.empty()) {
    out["MD5OfMessageAttributes"] = md5_of_attributes(shown);
    out["MessageAttributes"] = shown;
  }
  json system = {{"ApproximateReceiveCount", std::to_string(delivery.attempt)},
                 {"SenderId", "dunlin"}};
  if (const auto sent = sent_ms_of(id)) system["SentTimestamp"] = std::to_string(*sent);
  for (auto item = system.begin(); item != system.end();) {
    item = wants(receive.attributes, item.key()) ? std::next(item) : system.erase(item);
  }
  if (!system.empty()) out["Attributes"] = system;
  return out;
}

void pull_some(Call& call, const Receive& receive) {
  call.ask(Pull{receive.queue, receive.max, receive.hold, receive.wait}, [&call, receive](
                                                                             Answer&& answer) {
    auto* pulled = sqs_expect<Deliveries>(call, answer);
    if (!pulled) return;
    json messages = json::array();
    Finish old{receive.queue, {}};
    for (Delivery& delivery : pulled->deliveries) {
      const std::optional<int64_t> sent = sent_ms_of(delivery.lease.id);
      if (sent && *sent < receive.born_ms) {
        old.leases.push_back(delivery.lease);
      } else {
        messages.push_back(message_of(receive, std::move(delivery)));
      }
    }
    const bool again = messages.empty() && !old.leases.empty();
    if (!old.leases.empty()) {
      call.ask(Commit{0, {std::move(old)}}, [](Answer&& /*done*/) {});
    }
    if (again) return pull_some(call, receive);
    call.reply(json_reply(200, messages.empty() ? json::object() : json{{"Messages", messages}}));
  });
}

void receive_messages(Call& call, const json& in) {
  with_queue(call, in, [&call, in](const SqsQueue& queue) {
    const int64_t max = number_or(in, "MaxNumberOfMessages", 1);
    const int64_t hold_s =
        number_or(in, "VisibilityTimeout", queue.number("VisibilityTimeout", 30));
    const int64_t wait_s =
        number_or(in, "WaitTimeSeconds", queue.number("ReceiveMessageWaitTimeSeconds", 0));
    if (max < 1 || max > 10 || hold_s < 0 || hold_s > 43'200 || wait_s < 0 || wait_s > 20) {
      return sqs_fail(call, "InvalidParameterValue",
                      "MaxNumberOfMessages is 1 to 10, VisibilityTimeout 0 to 43200 and "
                      "WaitTimeSeconds 0 to 20");
    }
    Receive receive = {queue.store,
                       queue.born_ms,
                       static_cast<size_t>(max),
                       std::max(Millis(1), Millis(hold_s * 1000)),
                       Millis(wait_s * 1000),
                       names_in(in, "AttributeNames"),
                       names_in(in, "MessageAttributeNames")};
    receive.attributes.merge(names_in(in, "MessageSystemAttributeNames"));
    pull_some(call, receive);
  });
}

// --- What the holder of a message may do ---

// What one entry of a batch does; the refusal if it cannot.
using Act = std::function<void(const Lease&, const json&, Call::Then)>;
using Judge = std::function<std::optional<Refused>(const Answer&)>;

std::optional<Refused> of_error(const Answer& answer) {
  if (const auto* error = std::get_if<Error>(&answer)) {
    return Refused{error->code == Code::denied ? "AccessDeniedException" : "InternalFailure",
                   error->what};
  }
  return std::nullopt;
}

// SQS says that the deletion of a message that is another's by now was fine, and so do we.
std::optional<Refused> judge_delete(const Answer& answer) {
  const auto* error = std::get_if<Error>(&answer);
  if (error && (error->code == Code::conflict || error->code == Code::not_found)) {
    return std::nullopt;
  }
  return of_error(answer);
}

std::optional<Refused> judge_change(const Answer& answer) {
  const auto* lost = std::get_if<Lost>(&answer);
  if (!lost || lost->leases.empty()) return of_error(answer);
  return Refused{"MessageNotInflight", "the message is not held under this receipt any more"};
}

Act act_delete(Call& call, const std::string& queue) {
  return [&call, queue](const Lease& lease, const json& /*entry*/, Call::Then then) {
    call.ask(Commit{0, {Finish{queue, {lease}}}}, std::move(then));
  };
}

Act act_change(Call& call, const std::string& queue) {
  return [&call, queue](const Lease& lease, const json& entry, Call::Then then) {
    const Millis hold(std::clamp<int64_t>(number_or(entry, "VisibilityTimeout", 30), 0, 43'200) *
                      1000);
    call.ask(Renew{queue, {lease}, hold}, std::move(then));
  };
}

const Refused kBadReceipt = {"ReceiptHandleIsInvalid", "the receipt handle is not one of ours"};

using MakeAct = Act (*)(Call&, const std::string&);
using JudgeBy = std::optional<Refused> (*)(const Answer&);

template <MakeAct make, JudgeBy judge>
void act_on_one(Call& call, const json& in) {
  with_queue(call, in, [&call, in](const SqsQueue& queue) {
    const std::optional<Lease> lease = from_receipt(text_or(in, "ReceiptHandle", ""));
    if (!lease) return sqs_fail(call, kBadReceipt.code, kBadReceipt.message);
    make(call, queue.store)(*lease, in, [&call](Answer&& answer) {
      const std::optional<Refused> refused = judge(answer);
      if (refused && refused->code != "MessageNotInflight") {
        return sqs_fail(call, std::get<Error>(answer));
      }
      if (refused) return sqs_fail(call, refused->code, refused->message);
      call.reply(json_reply(200, json::object()));
    });
  });
}

struct BatchState final : CallState {
  size_t left = 0;
  json good = json::array();
  json bad = json::array();
};

template <MakeAct make, JudgeBy judge>
void act_on_batch(Call& call, const json& in) {
  const json* entries = entries_of(call, in);
  if (!entries) return;
  with_queue(call, in, [&call, entries = *entries](const SqsQueue& queue) {
    BatchState& state = call.keep(std::make_unique<BatchState>());
    state.left = entries.size();
    const auto note = [&call, &state](const std::string& id, std::optional<Refused> refused) {
      refused ? state.bad.push_back(failed_entry(id, *refused))
              : state.good.push_back({{"Id", id}});
      if (--state.left > 0) return;
      call.reply(json_reply(200, {{"Successful", state.good}, {"Failed", state.bad}}));
    };
    for (const json& entry : entries) {
      const std::string id = text_or(entry, "Id", "");
      const std::optional<Lease> lease = from_receipt(text_or(entry, "ReceiptHandle", ""));
      if (!lease) {
        note(id, kBadReceipt);
        continue;
      }
      make(call, queue.store)(*lease, entry,
                              [note, id](Answer&& answer) { note(id, judge(answer)); });
    }
  });
}

}  // namespace

bool serve_sqs_messages(Call& call, std::string_view operation, const json& in) {
  struct Operation {
    std::string_view name;
    void (*serve)(Call&, const json&);
  };
  static constexpr std::array<Operation, 7> kOperations = {{
      {"SendMessage", send},
      {"SendMessageBatch", send_batch},
      {"ReceiveMessage", receive_messages},
      {"DeleteMessage", act_on_one<act_delete, judge_delete>},
      {"DeleteMessageBatch", act_on_batch<act_delete, judge_delete>},
      {"ChangeMessageVisibility", act_on_one<act_change, judge_change>},
      {"ChangeMessageVisibilityBatch", act_on_batch<act_change, judge_change>},
  }};
  const auto* found = std::ranges::find(kOperations, operation, &Operation::name);
  if (found == kOperations.end()) return false;
  found->serve(call, in);
  return true;
}

}  // namespace dunlin::aws
