#include "stores/aws/sqs_hints.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/digest.h"
#include "base/names.h"
#include "base/text.h"
#include "base/wait.h"

namespace dunlin::cloud {
namespace {

using aws::list_or_empty;
using aws::text_or;

constexpr size_t kBatch = 10;              // Of one request, SQS's limit.
constexpr size_t kBatchBytes = 256 << 10;  // As well.
constexpr int64_t kWaitSecondsMax = 20;    // As well.
constexpr int kGoneMax = 3;                // Tries after the queue was removed under us.
constexpr int kPartsMax = 12;              // Tries of what a batch did not take.
constexpr size_t kUrlsMax = 10'000;

static_assert(kBatch * ((kHintBytesMax + 2) / 3 * 4) <= kBatchBytes);

bool is_gone(const Reply& reply) {
  return reply.error == "QueueDoesNotExist" ||
         reply.error == "AWS.SimpleQueueService.NonExistentQueue";
}

int64_t seconds_up(Millis wait) {
  return std::clamp<int64_t>((wait.count() + 999) / 1000, 0, kWaitSecondsMax);
}

}  // namespace

SqsHints::SqsHints(CloudAddress address, const CloudOptions& options, const Clock& clock,
                   const Disk& disk)
    : link_(std::move(address), options, clock, disk),
      urls_(QueueUrls::of(link_.address().endpoint(Service::sqs))) {}

QueueUrls& QueueUrls::of(const std::string& endpoint) {
  static std::mutex mutex;
  static std::map<std::string, QueueUrls> all;
  const std::lock_guard lock(mutex);
  return all[endpoint];
}

std::optional<std::string> QueueUrls::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = urls_.find(name);
  if (found == urls_.end()) return std::nullopt;
  return found->second;
}

void QueueUrls::set(const std::string& name, std::string url) {
  const std::lock_guard lock(mutex_);
  if (urls_.size() >= kUrlsMax) urls_.clear();
  urls_[name] = std::move(url);
}

void QueueUrls::erase(const std::string& name) {
  const std::lock_guard lock(mutex_);
  urls_.erase(name);
}

Result<std::string> SqsHints::make_queue(const std::string& name) {
  json attributes = {{"VisibilityTimeout", "30"},
                     {"MessageRetentionPeriod", "1209600"},
                     {"ReceiveMessageWaitTimeSeconds", "0"}};
  if (!urls_.plain) attributes["SqsManagedSseEnabled"] = "true";
  Reply made = TRY(
      link_.call(Service::sqs, "CreateQueue", {{"QueueName", name}, {"Attributes", attributes}}));
  if (made.error == "InvalidAttributeName") {
    urls_.plain = true;
    attributes.erase("SqsManagedSseEnabled");
    made = TRY(
        link_.call(Service::sqs, "CreateQueue", {{"QueueName", name}, {"Attributes", attributes}}));
  }
  if (made.error == "QueueNameExists" || made.error == "QueueAlreadyExists") {
    made = TRY(link_.call(Service::sqs, "GetQueueUrl", {{"QueueName", name}}));
  }
  if (made.error.find("QueueDeletedRecently") != std::string::npos) {
    return Error{Code::unavailable,
                 fmt::format("SQS makes the queue {} again only a minute after its end", name)};
  }
  if (!made.ok()) return refused(made, fmt::format("the SQS queue {} cannot be made", name));
  return text_or(made.body, "QueueUrl", "");
}

Result<std::string> SqsHints::url_of(const std::string& name, bool make) {
  if (const auto known = urls_.find(name)) return *known;
  std::string url;
  if (make) {  // If it is there it stays as it is.
    url = TRY(make_queue(name));
  } else {
    const Reply found = TRY(link_.call(Service::sqs, "GetQueueUrl", {{"QueueName", name}}));
    if (is_gone(found)) return std::string();
    if (!found.ok()) return refused(found, fmt::format("the SQS queue {}", name));
    url = text_or(found.body, "QueueUrl", "");
  }
  urls_.set(name, url);
  return url;
}

Result<Reply> SqsHints::ask(const std::string& name, std::string_view operation, json in,
                            Millis wait) {
  for (int tries = 1;; ++tries) {
    in["QueueUrl"] = TRY(url_of(name, true));
    Reply reply = TRY(link_.call(Service::sqs, operation, in, wait));
    if (reply.ok()) return reply;
    if (!is_gone(reply) || tries == kGoneMax) {
      return refused(reply, fmt::format("{} of the SQS queue {}", operation, name));
    }
    urls_.erase(name);
  }
}

// All of the entries, whose Ids are set here; those that SQS did not take now are sent again.
Result<void> SqsHints::send_all(const std::string& name, std::vector<json> entries,
                                std::string_view operation) {
  for (int tries = 1; !entries.empty(); ++tries) {
    for (size_t i = 0; i < entries.size(); ++i) entries[i]["Id"] = std::to_string(i);
    const Reply reply = TRY(ask(name, operation, {{"Entries", entries}}, Millis(0)));
    std::vector<json> again;
    std::string why;
    for (const json& failed : list_or_empty(reply.body, "Failed")) {
      // A receipt that is too old is as good as settled.
      const bool ours = aws::flag_member(failed, "SenderFault");
      if (ours && operation == "DeleteMessageBatch") continue;
      why = fmt::format("{} {}", text_or(failed, "Code", ""), text_or(failed, "Message", ""));
      if (ours) {
        return Error{Code::invalid,
                     fmt::format("{} of the SQS queue {}: {}", operation, name, why)};
      }
      for (const json& entry : entries) {
        if (entry["Id"] == text_or(failed, "Id", "")) again.push_back(entry);
      }
    }
    entries = std::move(again);
    if (entries.empty()) break;
    if (tries == kPartsMax) {
      return Error{Code::unavailable,
                   fmt::format("{} of the SQS queue {}: {}", operation, name, why)};
    }
    wait_until(link_.clock().now() + backoff(tries, link_.random()), link_.clock());
  }
  return {};
}

Result<void> SqsHints::send(std::string_view queue, std::span<const std::string> hints) {
  const std::string name = link_.address().queue_name(queue);
  for (const std::string& hint : hints) {
    if (hint.size() <= kHintBytesMax && !hint.empty()) continue;
    return Error{Code::invalid, fmt::format("a hint of {} bytes for queue {}: 1 to {} are possible",
                                            hint.size(), quote(queue), kHintBytesMax)};
  }
  while (!hints.empty()) {
    const auto batch = hints.first(std::min(kBatch, hints.size()));
    hints = hints.subspan(batch.size());
    std::vector<json> entries;
    for (const std::string& hint : batch) entries.push_back({{"MessageBody", to_base64(hint)}});
    TRY(send_all(name, std::move(entries), "SendMessageBatch"));
  }
  return {};
}

Result<std::vector<mixed::Hint>> SqsHints::receive(std::string_view queue, size_t max,
                                                   Millis wait) {
  const std::string name = link_.address().queue_name(queue);
  std::vector<mixed::Hint> all;
  const Instant until = link_.clock().now() + wait;
  // A receiver needs a queue to wait at.
  if (TRY(url_of(name, wait > Millis(0))).empty()) return all;
  while (all.size() < max) {
    Millis left = std::max(until - link_.clock().now(), Millis(0));
    if (!all.empty() || link_.stopped()) left = Millis(0);
    const int64_t seconds = seconds_up(left);
    const size_t wanted = std::min(kBatch, max - all.size());
    const auto asked =
        ask(name, "ReceiveMessage", {{"MaxNumberOfMessages", wanted}, {"WaitTimeSeconds", seconds}},
            std::chrono::seconds(seconds));
    if (!asked.ok() && (link_.stopped() || !all.empty())) return all;
    const Reply reply = TRY(asked);
    const json messages = list_or_empty(reply.body, "Messages");
    for (const json& message : messages) {
      // What is not ours reads as an empty hint, which can be settled like others.
      all.push_back({from_base64(text_or(message, "Body", "")).value_or(""),
                     text_or(message, "ReceiptHandle", "")});
    }
    const bool more_time = all.empty() && link_.clock().now() < until && !link_.stopped();
    if (messages.size() < wanted && !more_time) break;  // There are hardly any more.
  }
  return all;
}

Result<void> SqsHints::settle(std::string_view queue, std::span<const std::string> receipts) {
  const std::string name = link_.address().queue_name(queue);
  if (receipts.empty() || TRY(url_of(name, false)).empty()) return {};
  while (!receipts.empty()) {
    const auto batch = receipts.first(std::min(kBatch, receipts.size()));
    receipts = receipts.subspan(batch.size());
    std::vector<json> entries;
    for (const std::string& receipt : batch) entries.push_back({{"ReceiptHandle", receipt}});
    TRY(send_all(name, std::move(entries), "DeleteMessageBatch"));
  }
  return {};
}

Result<void> SqsHints::drop(std::string_view queue) {
  const std::string name = link_.address().queue_name(queue);
  const std::string url = TRY(url_of(name, false));
  if (url.empty()) return {};
  urls_.erase(name);
  const Reply reply = TRY(link_.call(Service::sqs, "DeleteQueue", {{"QueueUrl", url}}));
  if (reply.ok() || is_gone(reply)) return {};
  return refused(reply, fmt::format("the SQS queue {} cannot be removed", name));
}

}  // namespace dunlin::cloud
