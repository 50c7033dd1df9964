// SQS's operations on queues: make, list, describe, purge, delete.
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/text.h"
#include "doors/aws/call/later.h"
#include "doors/aws/sqs/sqs.h"

namespace dunlin::aws {
namespace {

constexpr size_t kDrainBatch = 1000;
constexpr Millis kDrainHold = Millis(60'000);
constexpr int64_t kListMax = 1000;

struct Attribute {
  std::string_view name;
  int64_t least;
  int64_t most;
  std::string_view otherwise;
};
constexpr std::array<Attribute, 5> kAttributes = {{
    {"DelaySeconds", 0, kDelayMaxS, "0"},
    {"MaximumMessageSize", 1024, 262'144, "262144"},
    {"MessageRetentionPeriod", 60, 1'209'600, "345600"},
    {"ReceiveMessageWaitTimeSeconds", 0, 20, "0"},
    {"VisibilityTimeout", 0, kVisibilityMaxS, "30"},
}};

// What SQS has and this hub has not; of a queue without it SQS tells nothing.
constexpr std::array<std::string_view, 5> kUnset = {"KmsDataKeyReusePeriodSeconds",
                                                    "KmsMasterKeyId", "Policy",
                                                    "RedriveAllowPolicy", "RedrivePolicy"};

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

// False if it has answered that they are wrong.
bool check_attributes(SqsCall& call, const json& in) {
  const json* given = object_member(in, "Attributes");
  if (!given) return true;
  for (const auto& [name, value] : given->items()) {
    const auto* known = std::ranges::find(kAttributes, name, &Attribute::name);
    if (known == kAttributes.end()) {
      call.fail("InvalidAttributeName",
                fmt::format("the attribute '{}' is not supported: this hub has DelaySeconds, "
                            "MaximumMessageSize, MessageRetentionPeriod, "
                            "ReceiveMessageWaitTimeSeconds and VisibilityTimeout",
                            escape(name.substr(0, kShownMax))));
      return false;
    }
    const std::string* text = value.get_ptr<const std::string*>();
    const std::optional<int64_t> number = text ? parse_int(*text) : std::nullopt;
    if (!number || *number < known->least || *number > known->most) {
      call.fail("InvalidAttributeValue", fmt::format("{} is a text with a number from {} to {}",
                                                     name, known->least, known->most));
      return false;
    }
  }
  return true;
}

void answer_url(SqsCall& call, std::string_view name) {
  call.answer({{"QueueUrl", call.url_of(name)}});
}

void create_queue(SqsCall& call, const std::string& name, const json& in, int tries);

// The queue is new, but another one of its name may have left messages that are still held.
void begin_queue(SqsCall& call, SqsQueue queue, const json& in, int tries) {
  AskDepth ask_depth{queue.store};
  call.ask(
      std::move(ask_depth), [&call, queue = std::move(queue), in, tries](Answer&& answer) mutable {
        const auto* depth = call.expect<Depth>(answer);
        if (!depth) return;
        queue.attributes = object_or_empty(in, "Attributes");
        queue.tags = object_or_empty(in, "tags");
        queue.created_ms = queue.changed_ms = call.now_ms();
        queue.bury(*depth, call.now_ms() - 1);
        call.ask(Commit{0, {put_of(queue)}}, [&call, name = queue.name, in, tries](Answer&& put) {
          const auto* error = std::get_if<Error>(&put);
          if (error && error->code == Code::conflict && tries > 0) {
            return create_queue(call, name, in, tries - 1);
          }
          if (call.expect<Committed>(put)) answer_url(call, name);
        });
      });
}

void create_queue(SqsCall& call, const std::string& name, const json& in, int tries) {
  call.ask(Get{std::string(kSqsTable), {name}}, [&call, name, in, tries](Answer&& answer) {
    const auto* rows = call.expect<Rows>(answer);
    if (!rows) return;
    SqsQueue queue = queue_of(name, rows->rows.at(0));
    if (queue.version == 0) return begin_queue(call, std::move(queue), in, tries);
    const json wanted = object_or_empty(in, "Attributes");
    for (const auto& [attribute, value] : wanted.items()) {
      const auto* known = std::ranges::find(kAttributes, attribute, &Attribute::name);
      if (queue.attributes.value(attribute, json(known->otherwise)) == value) continue;
      return call.fail("QueueNameExists",
                       fmt::format("the queue {} exists with another {}", name, attribute));
    }
    answer_url(call, name);
  });
}

void create(SqsCall& call, const json& in) {
  const std::string name = text_or(in, "QueueName", "");
  if (name.ends_with(".fifo")) {
    return call.fail("UnsupportedOperation",
                     "fifo queues are not supported: use a standard queue, which is handed out in "
                     "order here");
  }
  if (!is_queue_name(name)) {
    return call.fail("InvalidParameterValue", "a queue name has 1 to 80 of A-Z a-z 0-9 - and _");
  }
  if (const std::optional<SqsError> wrong = check_tags(object_or_empty(in, "tags"))) {
    return call.fail(*wrong);
  }
  if (check_attributes(call, in)) create_queue(call, name, in, kTriesMax);
}

void get_url(SqsCall& call, const json& in) {
  json with_url = in;
  with_url["QueueUrl"] = text_or(in, "QueueName", "");
  with_queue(call, with_url, [&call](const SqsQueue& queue) { answer_url(call, queue.name); });
}

void list(SqsCall& call, const json& in) {
  const Result<int64_t> max = number_in(in, "MaxResults", 1, kListMax, kListMax);
  if (!max.ok()) return call.fail(sqs_error(max.error()));
  call.ask(Scan{std::string(kSqsTable), text_or(in, "QueueNamePrefix", ""),
                text_or(in, "NextToken", ""), static_cast<uint64_t>(max.value())},
           [&call, max = max.value()](Answer&& answer) {
             const auto* rows = call.expect<Rows>(answer);
             if (!rows) return;
             json urls = json::array();
             for (const Row& row : rows->rows) urls.push_back(call.url_of(row.key));
             json out = {{"QueueUrls", urls}};
             if (static_cast<int64_t>(rows->rows.size()) == max) {
               out["NextToken"] = rows->rows.back().key;
             }
             call.answer(out);
           });
}

// Erases the queue's messages that are delayed, page by page.
void drop_later(SqsCall& call, const std::string& queue, const std::string& after,
                const std::function<void()>& then) {
  call.ask(Scan{std::string(kLaterTable), "", after, kDrainBatch},
           [&call, queue, then](Answer&& answer) {
             const auto* rows = call.expect<Rows>(answer);
             if (!rows) return;
             if (rows->rows.empty()) return then();
             Commit commit;
             for (const Row& row : rows->rows) {
               if (queue_of_later(row) != queue) continue;
               commit.writes.emplace_back(Erase{std::string(kLaterTable), row.key, kAnyVersion});
             }
             const std::string last = rows->rows.back().key;
             if (commit.writes.empty()) return drop_later(call, queue, last, then);
             call.ask(std::move(commit), [&call, queue, last, then](Answer&& done) {
               if (call.expect<Committed>(done)) drop_later(call, queue, last, then);
             });
           });
}

// Finishes what can be pulled; what is held is recognised by its time when it comes back.
void drain(SqsCall& call, const std::string& queue) {
  call.ask(Pull{queue, kDrainBatch, kDrainHold, Millis(0)}, [&call, queue](Answer&& answer) {
    auto* pulled = call.expect<Deliveries>(answer);
    if (!pulled) return;
    if (pulled->deliveries.empty()) return call.answer(json::object());
    std::vector<Lease> leases;
    for (Delivery& delivery : pulled->deliveries) leases.push_back(std::move(delivery.lease));
    call.ask(Commit{0, {Finish{queue, std::move(leases)}}}, [&call, queue](Answer&& done) {
      if (call.expect<Committed>(done)) drain(call, queue);
    });
  });
}

void empty(SqsCall& call, const std::string& queue) {
  drop_later(call, queue, "", [&call, queue] { drain(call, queue); });
}

void purge_queue(SqsCall& call, const json& in, int tries) {
  with_queue(call, in, [&call, in, tries](const SqsQueue& found) {
    call.ask(AskDepth{found.store}, [&call, in, tries, queue = found](Answer&& answer) mutable {
      const auto* depth = call.expect<Depth>(answer);
      if (!depth) return;
      queue.bury(*depth, call.now_ms());
      call.must_end();
      call.ask(Commit{0, {put_of(queue)}}, [&call, in, tries, store = queue.store](Answer&& put) {
        const auto* error = std::get_if<Error>(&put);
        if (error && error->code == Code::conflict && tries > 0) {
          return purge_queue(call, in, tries - 1);
        }
        if (call.expect<Committed>(put)) empty(call, store);
      });
    });
  });
}

void purge(SqsCall& call, const json& in) { purge_queue(call, in, kTriesMax); }

void remove(SqsCall& call, const json& in) {
  with_queue(call, in, [&call](const SqsQueue& queue) {
    call.must_end();
    call.ask(Commit{0, {Erase{std::string(kSqsTable), queue.name, kAnyVersion}}},
             [&call, store = queue.store](Answer&& answer) {
               if (call.expect<Committed>(answer)) empty(call, store);
             });
  });
}

// Ghosts are held first, then they come back; who receives them then sees none of them.
Depth without_ghosts(const SqsQueue& queue, Depth depth, int64_t now_ms) {
  if (now_ms >= queue.ghosts_until_ms) return depth;
  const uint64_t held = std::min(depth.leased, queue.ghosts);
  const uint64_t back = std::min(depth.ready, queue.ghosts - held);
  return {depth.ready - back, depth.leased - held};
}

json attributes_of(const SqsCall& call, const SqsQueue& queue, const Depth& depth, size_t delayed) {
  json all = json::object();
  for (const Attribute& known : kAttributes) all[std::string(known.name)] = known.otherwise;
  all.update(queue.attributes);
  all["ApproximateNumberOfMessages"] = std::to_string(depth.ready);
  all["ApproximateNumberOfMessagesNotVisible"] = std::to_string(depth.leased);
  all["ApproximateNumberOfMessagesDelayed"] = std::to_string(delayed);
  all["CreatedTimestamp"] = std::to_string(queue.created_ms / 1000);
  all["LastModifiedTimestamp"] = std::to_string(queue.changed_ms / 1000);
  all["QueueArn"] = call.arn_of(queue.name);
  all["SqsManagedSseEnabled"] = "false";
  return all;
}

void answer_attributes(SqsCall& call, const json& in, const json& all) {
  json wanted = json::object();
  for (const std::string& name : names_in(in, "AttributeNames")) {
    if (name == "All") {
      wanted = all;
    } else if (all.contains(name)) {
      wanted[name] = all[name];
    } else if (std::ranges::find(kUnset, name) == kUnset.end()) {
      return call.fail("InvalidAttributeName", fmt::format("there is no attribute '{}'",
                                                           escape(name.substr(0, kShownMax))));
    }
  }
  call.answer(wanted.empty() ? json::object() : json{{"Attributes", wanted}});
}

void get_attributes(SqsCall& call, const json& in) {
  with_queue(call, in, [&call, in](const SqsQueue& queue) {
    call.ask(AskDepth{queue.store}, [&call, in, queue](Answer&& answer) {
      const auto* found = call.expect<Depth>(answer);
      if (!found) return;
      const Depth depth = without_ghosts(queue, *found, call.now_ms());
      // Of the delayed messages of all queues, those that are due first.
      call.ask(Scan{std::string(kLaterTable), "", "", kDrainBatch},
               [&call, in, queue, depth](Answer&& later) {
                 const auto* rows = call.expect<Rows>(later);
                 if (!rows) return;
                 const auto delayed = std::ranges::count_if(rows->rows, [&](const Row& row) {
                   return queue_of_later(row) == queue.store;
                 });
                 answer_attributes(call, in,
                                   attributes_of(call, queue, depth, static_cast<size_t>(delayed)));
               });
    });
  });
}

void change_attributes(SqsCall& call, const json& in, int tries) {
  with_queue(call, in, [&call, in, tries](const SqsQueue& found) {
    SqsQueue queue = found;
    queue.attributes.update(object_or_empty(in, "Attributes"));
    queue.changed_ms = call.now_ms();
    call.ask(Commit{0, {put_of(queue)}}, [&call, in, tries](Answer&& answer) {
      const auto* error = std::get_if<Error>(&answer);
      if (error && error->code == Code::conflict && tries > 0) {
        return change_attributes(call, in, tries - 1);
      }
      if (call.expect<Committed>(answer)) call.answer(json::object());
    });
  });
}

void set_attributes(SqsCall& call, const json& in) {
  if (check_attributes(call, in)) change_attributes(call, in, kTriesMax);
}

}  // namespace

std::span<const SqsOperation> sqs_queue_operations() {
  static constexpr std::array<SqsOperation, 7> kOperations = {
      {{"CreateQueue", create, kLook | kChange},
       {"GetQueueUrl", get_url},
       {"ListQueues", list},
       {"DeleteQueue", remove, kLook | kChange | kTake, false},
       {"PurgeQueue", purge, kLook | kChange | kTake, false},
       {"GetQueueAttributes", get_attributes},
       {"SetQueueAttributes", set_attributes, kLook | kChange, false}}};
  return kOperations;
}

}  // namespace dunlin::aws
