#include "stores/amqp/link.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <poll.h>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "base/wait.h"

namespace dunlin::amqp {
namespace {

constexpr Millis kUnusedMax = std::chrono::hours(1);  // Then a queue is removed.
constexpr amqp_channel_t kChannel = 1;
constexpr Millis kAnswerMax = std::chrono::seconds(5);
constexpr Millis kCloseMax = Millis(500);
constexpr Millis kNapMax = std::chrono::seconds(10);  // librabbitmq beats only when it is called.
constexpr size_t kDeclaredMax = 10'000;
constexpr size_t kUnconfirmedMax = 256;
constexpr size_t kUnconfirmedBytesMax = size_t{256} << 10U;
constexpr size_t kGetsMax = 16;  // Under way at once.
constexpr uint16_t kPrefetch = 16;

std::string_view view(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

amqp_bytes_t bytes_of(std::string_view text) {
  // librabbitmq only reads them.
  return {text.size(), const_cast<char*>(text.data())};
}

bool can_be_read(int fd) {
  pollfd one = {.fd = fd, .events = POLLIN, .revents = 0};
  return fd >= 0 && poll(&one, 1, 0) > 0;
}

timeval to_timeval(Millis time) {
  return {.tv_sec = time.count() / 1000,
          .tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

}  // namespace

void AmqpLink::Close::operator()(amqp_connection_state_t connection) const {
  amqp_destroy_connection(connection);
}

AmqpLink::AmqpLink(AmqpAddress address, const Clock& clock)
    : address_(std::move(address)), clock_(clock) {}

AmqpLink::~AmqpLink() {
  if (connection_ == nullptr) return;
  limit(clock_.now() + kCloseMax);
  amqp_connection_close(connection_.get(), AMQP_REPLY_SUCCESS);  // Else the server's log complains.
}

void AmqpLink::limit(Instant deadline) {
  timeval left = to_timeval(std::max(deadline - clock_.now(), Millis(1)));
  amqp_set_rpc_timeout(connection_.get(), &left);
}

Error AmqpLink::lost(std::string_view why) {
  Error error{Code::unavailable, fmt::format("{}: {}", address_.text(), why)};
  connection_.reset();  // And with it what `why` may point to.
  channel_open_ = false;
  declared_.clear();
  return error;
}

// The server has closed the channel or the connection, and says why.
Error AmqpLink::closed(const amqp_method_t& method, std::string_view queue) {
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* const close = static_cast<const amqp_connection_close_t*>(method.decoded);
    return lost(escape(view(close->reply_text)));
  }
  const auto close = *static_cast<const amqp_channel_close_t*>(method.decoded);
  const std::string why = escape(view(close.reply_text));
  amqp_channel_close_ok_t ok{};
  channel_open_ = false;
  declared_.clear();  // It may be that one of them is gone.
  if (amqp_send_method(connection_.get(), kChannel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok) !=
      AMQP_STATUS_OK) {
    return lost(why);
  }
  // Who closes a channel names the method that it did not like, so that an older one is no puzzle.
  const bool of_declare = close.class_id == AMQP_QUEUE_DECLARE_METHOD >> 16U;
  if (close.reply_code == AMQP_ACCESS_REFUSED) {
    return {Code::denied,
            fmt::format("{} may not use the queue {}: {}; `rabbitmqctl set_permissions -p {} {}` "
                        "grants it",
                        address_.text(), queue, why, address_.vhost, address_.user)};
  }
  if (of_declare &&
      (close.reply_code == AMQP_PRECONDITION_FAILED || close.reply_code == AMQP_RESOURCE_LOCKED)) {
    return {Code::invalid,
            fmt::format("the queue {} at {} belongs to another program: {}; give Dunlin names of "
                        "its own with ?prefix=NAME in the URL",
                        queue, address_.text(), why)};
  }
  return {Code::unavailable, fmt::format("{}: {}", address_.text(), why)};
}

Result<void> AmqpLink::sent(int status) {
  if (status == AMQP_STATUS_OK) return {};
  return lost(amqp_error_string2(status));
}

Result<void> AmqpLink::checked(const amqp_rpc_reply_t& reply, std::string_view queue) {
  switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL:
      return {};
    case AMQP_RESPONSE_SERVER_EXCEPTION:
      return closed(reply.reply, queue);
    case AMQP_RESPONSE_LIBRARY_EXCEPTION:
      if (reply.library_error == AMQP_STATUS_TIMEOUT) return lost("no answer in time");
      return lost(amqp_error_string2(reply.library_error));
    default:
      return lost("no answer");
  }
}

// False: not by the deadline, or `also` can be read. What the last one pointed to is gone.
Result<bool> AmqpLink::read_frame(Instant deadline, int also, amqp_frame_t& frame) {
  amqp_maybe_release_buffers(connection_.get());
  while (true) {
    timeval now{};
    const int status = amqp_simple_wait_frame_noblock(connection_.get(), &frame, &now);
    if (status == AMQP_STATUS_OK) return true;
    if (status != AMQP_STATUS_TIMEOUT) return lost(amqp_error_string2(status));
    if (clock_.now() >= deadline || can_be_read(also)) return false;
    wait_until(std::min(deadline, clock_.now() + kNapMax), clock_, also,
               amqp_get_sockfd(connection_.get()));
  }
}

// The header and the body that follow a method.
Result<std::string> AmqpLink::read_content() {
  const Instant deadline = clock_.now() + kAnswerMax;
  std::string bytes;
  std::optional<uint64_t> left;
  while (left != 0) {
    amqp_frame_t frame;
    if (!TRY(read_frame(deadline, -1, frame))) return lost("the rest of a message did not come");
    if (frame.frame_type == AMQP_FRAME_HEADER && !left) {
      left = frame.payload.properties.body_size;
    } else if (frame.frame_type == AMQP_FRAME_BODY && left) {
      const std::string_view part = view(frame.payload.body_fragment);
      bytes += part.substr(0, kBytesMax - bytes.size());
      *left -= std::min<uint64_t>(*left, part.size());
    } else if (frame.frame_type == AMQP_FRAME_METHOD && frame.channel == 0 &&
               frame.payload.method.id == AMQP_CONNECTION_CLOSE_METHOD) {
      return closed(frame.payload.method, "");
    } else {
      return lost("the server sent frames in an order that is not allowed");
    }
  }
  return bytes;
}

// None if it means nothing to us.
Result<std::optional<AmqpLink::Event>> AmqpLink::event_of(const amqp_method_t& method) {
  using Kind = Event::Kind;
  std::optional<Event> event;
  // What is decoded goes when more is read: first all that is needed of it.
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto* const ack = static_cast<const amqp_basic_ack_t*>(method.decoded);
      event = Event{Kind::confirmed, ack->delivery_tag, ack->multiple != 0, {}};
      break;
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto* const nack = static_cast<const amqp_basic_nack_t*>(method.decoded);
      event = Event{Kind::refused, nack->delivery_tag, nack->multiple != 0, {}};
      break;
    }
    case AMQP_BASIC_RETURN_METHOD:
      event = Event{Kind::returned, 0, false, TRY(read_content())};
      break;
    case AMQP_BASIC_GET_EMPTY_METHOD:
      event = Event{Kind::empty, 0, false, {}};
      break;
    case AMQP_BASIC_GET_OK_METHOD: {
      const uint64_t tag = static_cast<const amqp_basic_get_ok_t*>(method.decoded)->delivery_tag;
      event = Event{Kind::got, tag, false, TRY(read_content())};
      break;
    }
    case AMQP_BASIC_DELIVER_METHOD: {
      const auto* const deliver = static_cast<const amqp_basic_deliver_t*>(method.decoded);
      const uint64_t tag = deliver->delivery_tag;
      const bool expected = view(deliver->consumer_tag) == consumer_;
      event = Event{Kind::delivered, tag, false, TRY(read_content())};
      if (expected) break;
      // It was on its way when we stopped waiting: others may have it.
      event.reset();
      TRY(sent(amqp_basic_nack(connection_.get(), kChannel, tag, 0, 1)));
      break;
    }
    case AMQP_BASIC_CANCEL_METHOD: {
      const auto* const cancel = static_cast<const amqp_basic_cancel_t*>(method.decoded);
      if (view(cancel->consumer_tag) == consumer_) event = Event{Kind::cancelled, 0, false, {}};
      break;
    }
    default:
      break;
  }
  return event;
}

// None at the deadline, or when `also` can be read.
Result<std::optional<AmqpLink::Event>> AmqpLink::next(std::string_view queue, Instant deadline,
                                                      int also) {
  amqp_frame_t frame;
  while (TRY(read_frame(deadline, also, frame))) {
    if (frame.frame_type != AMQP_FRAME_METHOD) continue;
    const amqp_method_t& method = frame.payload.method;
    if (method.id == AMQP_CONNECTION_CLOSE_METHOD || method.id == AMQP_CHANNEL_CLOSE_METHOD) {
      return closed(method, queue);
    }
    std::optional<Event> event = TRY(event_of(method));
    if (event) return event;
  }
  return std::optional<Event>();
}

Result<void> AmqpLink::open_channel(Instant deadline) {
  limit(deadline);
  amqp_channel_open(connection_.get(), kChannel);
  TRY(checked(amqp_get_rpc_reply(connection_.get()), ""));
  amqp_confirm_select(connection_.get(), kChannel);
  TRY(checked(amqp_get_rpc_reply(connection_.get()), ""));
  ++generation_;
  published_ = 0;
  unconfirmed_.clear();
  consumer_.clear();
  channel_open_ = true;
  return {};
}

Result<void> AmqpLink::declare(const std::string& queue, Instant deadline) {
  if (declared_.contains(queue)) return {};
  std::array<amqp_table_entry_t, 2> how{};
  how[0].key = bytes_of("x-queue-type");
  how[0].value.kind = AMQP_FIELD_KIND_UTF8;
  how[0].value.value.bytes = bytes_of("quorum");
  how[1].key = bytes_of("x-expires");  // Reply queues come and go with their clients.
  how[1].value.kind = AMQP_FIELD_KIND_I32;
  how[1].value.value.i32 = static_cast<int32_t>(kUnusedMax.count());
  limit(deadline);
  amqp_queue_declare(connection_.get(), kChannel, bytes_of(queue), 0, 1, 0, 0,
                     {static_cast<int>(how.size()), how.data()});
  TRY(checked(amqp_get_rpc_reply(connection_.get()), queue));
  if (declared_.size() >= kDeclaredMax) declared_.clear();
  declared_.insert(queue);
  return {};
}

Result<void> AmqpLink::declare_passing(const std::string& queue, Instant deadline) {
  limit(deadline);
  amqp_queue_declare(connection_.get(), kChannel, bytes_of(queue), 0, 0, 1, 1, amqp_empty_table);
  return checked(amqp_get_rpc_reply(connection_.get()), queue);
}

Result<void> AmqpLink::confirm(const std::string& queue, Instant deadline,
                               std::vector<std::string>& returned) {
  bool refused = false;
  while (!unconfirmed_.empty()) {
    std::optional<Event> event = TRY(next(queue, deadline));
    if (!event) return lost("not confirmed in time; is it short of memory or disk, or of nodes?");
    if (event->kind == Event::Kind::returned) returned.push_back(std::move(event->bytes));
    if (event->kind != Event::Kind::confirmed && event->kind != Event::Kind::refused) continue;
    refused |= event->kind == Event::Kind::refused;
    if (event->multiple) {
      unconfirmed_.erase(unconfirmed_.begin(), unconfirmed_.upper_bound(event->tag));
    } else {
      unconfirmed_.erase(event->tag);
    }
  }
  if (!refused) return {};
  // RabbitMQ 3.10 has channels that refuse all as long as the queue's former leader is away.
  // Another one finds the new leader.
  return lost(fmt::format("it could not take what was sent to the queue {}", queue));
}

Result<std::vector<std::string>> AmqpLink::publish(const std::string& queue,
                                                   std::span<const std::string> bodies,
                                                   Instant deadline) {
  std::vector<std::string> returned;
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  size_t bytes = 0;
  for (const std::string& body : bodies) {
    TRY(sent(amqp_basic_publish(connection_.get(), kChannel, amqp_empty_bytes, bytes_of(queue), 1,
                                0, &properties, bytes_of(body))));
    unconfirmed_.insert(++published_);
    bytes += body.size();
    // Both sides would wait for ever if neither read.
    if (unconfirmed_.size() < kUnconfirmedMax && bytes < kUnconfirmedBytesMax) continue;
    TRY(confirm(queue, deadline, returned));
    bytes = 0;
  }
  TRY(confirm(queue, deadline, returned));
  return returned;
}

Result<std::vector<AmqpDelivery>> AmqpLink::get(const std::string& queue, size_t max,
                                                Instant deadline) {
  std::vector<AmqpDelivery> got;
  bool more = true;
  while (more && got.size() < max) {
    // Several at a time, which are answered in this order, save trips.
    const size_t count = std::min(max - got.size(), got.empty() ? 1 : kGetsMax);
    amqp_basic_get_t ask{0, bytes_of(queue), 0};
    for (size_t i = 0; i < count; ++i) {
      TRY(sent(amqp_send_method(connection_.get(), kChannel, AMQP_BASIC_GET_METHOD, &ask)));
    }
    for (size_t answers = 0; answers < count;) {
      std::optional<Event> event = TRY(next(queue, deadline));
      if (!event) return lost("no answer in time");
      if (event->kind == Event::Kind::got) got.push_back({event->tag, std::move(event->bytes)});
      if (event->kind == Event::Kind::empty) more = false;
      answers += event->kind == Event::Kind::got || event->kind == Event::Kind::empty ? 1 : 0;
    }
  }
  return got;
}

Result<void> AmqpLink::consume(const std::string& queue, uint16_t max, Instant deadline) {
  limit(deadline);
  amqp_basic_qos(connection_.get(), kChannel, 0, max, 0);
  TRY(checked(amqp_get_rpc_reply(connection_.get()), queue));
  consumer_ = fmt::format("dunlin-{}", ++consumers_);
  amqp_basic_consume(connection_.get(), kChannel, bytes_of(queue), bytes_of(consumer_), 0, 0, 0,
                     amqp_empty_table);
  return checked(amqp_get_rpc_reply(connection_.get()), queue);
}

Result<void> AmqpLink::stop_consuming(const std::string& queue, Instant deadline) {
  limit(deadline);
  amqp_basic_cancel(connection_.get(), kChannel, bytes_of(consumer_));
  return checked(amqp_get_rpc_reply(connection_.get()), queue);
}

Result<std::vector<AmqpDelivery>> AmqpLink::wait(const std::string& queue, size_t max,
                                                 Instant until, int also) {
  std::vector<AmqpDelivery> got;
  TRY(consume(queue, static_cast<uint16_t>(std::min<size_t>(max, kPrefetch)),
              clock_.now() + kAnswerMax));
  std::optional<Event> event = TRY(next(queue, until, also));
  if (event && event->kind == Event::Kind::cancelled) {
    consumer_.clear();
    declared_.erase(queue);
    return Error{Code::unavailable, fmt::format("the queue {} was deleted", queue)};
  }
  TRY(stop_consuming(queue, clock_.now() + kAnswerMax));
  // The first, and those that came in the meantime: no more than the server may send unasked.
  for (; event; event = TRY(next(queue, clock_.now()))) {
    if (event->kind != Event::Kind::delivered) continue;
    got.push_back({event->tag, std::move(event->bytes)});
  }
  consumer_.clear();
  return got;
}

Result<void> AmqpLink::acknowledge(uint64_t tag, bool and_before) {
  return sent(amqp_basic_ack(connection_.get(), kChannel, tag, and_before ? 1 : 0));
}

}  // namespace dunlin::amqp
