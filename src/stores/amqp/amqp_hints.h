// Hints over RabbitMQ: a durable quorum queue for each queue, named PREFIX.QUEUE. One connection,
// made when it is first needed and again when it broke; calls take a few seconds at most, but for
// the wait of receive(). One thread at a time, but for stop().
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/waker.h"
#include "stores/amqp/address.h"
#include "stores/amqp/link.h"
#include "stores/mixed/hints.h"

namespace dunlin::amqp {

// Errors: `unavailable` if it is not there or broke, `denied` for a login or permission that is
// refused, `invalid` for a vhost that is not there or a queue of another program.
class AmqpHints final : public mixed::Hints {
 public:
  AmqpHints(AmqpAddress address, const Clock& clock)
      : clock_(clock), link_(std::move(address), clock) {}

  size_t bytes_max() const override { return AmqpLink::kBytesMax; }
  Result<void> send(std::string_view queue, std::span<const std::string> hints) override;
  Result<std::vector<mixed::Hint>> receive(std::string_view queue, size_t max,
                                           Millis wait) override;
  Result<void> settle(std::string_view queue, std::span<const std::string> receipts) override;
  void stop() override { stopped_.wake(); }

 private:
  Result<std::string> name_of(std::string_view queue) const;
  Result<void> send_once(const std::string& queue, std::span<const std::string> hints);
  Result<std::vector<AmqpDelivery>> receive_once(const std::string& queue, size_t max,
                                                 Instant until);
  // Connects, and repeats what got lost, for a few seconds or until stop(). A caller that is not
  // `patient` repeats it once, because a connection that was idle for long may be gone.
  Result<void> insist(const std::function<Result<void>()>& attempt, bool patient);

  const Clock& clock_;
  AmqpLink link_;
  Waker stopped_;                 // Never calmed.
  std::set<uint64_t> unsettled_;  // Tags of the link's generation.
  uint64_t generation_ = 0;
};

std::unique_ptr<mixed::Hints> amqp_hints(AmqpAddress address, const Clock& clock);

// Connects once and tries whether we may make queues.
Result<void> check_amqp(const AmqpAddress& address, const Clock& clock);

}  // namespace dunlin::amqp
