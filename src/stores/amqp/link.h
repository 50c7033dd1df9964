// One connection to a RabbitMQ with one channel: queues, publishing with confirms, getting and
// consuming. Blocks, but for no longer than its deadlines; one thread.
//
// After `unavailable` the call may have been carried out; the next connect() mends what broke, at
// whichever of the URL's hosts answers. Every new channel has a new generation, in which delivery
// tags of older ones mean nothing.
#pragma once

#include <amqp.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "stores/amqp/address.h"

namespace dunlin::amqp {

struct AmqpDelivery {
  uint64_t tag = 0;
  std::string bytes;
};

class AmqpLink {
 public:
  // What is longer was not sent by us, and is cut.
  static constexpr size_t kBytesMax = size_t{64} << 10U;

  AmqpLink(AmqpAddress address, const Clock& clock);
  ~AmqpLink();
  AmqpLink(const AmqpLink&) = delete;
  AmqpLink& operator=(const AmqpLink&) = delete;

  // `denied` if the login is refused, `invalid` if there is no such vhost.
  Result<void> connect(Instant deadline);
  bool open() const { return channel_open_; }
  uint64_t generation() const { return generation_; }

  // For the rest: REQUIRES: open()

  // A durable quorum queue, once for each connection. `invalid` if there is another kind of queue.
  Result<void> declare(const std::string& queue, Instant deadline);

  void forget(const std::string& queue) { declared_.erase(queue); }

  // A queue that dies with this connection: may we make queues with names like this one?
  Result<void> declare_passing(const std::string& queue, Instant deadline);

  // Returns when all are confirmed, with those that found no queue.
  Result<std::vector<std::string>> publish(const std::string& queue,
                                           std::span<const std::string> bodies, Instant deadline);

  // Up to `max` of what is there.
  Result<std::vector<AmqpDelivery>> get(const std::string& queue, size_t max, Instant deadline);

  // Up to `max`, as soon as there is one; none at `until` or when the descriptor `also` can be
  // read.
  Result<std::vector<AmqpDelivery>> wait(const std::string& queue, size_t max, Instant until,
                                         int also);

  // With `and_before`, all of this channel with lower tags too.
  Result<void> acknowledge(uint64_t tag, bool and_before);

  const AmqpAddress& address() const { return address_; }

 private:
  struct Event {
    enum class Kind { delivered, got, empty, returned, confirmed, refused, cancelled };
    Kind kind;
    uint64_t tag = 0;
    bool multiple = false;
    std::string bytes;
  };

  Result<void> connect_to(const AmqpHost& host, Instant deadline);
  Result<amqp_socket_t*> make_socket(const AmqpHost& host);
  Result<void> login(const AmqpHost& host);
  Result<void> open_channel(Instant deadline);

  void limit(Instant deadline);  // Of the calls of librabbitmq that wait for an answer.
  Result<void> checked(const amqp_rpc_reply_t& reply, std::string_view queue);
  Result<void> sent(int status);
  Error closed(const amqp_method_t& method, std::string_view queue);
  Error lost(std::string_view why);

  Result<bool> read_frame(Instant deadline, int also, amqp_frame_t& frame);
  Result<std::string> read_content();
  Result<std::optional<Event>> next(std::string_view queue, Instant deadline, int also = -1);
  Result<std::optional<Event>> event_of(const amqp_method_t& method);

  Result<void> confirm(const std::string& queue, Instant deadline,
                       std::vector<std::string>& returned);
  Result<void> consume(const std::string& queue, uint16_t max, Instant deadline);
  Result<void> stop_consuming(const std::string& queue, Instant deadline);

  struct Close {
    void operator()(amqp_connection_state_t connection) const;
  };

  const AmqpAddress address_;
  const Clock& clock_;
  std::unique_ptr<amqp_connection_state_t_, Close> connection_;
  size_t host_ = 0;  // The one that worked last.
  bool channel_open_ = false;
  uint64_t generation_ = 0;
  std::set<std::string> declared_;
  uint64_t published_ = 0;          // On this channel.
  std::set<uint64_t> unconfirmed_;  // Of those, the numbers.
  uint64_t consumers_ = 0;          // So far, to name them.
  std::string consumer_;            // Empty if there is none.
};

}  // namespace dunlin::amqp
