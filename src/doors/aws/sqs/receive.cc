// SQS's operations that receive messages, and what their holders may do.
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/digest.h"
#include "doors/aws/sqs/sqs.h"

namespace dunlin::aws {
namespace {

constexpr int64_t kReceiveMax = 10;
constexpr int64_t kWaitMaxS = 20;
constexpr std::string_view kFirstReceive = "ApproximateFirstReceiveTimestamp";
constexpr std::string_view kFirstNote = "sqs.first=";  // The note on a message; then milliseconds.

// --- Messages of before a purge ---

using Finished = std::function<void(Answer&&)>;

// Removes such messages and counts them off; on a conflict that is the row's it tries again.
void finish_ghosts(SqsCall& call, const SqsQueue& queue, std::vector<Lease> leases, int tries,
                   Finished then) {
  Commit plain{0, {Finish{queue.store, leases}}};
  if (queue.ghosts == 0 || tries == 0) return call.ask(std::move(plain), std::move(then));
  SqsQueue less = queue;
  less.ghosts -= std::min<uint64_t>(less.ghosts, leases.size());
  call.ask(Commit{0, {Finish{queue.store, leases, true}, put_of(less)}},
           [&call, queue, leases, tries, then = std::move(then)](Answer&& done) mutable {
             const auto* error = std::get_if<Error>(&done);
             if (!error || error->code != Code::conflict) return then(std::move(done));
             call.ask(Get{std::string(kSqsTable), {queue.name}},
                      [&call, queue, leases, tries, then = std::move(then)](Answer&& got) mutable {
                        const auto* rows = std::get_if<Rows>(&got);
                        if (!rows) return then(std::move(got));
                        const SqsQueue now = queue_of(queue.name, rows->rows.at(0));
                        // Else it is the lease that is not held any more.
                        const bool changed = now.version != queue.version && now.version != 0;
                        finish_ghosts(call, changed ? now : queue, std::move(leases),
                                      changed ? tries - 1 : 0, std::move(then));
                      });
           });
}

// --- Receiving ---

struct Receive {
  SqsQueue queue;
  size_t max = 1;
  Millis hold = Millis(0);
  Millis wait = Millis(0);
  std::set<std::string> attributes;          // "All" for all.
  std::set<std::string> message_attributes;  // "All", ".*", "prefix.*" or a name.
};

bool wants(const std::set<std::string>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const std::string& wanted) {
    return wanted == "All" || wanted == name ||
           (wanted.ends_with(".*") && name.starts_with(wanted.substr(0, wanted.size() - 2)));
  });
}

json system_attributes_of(const Receive& receive, const Delivery& delivery, const json& envelope,
                          int64_t now_ms) {
  json system = {{"ApproximateReceiveCount", std::to_string(delivery.attempt)},
                 {"SenderId", "dunlin"}};
  if (const auto sent = sent_ms_of(delivery.lease.id)) {
    system["SentTimestamp"] = std::to_string(*sent);
  }
  const std::string_view note = delivery.note;
  system[std::string(kFirstReceive)] = note.starts_with(kFirstNote)
                                           ? std::string(note.substr(kFirstNote.size()))
                                           : std::to_string(now_ms);
  const json kept = object_or_empty(envelope, "s");
  for (const auto& [name, value] : kept.items()) {
    system[name] = text_or(value, "StringValue", "");
  }
  for (auto item = system.begin(); item != system.end();) {
    item = wants(receive.attributes, item.key()) ? std::next(item) : system.erase(item);
  }
  return system;
}

json message_of(const Receive& receive, Delivery&& delivery, int64_t now_ms) {
  const std::string& id = delivery.lease.id;
  std::string body = std::move(delivery.body);
  json envelope = json::object();
  if (is_envelope(id)) {
    envelope = parse_object(body).value_or(json::object());
    body = text_or(envelope, "b", "");
  }
  json out = {{"MessageId", id},
              {"ReceiptHandle", to_receipt(delivery.lease)},
              {"MD5OfBody", hex(md5(body))},
              {"Body", body}};
  json shown = json::object();
  const json attributes = object_or_empty(envelope, "a");
  for (const auto& [name, value] : attributes.items()) {
    if (wants(receive.message_attributes, name)) shown[name] = value;
  }
  if (!shown.empty()) {
    out["MD5OfMessageAttributes"] = md5_of_attributes(shown);
    out["MessageAttributes"] = shown;
  }
  const json system = system_attributes_of(receive, delivery, envelope, now_ms);
  if (!system.empty()) out["Attributes"] = system;
  return out;
}

// Notes on messages that were not received before when that was, for those who want to know.
std::vector<Write> first_notes(const Receive& receive, const std::vector<Delivery>& deliveries,
                               int64_t now_ms) {
  std::vector<Write> notes;
  if (!wants(receive.attributes, kFirstReceive)) return notes;
  for (const Delivery& delivery : deliveries) {
    if (!delivery.note.empty()) continue;
    notes.emplace_back(Keep{receive.queue.store, delivery.lease, 0,
                            fmt::format("{}{}", kFirstNote, now_ms), receive.hold});
  }
  return notes;
}

void hand_out(SqsCall& call, const Receive& receive, std::vector<Delivery> deliveries) {
  const int64_t now_ms = call.now_ms();
  std::vector<Write> notes = first_notes(receive, deliveries, now_ms);
  json messages = json::array();
  for (Delivery& delivery : deliveries) {
    messages.push_back(message_of(receive, std::move(delivery), now_ms));
  }
  const json out = messages.empty() ? json::object() : json{{"Messages", std::move(messages)}};
  if (notes.empty()) return call.answer(out);
  // The messages are handed out by now, whatever comes of the notes.
  call.ask(Commit{0, std::move(notes)}, [&call, out](Answer&& /*done*/) { call.answer(out); });
}

void pull_some(SqsCall& call, const Receive& receive) {
  call.ask(Pull{receive.queue.store, receive.max, receive.hold, receive.wait},
           [&call, receive](Answer&& answer) {
             auto* pulled = call.expect<Deliveries>(answer);
             if (!pulled) return;
             std::vector<Delivery> good;
             std::vector<Lease> ghosts;
             for (Delivery& delivery : pulled->deliveries) {
               if (receive.queue.is_ghost(delivery.lease.id)) {
                 ghosts.push_back(std::move(delivery.lease));
               } else {
                 good.push_back(std::move(delivery));
               }
             }
             if (ghosts.empty()) return hand_out(call, receive, std::move(good));
             finish_ghosts(call, receive.queue, std::move(ghosts), kTriesMax,
                           [&call, receive, good = std::move(good)](Answer&& /*done*/) mutable {
                             if (good.empty()) return pull_some(call, receive);
                             hand_out(call, receive, std::move(good));
                           });
           });
}

Result<Receive> receive_of(const SqsQueue& queue, const json& in) {
  const int64_t max = TRY(number_in(in, "MaxNumberOfMessages", 1, kReceiveMax, 1));
  const int64_t hold_s = TRY(number_in(in, "VisibilityTimeout", 0, kVisibilityMaxS,
                                       queue.number("VisibilityTimeout", 30)));
  const int64_t wait_s = TRY(number_in(in, "WaitTimeSeconds", 0, kWaitMaxS,
                                       queue.number("ReceiveMessageWaitTimeSeconds", 0)));
  Receive receive = {queue,
                     static_cast<size_t>(max),
                     std::max(Millis(1), Millis(hold_s * 1000)),
                     Millis(wait_s * 1000),
                     names_in(in, "AttributeNames"),
                     names_in(in, "MessageAttributeNames")};
  receive.attributes.merge(names_in(in, "MessageSystemAttributeNames"));
  return receive;
}

void receive_messages(SqsCall& call, const json& in) {
  with_queue(call, in, [&call, in](const SqsQueue& queue) {
    const Result<Receive> receive = receive_of(queue, in);
    if (!receive.ok()) return call.fail(sqs_error(receive.error()));
    pull_some(call, receive.value());
  });
}

// --- What the holder of a message may do ---

using Done = std::function<void(const std::optional<SqsError>&)>;
using Act = void (*)(SqsCall&, const SqsQueue&, const Lease&, const json& entry, const Done&);

// SQS says that the deletion of a message that is another's by now was fine, and so do we.
void delete_message(SqsCall& call, const SqsQueue& queue, const Lease& lease, const json& /*entry*/,
                    const Done& done) {
  const auto judge = [done](Answer&& answer) {
    const auto* error = std::get_if<Error>(&answer);
    const bool gone = error && (error->code == Code::conflict || error->code == Code::not_found);
    done(error && !gone ? std::optional(sqs_error(*error)) : std::nullopt);
  };
  if (queue.is_ghost(lease.id)) return finish_ghosts(call, queue, {lease}, kTriesMax, judge);
  call.ask(Commit{0, {Finish{queue.store, {lease}}}}, judge);
}

void change_visibility(SqsCall& call, const SqsQueue& queue, const Lease& lease, const json& entry,
                       const Done& done) {
  const Result<int64_t> hold_s =
      number_in(entry, "VisibilityTimeout", 0, kVisibilityMaxS, std::nullopt);
  if (!hold_s.ok()) return done(sqs_error(hold_s.error()));
  const SqsError lost = {"MessageNotInflight",
                         "the message is not held under this receipt any more"};
  if (queue.is_ghost(lease.id)) return done(lost);
  call.ask(Renew{queue.store, {lease}, Millis(hold_s.value() * 1000)},
           [done, lost](Answer&& answer) {
             if (const auto* error = std::get_if<Error>(&answer)) return done(sqs_error(*error));
             const auto* leases = std::get_if<Lost>(&answer);
             done(leases && !leases->leases.empty() ? std::optional(lost) : std::nullopt);
           });
}

const SqsError& bad_receipt() {
  static const SqsError error = {"ReceiptHandleIsInvalid", "the receipt handle is not one of ours"};
  return error;
}

template <Act act>
void act_on_one(SqsCall& call, const json& in) {
  with_queue(call, in, [&call, in](const SqsQueue& queue) {
    const std::optional<Lease> lease = from_receipt(text_or(in, "ReceiptHandle", ""));
    if (!lease) return call.fail(bad_receipt());
    act(call, queue, *lease, in, [&call](const std::optional<SqsError>& error) {
      error ? call.fail(*error) : call.answer(json::object());
    });
  });
}

struct BatchState final : CallState {
  size_t left = 0;
  json good = json::array();
  json bad = json::array();
};

template <Act act>
void act_on_batch(SqsCall& call, const json& in) {
  const json* entries = entries_of(call, in);
  if (!entries) return;
  with_queue(call, in, [&call, entries = *entries](const SqsQueue& queue) {
    BatchState& state = call.keep(std::make_unique<BatchState>());
    state.left = entries.size();
    const auto note = [&call, &state](const std::string& id, const std::optional<SqsError>& error) {
      error ? state.bad.push_back(failed_entry(id, *error)) : state.good.push_back({{"Id", id}});
      if (--state.left > 0) return;
      call.answer({{"Successful", state.good}, {"Failed", state.bad}});
    };
    for (const json& entry : entries) {
      const std::string id = text_or(entry, "Id", "");
      const std::optional<Lease> lease = from_receipt(text_or(entry, "ReceiptHandle", ""));
      if (!lease) {
        note(id, bad_receipt());
        continue;
      }
      act(call, queue, *lease, entry,
          [note, id](const std::optional<SqsError>& error) { note(id, error); });
    }
  });
}

}  // namespace

std::span<const SqsOperation> sqs_receive_operations() {
  constexpr unsigned kRights = kLook | kTake;
  static constexpr std::array<SqsOperation, 5> kOperations = {{
      {"ReceiveMessage", receive_messages, kRights},
      {"DeleteMessage", act_on_one<delete_message>, kRights, false},
      {"DeleteMessageBatch", act_on_batch<delete_message>, kRights},
      {"ChangeMessageVisibility", act_on_one<change_visibility>, kRights, false},
      {"ChangeMessageVisibilityBatch", act_on_batch<change_visibility>, kRights},
  }};
  return kOperations;
}

}  // namespace dunlin::aws
