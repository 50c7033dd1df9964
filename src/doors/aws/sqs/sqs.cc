#include "doors/aws/sqs/sqs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "doors/aws/call/auth.h"
#include "doors/aws/call/keys.h"
#include "doors/aws/call/later.h"
#include "doors/aws/call/replies.h"
#include "doors/aws/sqs/query.h"

namespace dunlin::aws {
namespace {

// Of names of queues and of entries.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

constexpr size_t kEntriesMax = 10;
constexpr size_t kEntryIdMax = 80;
constexpr int64_t kGhostMs = kVisibilityMaxS * 1000;  // As long as anyone may hold a message.

const SqsOperation* find_operation(std::string_view name) {
  for (const auto operations : {sqs_queue_operations(), sqs_tag_operations(), sqs_send_operations(),
                                sqs_receive_operations()}) {
    const auto found = std::ranges::find(operations, name, &SqsOperation::name);
    if (found != operations.end()) return &*found;
  }
  return nullptr;
}

// One request of each kind that the operation may make, in the order of what they need.
std::vector<Request> steps_of(const SqsOperation& operation, const json& in) {
  const std::string name = queue_name_in(in);
  const std::string queue = store_name("sqs", is_queue_name(name) ? name : "queue");
  std::vector<Request> steps = {Get{std::string(kSqsTable), {"queue"}}};
  if ((operation.rights & kChange) != 0) {
    steps.emplace_back(Commit{0,
                              {Put{std::string(kSqsTable), "queue", "", 0}, Push{queue, {}},
                               put_later(queue, {"id", ""}, 0)}});
  }
  if ((operation.rights & kTake) != 0) {
    steps.emplace_back(Pull{queue, 1, Millis(1), Millis(0)});
    steps.emplace_back(Commit{0, {Finish{queue, {}}}});
  }
  return steps;
}

http::HttpReply json_fault(const SqsError& error) {
  constexpr std::array<std::string_view, 4> kCommon = {"AccessDeniedException", "InternalFailure",
                                                       "ThrottlingException",
                                                       "UnknownOperationException"};
  const bool common = std::ranges::find(kCommon, error.type) != kCommon.end();
  http::HttpReply reply = json_error(
      error.status, fmt::format("{}{}", common ? kCommonErrors : "com.amazonaws.sqs#", error.type),
      error.message);
  if (!common) {
    reply.headers.emplace_back("x-amzn-query-error", query_code(error.type) + ";Sender");
  }
  return reply;
}

void serve(Call& call, std::string_view name, const json& in, const std::string& version) {
  const auto refuse = [&](const SqsError& error) {
    call.reply(version.empty() ? json_fault(error) : query_error(error));
  };
  const SqsOperation* operation = find_operation(name);
  if (!operation) {
    return refuse({"UnknownOperationException",
                   fmt::format("SQS of this hub has no operation '{}': docs/AWS_DOOR.md lists them",
                               escape(name.substr(0, kShownMax)))});
  }
  // Before anything is done: an operation has several steps, and half of one is worse than none.
  if (const Result<void> may = call.may(steps_of(*operation, in)); !may.ok()) {
    return refuse(sqs_error(may.error()));
  }
  SqsCall& made = call.keep(std::make_unique<SqsCall>(call, *operation, version));
  operation->serve(made, in);
}

}  // namespace

void serve_sqs(Call& call, std::string_view operation, const json& in) {
  serve(call, operation, in, "");
}

void serve_sqs_query(Call& call, std::string_view body) {
  const std::variant<QueryRequest, SqsError> request = read_query(call.head(), body);
  if (const auto* error = std::get_if<SqsError>(&request)) return call.reply(query_error(*error));
  const auto& [action, version, in] = std::get<QueryRequest>(request);
  serve(call, action, in, version);
}

// --- SqsCall ---

void SqsCall::answer(const json& out) {
  call_.reply(version_.empty() ? json_reply(200, out) : query_answer(operation_, version_, out));
}

void SqsCall::fail(const SqsError& error) {
  call_.reply(version_.empty() ? json_fault(error) : query_error(error));
}

void SqsCall::fail(std::string_view type, std::string_view message) {
  fail({std::string(type), std::string(message)});
}

std::string SqsCall::url_of(std::string_view queue) const {
  return fmt::format("{}://{}/{}/{}", call_.tls() ? "https" : "http",
                     call_.head().header_or("host", "localhost"), kSqsAccount, queue);
}

std::string SqsCall::arn_of(std::string_view queue) const {
  return fmt::format("arn:aws:sqs:{}:{}:{}", call_.claim().scope.region, kSqsAccount, queue);
}

SqsError sqs_error(const Error& error) {
  switch (error.code) {
    case Code::denied:
      return {"AccessDeniedException", error.what, 403};
    case Code::invalid:
      return {"InvalidParameterValue", error.what};
    case Code::full:
    case Code::conflict:
      return {"ThrottlingException", error.what};
    case Code::not_found:
    case Code::unavailable:
    case Code::corrupt:
    case Code::unsupported:
      break;
  }
  return {"InternalFailure", error.what, 500};
}

// --- Queues ---

int64_t SqsQueue::number(std::string_view attribute, int64_t otherwise) const {
  const std::string* text = text_member(attributes, attribute);
  int64_t value = 0;
  if (!text) return otherwise;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), value);
  return parsed.ec == std::errc() ? value : otherwise;
}

bool SqsQueue::is_ghost(std::string_view message_id) const {
  const std::optional<int64_t> sent = sent_ms_of(message_id);
  return sent && *sent < born_ms;
}

void SqsQueue::bury(const Depth& depth, int64_t now_ms) {
  born_ms = std::max(now_ms, born_ms) + 1;
  ghosts = depth.leased;
  ghosts_until_ms = now_ms + kGhostMs;
}

SqsQueue queue_of(std::string name, const Row& row) {
  SqsQueue queue;
  queue.store = store_name("sqs", name);
  queue.name = std::move(name);
  queue.version = row.version;
  const json value = parse_object(row.value).value_or(json::object());
  queue.attributes = object_or_empty(value, "attributes");
  queue.tags = object_or_empty(value, "tags");
  queue.created_ms = number_or(value, "created_ms", 0);
  queue.changed_ms = number_or(value, "changed_ms", 0);
  queue.born_ms = number_or(value, "born_ms", 0);
  queue.ghosts = static_cast<uint64_t>(std::max<int64_t>(0, number_or(value, "ghosts", 0)));
  queue.ghosts_until_ms = number_or(value, "ghosts_until_ms", 0);
  return queue;
}

Put put_of(const SqsQueue& queue) {
  json value = {{"attributes", queue.attributes},
                {"created_ms", queue.created_ms},
                {"changed_ms", queue.changed_ms},
                {"born_ms", queue.born_ms}};
  if (!queue.tags.empty()) value["tags"] = queue.tags;
  if (queue.ghosts > 0) {
    value["ghosts"] = queue.ghosts;
    value["ghosts_until_ms"] = queue.ghosts_until_ms;
  }
  return {std::string(kSqsTable), queue.name, dump(value), queue.version};
}

std::string queue_name_in(const json& in) {
  const std::string url = text_or(in, "QueueUrl", "");
  return url.substr(url.rfind('/') + 1);
}

bool is_queue_name(std::string_view name) {
  return !name.empty() && name.size() <= 80 && std::ranges::all_of(name, is_plain);
}

void with_queue(SqsCall& call, const json& in, std::function<void(const SqsQueue&)> then) {
  const std::string name = queue_name_in(in);
  const auto missing = [&call](const std::string& which) {
    call.fail("QueueDoesNotExist", fmt::format("there is no queue '{}': create it first",
                                               escape(which.substr(0, kShownMax))));
  };
  if (!is_queue_name(name)) return missing(name);
  call.ask(Get{std::string(kSqsTable), {name}},
           [&call, name, missing, then = std::move(then)](Answer&& answer) {
             const auto* rows = call.expect<Rows>(answer);
             if (!rows) return;
             const SqsQueue queue = queue_of(name, rows->rows.at(0));
             if (queue.version == 0) return missing(name);
             then(queue);
           });
}

// --- Parameters ---

Result<int64_t> number_in(const json& in, std::string_view name, int64_t least, int64_t most,
                          std::optional<int64_t> otherwise) {
  if (!member(in, name) && otherwise) return *otherwise;
  const std::optional<int64_t> number = number_member(in, name);
  if (number && *number >= least && *number <= most) return *number;
  return Error{Code::invalid, fmt::format("{} is a number from {} to {}", name, least, most)};
}

std::set<std::string> names_in(const json& in, std::string_view list) {
  std::set<std::string> names;
  for (const json& item : list_or_empty(in, list)) {
    if (const auto* name = item.get_ptr<const std::string*>()) names.insert(*name);
  }
  return names;
}

const json* entries_of(SqsCall& call, const json& in) {
  const json* entries = list_member(in, "Entries");
  if (!entries || entries->empty()) {
    call.fail("EmptyBatchRequest", "a batch has 1 to 10 Entries");
    return nullptr;
  }
  if (entries->size() > kEntriesMax) {
    call.fail("TooManyEntriesInBatchRequest",
              fmt::format("the batch has {} entries: the limit is 10", entries->size()));
    return nullptr;
  }
  std::set<std::string> ids;
  for (const json& entry : *entries) {
    const std::string* id = text_member(entry, "Id");
    if (!id || id->empty() || id->size() > kEntryIdMax || !std::ranges::all_of(*id, is_plain)) {
      call.fail("InvalidBatchEntryId",
                "each entry of a batch has an Id of 1 to 80 of A-Z a-z 0-9 - and _");
      return nullptr;
    }
    if (ids.insert(*id).second) continue;
    call.fail("BatchEntryIdsNotDistinct", fmt::format("the Id '{}' comes twice", escape(*id)));
    return nullptr;
  }
  return entries;
}

json failed_entry(const std::string& id, const SqsError& error) {
  return {{"Id", id},
          {"SenderFault", error.status < 500},
          {"Code", error.type},
          {"Message", error.message}};
}

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

}  // namespace dunlin::aws
