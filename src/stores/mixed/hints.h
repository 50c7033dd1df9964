// Hints: a queue service of others that tells a waiting process "there is a message".
//
// Messages and leases live in a Table (stores/mixed/mixed_store.h), so hints may come twice, late,
// in any order or never: they save looking, nothing depends on them. SQS and RabbitMQ are such
// services.
//
// One object is used by one thread at a time, but for stop().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"

namespace dunlin::mixed {

// What a service hands over, and what it wants to hear when that has been dealt with.
struct Hint {
  std::string bytes;
  std::string receipt;
};

class Hints {
 public:
  virtual ~Hints() = default;

  // The most bytes that one hint may have; send() takes no larger ones.
  virtual size_t bytes_max() const = 0;

  // Returns when the service has them for good. Makes the queue if there is none.
  virtual Result<void> send(std::string_view queue, std::span<const std::string> hints) = 0;

  // Up to `max` hints. If there are none it waits for the first, for up to `wait`; then it returns
  // none. A queue that nobody has sent to is empty.
  virtual Result<std::vector<Hint>> receive(std::string_view queue, size_t max, Millis wait) = 0;

  // How many are best settled at once.
  virtual size_t settle_batch() const { return 1; }

  // These hints need not come again. Those that are not settled come back after a while, or when
  // this object is gone.
  virtual Result<void> settle(std::string_view queue, std::span<const std::string> receipts) = 0;

  // Removes the queue, with the hints that are in it, where queues stay until somebody does. One
  // that is gone is fine.
  virtual Result<void> drop(std::string_view /*queue*/) { return {}; }

  // From any thread: a receive() that waits returns soon, and all later ones do not wait.
  virtual void stop() = 0;
};

using ConnectHints = std::function<Result<std::unique_ptr<Hints>>()>;

}  // namespace dunlin::mixed
