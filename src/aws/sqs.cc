#include "aws/sqs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "aws/keys.h"
#include "aws/later.h"
#include "aws/services.h"
#include "base/digest.h"
#include "base/text.h"

namespace dunlin::aws {
namespace {

constexpr int kTriesMax = 20;
constexpr size_t kDrainBatch = 1000;
constexpr Millis kDrainHold = Millis(60'000);

struct Attribute {
  std::string_view name;
  int64_t least;
  int64_t most;
  std::string_view otherwise;
};
constexpr std::array<Attribute, 5> kAttributes = {{
    {"DelaySeconds", 0, 900, "0"},
    {"MaximumMessageSize", 1024, 262'144, "262144"},
    {"MessageRetentionPeriod", 60, 1'209'600, "345600"},
    {"ReceiveMessageWaitTimeSeconds", 0, 20, "0"},
    {"VisibilityTimeout", 0, 43'200, "30"},
}};

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

bool is_queue_name(std::string_view name) {
  return !name.empty() && name.size() <= 80 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

// False if it has replied that they are wrong.
bool check_attributes(Call& call, const json& in) {
  const json* given = object_member(in, "Attributes");
  if (!given) return true;
  for (const auto& [name, value] : given->items()) {
    const auto* known = std::ranges::find(kAttributes, name, &Attribute::name);
    if (known == kAttributes.end()) {
      sqs_fail(call, "InvalidAttributeName",
               fmt::format("the attribute '{}' is not supported: this hub has DelaySeconds, "
                           "MaximumMessageSize, MessageRetentionPeriod, "
                           "ReceiveMessageWaitTimeSeconds and VisibilityTimeout",
                           name));
      return false;
    }
    const std::string* text = value.get_ptr<const std::string*>();
    const std::optional<int64_t> number = text ? parse_int(*text) : std::nullopt;
    if (!number || *number < known->least || *number > known->most) {
      sqs_fail(
          call, "InvalidAttributeValue",
          fmt::format("{} is a text with a number from {} to {}", name, known->least, known->most));
      return false;
    }
  }
  return true;
}

std::string url_of(const Call& call, std::string_view name) {
  return fmt::format("{}://{}/{}/{}", call.tls() ? "https" : "http",
                     call.head().header_or("host", "localhost"), kSqsAccount, name);
}

void reply_url(Call& call, std::string_view name) {
  call.reply(json_reply(200, {{"QueueUrl", url_of(call, name)}}));
}

void create_queue(Call& call, const std::string& name, const json& in, int tries) {
  call.ask(Get{std::string(kSqsTable), {name}}, [&call, name, in, tries](Answer&& answer) {
    const auto* rows = sqs_expect<Rows>(call, answer);
    if (!rows) return;
    SqsQueue queue = queue_of(name, rows->rows.at(0));
    const json wanted = object_or_empty(in, "Attributes");
    if (queue.version != 0) {
      for (const auto& [attribute, value] : wanted.items()) {
        const auto* known = std::ranges::find(kAttributes, attribute, &Attribute::name);
        if (queue.attributes.value(attribute, json(known->otherwise)) == value) continue;
        return sqs_fail(call, "QueueNameExists",
                        fmt::format("the queue {} exists with another {}", name, attribute));
      }
      return reply_url(call, name);
    }
    const int64_t now = millis(call.wall());
    queue.attributes = wanted;
    queue.created_ms = queue.changed_ms = queue.born_ms = now;
    call.ask(Commit{0, {put_of(queue)}}, [&call, name, in, tries](Answer&& put) {
      const auto* error = std::get_if<Error>(&put);
      if (error && error->code == Code::conflict && tries > 0) {
        return create_queue(call, name, in, tries - 1);
      }
      if (error) return sqs_fail(call, *error);
      reply_url(call, name);
    });
  });
}

void create(Call& call, const json& in) {
  const std::string name = text_or(in, "QueueName", "");
  if (name.ends_with(".fifo")) {
    return sqs_fail(call, "UnsupportedOperation",
                    "fifo queues are not supported: use a standard queue, which is handed out in "
                    "order here");
  }
  if (!is_queue_name(name)) {
    return sqs_fail(call, "InvalidParameterValue",
                    "a queue name has 1 to 80 of A-Z a-z 0-9 - and _");
  }
  if (check_attributes(call, in)) create_queue(call, name, in, kTriesMax);
}

void get_url(Call& call, const json& in) {
  json with_url = in;
  with_url["QueueUrl"] = text_or(in, "QueueName", "");
  with_queue(call, with_url, [&call](const SqsQueue& queue) { reply_url(call, queue.name); });
}

void list(Call& call, const json& in) {
  const int64_t max = std::clamp<int64_t>(number_or(in, "MaxResults", 1000), 1, 1000);
  call.ask(Scan{std::string(kSqsTable), text_or(in, "QueueNamePrefix", ""),
                text_or(in, "NextToken", ""), static_cast<uint64_t>(max)},
           [&call, max](Answer&& answer) {
             const auto* rows = sqs_expect<Rows>(call, answer);
             if (!rows) return;
             json urls = json::array();
             for (const Row& row : rows->rows) urls.push_back(url_of(call, row.key));
             json out = {{"QueueUrls", urls}};
             if (static_cast<int64_t>(rows->rows.size()) == max) {
               out["NextToken"] = rows->rows.back().key;
             }
             call.reply(json_reply(200, out));
           });
}

// Finishes what can be pulled; what is held is recognised by its time when it comes back.
void drain(Call& call, const std::string& queue) {
  call.ask(Pull{queue, kDrainBatch, kDrainHold, Millis(0)}, [&call, queue](Answer&& answer) {
    auto* pulled = sqs_expect<Deliveries>(call, answer);
    if (!pulled) return;
    if (pulled->deliveries.empty()) return call.reply(json_reply(200, json::object()));
    std::vector<Lease> leases;
    for (Delivery& delivery : pulled->deliveries) leases.push_back(std::move(delivery.lease));
    call.ask(Commit{0, {Finish{queue, std::move(leases)}}}, [&call, queue](Answer&& done) {
      if (sqs_expect<Committed>(call, done)) drain(call, queue);
    });
  });
}

void purge(Call& call, const json& in) {
  with_queue(call, in, [&call](const SqsQueue& found) {
    SqsQueue queue = found;
    queue.born_ms = std::max(millis(call.wall()), queue.born_ms) + 1;
    call.must_end();
    call.ask(Commit{0, {put_of(queue)}}, [&call, store = queue.store](Answer&& answer) {
      if (sqs_expect<Committed>(call, answer)) drain(call, store);
    });
  });
}

void remove(Call& call, const json& in) {
  with_queue(call, in, [&call](const SqsQueue& queue) {
    call.must_end();
    call.ask(Commit{0, {Erase{std::string(kSqsTable), queue.name, queue.version}}},
             [&call, store = queue.store](Answer&& answer) {
               if (sqs_expect<Committed>(call, answer)) drain(call, store);
             });
  });
}

json attributes_of(const Call& call, const SqsQueue& queue, const Depth& depth, size_t delayed) {
  json all = json::object();
  for (const Attribute& known : kAttributes) all[std::string(known.name)] = known.otherwise;
  all.update(queue.attributes);
  all["ApproximateNumberOfMessages"] = std::to_string(depth.ready);
  all["ApproximateNumberOfMessagesNotVisible"] = std::to_string(depth.leased);
  all["ApproximateNumberOfMessagesDelayed"] = std::to_string(delayed);
  all["CreatedTimestamp"] = std::to_string(queue.created_ms / 1000);
  all["LastModifiedTimestamp"] = std::to_string(queue.changed_ms / 1000);
  all["QueueArn"] =
      fmt::format("arn:aws:sqs:{}:{}:{}", call.claim().scope.region, kSqsAccount, queue.name);
  return all;
}

void reply_attributes(Call& call, const json& in, const json& all) {
  json wanted = json::object();
  for (const json& item : list_or_empty(in, "AttributeNames")) {
    const std::string* name = item.get_ptr<const std::string*>();
    if (name && *name == "All") wanted = all;
    if (name && *name != "All" && !all.contains(*name)) {
      return sqs_fail(call, "InvalidAttributeName",
                      fmt::format("there is no attribute '{}'", *name));
    }
    if (name && all.contains(*name)) wanted[*name] = all[*name];
  }
  call.reply(json_reply(200, wanted.empty() ? json::object() : json{{"Attributes", wanted}}));
}

void get_attributes(Call& call, const json& in) {
  with_queue(call, in, [&call, in](const SqsQueue& queue) {
    call.ask(AskDepth{queue.store}, [&call, in, queue](Answer&& answer) {
      const auto* found = sqs_expect<Depth>(call, answer);
      if (!found) return;
      // Of the delayed messages of all queues, those that are due first.
      call.ask(Scan{std::string(kLaterTable), "", "", kDrainBatch},
               [&call, in, queue, depth = *found](Answer&& later) {
                 const auto* rows = sqs_expect<Rows>(call, later);
                 if (!rows) return;
                 const auto delayed = std::ranges::count(rows->rows, queue.store, queue_of_later);
                 reply_attributes(call, in,
                                  attributes_of(call, queue, depth, static_cast<size_t>(delayed)));
               });
    });
  });
}

void set_attributes(Call& call, const json& in) {
  if (!check_attributes(call, in)) return;
  with_queue(call, in, [&call, in](const SqsQueue& found) {
    SqsQueue queue = found;
    queue.attributes.update(object_or_empty(in, "Attributes"));
    queue.changed_ms = millis(call.wall());
    call.ask(Commit{0, {put_of(queue)}}, [&call](Answer&& answer) {
      if (sqs_expect<Committed>(call, answer)) call.reply(json_reply(200, json::object()));
    });
  });
}

}  // namespace

int64_t SqsQueue::number(std::string_view attribute, int64_t otherwise) const {
  const std::string* text = text_member(attributes, attribute);
  return text ? parse_int(*text).value_or(otherwise) : otherwise;
}

SqsQueue queue_of(std::string name, const Row& row) {
  SqsQueue queue;
  queue.store = store_name("sqs", name);
  queue.name = std::move(name);
  queue.version = row.version;
  const json value = parse_object(row.value).value_or(json::object());
  queue.attributes = object_or_empty(value, "attributes");
  queue.created_ms = number_or(value, "created_ms", 0);
  queue.changed_ms = number_or(value, "changed_ms", 0);
  queue.born_ms = number_or(value, "born_ms", 0);
  return queue;
}

Put put_of(const SqsQueue& queue) {
  const json value = {{"attributes", queue.attributes},
                      {"created_ms", queue.created_ms},
                      {"changed_ms", queue.changed_ms},
                      {"born_ms", queue.born_ms}};
  return {std::string(kSqsTable), queue.name, dump(value), queue.version};
}

void sqs_fail(Call& call, std::string_view type, std::string_view message) {
  HttpReply reply = json_error(400, fmt::format("com.amazonaws.sqs#{}", type), message);
  const std::string query_name =
      type == "QueueDoesNotExist" ? "AWS.SimpleQueueService.NonExistentQueue"
      : type == "QueueNameExists" ? "QueueAlreadyExists"
      : type == "InvalidParameterValue" || type == "MissingParameter" ||
              type == "InvalidAttributeName" || type == "InvalidAttributeValue" ||
              type == "ReceiptHandleIsInvalid"
          ? std::string(type)
          : fmt::format("AWS.SimpleQueueService.{}", type);
  reply.headers.emplace_back("x-amzn-query-error", query_name + ";Sender");
  call.reply(std::move(reply));
}

void sqs_fail(Call& call, const Error& error) {
  switch (error.code) {
    case Code::denied:
      return call.reply(
          json_error(403, fmt::format("{}AccessDeniedException", kCommonErrors), error.what));
    case Code::invalid:
      return sqs_fail(call, "InvalidParameterValue", error.what);
    case Code::full:
    case Code::conflict:
      return call.reply(
          json_error(400, fmt::format("{}ThrottlingException", kCommonErrors), error.what));
    default:
      return call.reply(
          json_error(500, fmt::format("{}InternalFailure", kCommonErrors), error.what));
  }
}

void with_queue(Call& call, const json& in, std::function<void(const SqsQueue&)> then) {
  const std::string url = text_or(in, "QueueUrl", "");
  std::string name = url.substr(url.rfind('/') + 1);
  const auto missing = [&call](const std::string& which) {
    sqs_fail(call, "QueueDoesNotExist",
             fmt::format("there is no queue '{}': create it first", which));
  };
  if (!is_queue_name(name)) return missing(name);
  call.ask(Get{std::string(kSqsTable), {name}},
           [&call, name, missing, then = std::move(then)](Answer&& answer) {
             const auto* rows = sqs_expect<Rows>(call, answer);
             if (!rows) return;
             const SqsQueue queue = queue_of(name, rows->rows.at(0));
             if (queue.version == 0) return missing(name);
             then(queue);
           });
}

int64_t millis(WallTime time) { return time.time_since_epoch().count(); }

std::string make_message_id(int64_t sent_ms, bool envelope) {
  const std::string random = hex(random_bytes(10));
  const std::string time = fmt::format("{:012x}", sent_ms & ((int64_t{1} << 48U) - 1));
  return fmt::format("{}-{}-{}{}-a{}-{}", time.substr(0, 8), time.substr(8), envelope ? 8 : 7,
                     random.substr(0, 3), random.substr(3, 3), random.substr(6, 12));
}

std::optional<int64_t> sent_ms_of(std::string_view id) {
  if (id.size() != 36 || id[8] != '-' || id[13] != '-' || (id[14] != '7' && id[14] != '8')) {
    return std::nullopt;
  }
  const std::string digits = std::string(id.substr(0, 8)) + std::string(id.substr(9, 4));
  int64_t time = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), time, 16);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  return time;
}

bool is_envelope(std::string_view id) { return sent_ms_of(id) && id[14] == '8'; }

std::string md5_of_attributes(const json& attributes) {
  std::string text;
  const auto add = [&text](std::string_view bytes) {
    const auto size = static_cast<uint32_t>(bytes.size());
    for (const unsigned shift : {24U, 16U, 8U, 0U}) text += static_cast<char>(size >> shift & 255U);
    text += bytes;
  };
  for (const auto& [name, value] : attributes.items()) {  // In the order of their names.
    add(name);
    add(text_or(value, "DataType", ""));
    const std::string* binary = text_member(value, "BinaryValue");
    text += binary ? '\2' : '\1';
    add(binary ? from_base64(*binary).value_or("") : text_or(value, "StringValue", ""));
  }
  return hex(md5(text));
}

std::string to_receipt(const Lease& lease) {
  return to_base64(fmt::format("{}:{}", lease.token, lease.id));
}

std::optional<Lease> from_receipt(std::string_view handle) {
  const std::optional<std::string> text = from_base64(handle);
  const size_t colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  Lease lease;
  const auto parsed = std::from_chars(text->data(), text->data() + colon, lease.token);
  if (parsed.ec != std::errc() || parsed.ptr != text->data() + colon) return std::nullopt;
  lease.id = text->substr(colon + 1);
  if (lease.id.empty() || lease.id.size() > kIdMax) return std::nullopt;
  return lease;
}

void serve_sqs(Call& call, std::string_view operation, const json& in) {
  struct Operation {
    std::string_view name;
    void (*serve)(Call&, const json&);
  };
  static constexpr std::array<Operation, 7> kOperations = {
      {{"CreateQueue", create},
       {"GetQueueUrl", get_url},
       {"ListQueues", list},
       {"DeleteQueue", remove},
       {"PurgeQueue", purge},
       {"GetQueueAttributes", get_attributes},
       {"SetQueueAttributes", set_attributes}}};
  const auto* found = std::ranges::find(kOperations, operation, &Operation::name);
  if (found != kOperations.end()) return found->serve(call, in);
  if (serve_sqs_messages(call, operation, in)) return;
  call.reply(
      json_error(400, fmt::format("{}UnknownOperationException", kCommonErrors),
                 fmt::format("SQS of this hub has no operation '{}': docs/AWS_DOOR.md lists them",
                             operation)));
}

}  // namespace dunlin::aws
