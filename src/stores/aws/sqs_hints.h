// Hints by SQS: one queue of theirs for each of ours, made when it is first sent to. Blocks; one
// thread at a time, but for stop(). QueueUrls serves any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "stores/aws/service.h"
#include "stores/mixed/hints.h"

namespace dunlin::cloud {

// Ten of these in base64, the most in a request, stay below SQS's 256 KiB.
inline constexpr size_t kHintBytesMax = 18 << 10;

// What is known of a service's queues, for all that speak to it in one process.
class QueueUrls {
 public:
  static QueueUrls& of(const std::string& endpoint);

  std::optional<std::string> find(const std::string& name) const;
  void set(const std::string& name, std::string url);
  void erase(const std::string& name);

  std::atomic<bool> plain = false;  // Not SQS itself, which encrypts.

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> urls_;  // By the queue's name there.
};

class SqsHints final : public mixed::Hints {
 public:
  SqsHints(CloudAddress address, const CloudOptions& options, const Clock& clock, const Disk& disk);

  size_t bytes_max() const override { return kHintBytesMax; }
  size_t settle_batch() const override { return 10; }
  Result<void> send(std::string_view queue, std::span<const std::string> hints) override;
  Result<std::vector<mixed::Hint>> receive(std::string_view queue, size_t max,
                                           Millis wait) override;
  Result<void> settle(std::string_view queue, std::span<const std::string> receipts) override;
  Result<void> drop(std::string_view queue) override;
  void stop() override { link_.stop(); }

 private:
  // Of a queue; empty if there is none and it shall not be made.
  Result<std::string> url_of(const std::string& name, bool make);
  Result<std::string> make_queue(const std::string& name);
  Result<void> send_all(const std::string& name, std::vector<json> entries,
                        std::string_view operation);
  // One request about a queue, which is made again if it is gone.
  Result<Reply> ask(const std::string& name, std::string_view operation, json in, Millis wait);

  CloudLink link_;
  QueueUrls& urls_;
};

}  // namespace dunlin::cloud
