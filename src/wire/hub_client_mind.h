// The client's mind: which requests await their answers, when to connect, what to send again.
//
// Pure: no sockets and no clock; events come in with the time, effects are taken out and carried
// out by the owner (stores/hub/hub_store.h; the simulated network). Every request gets exactly one
// answer. After a lost connection each unanswered request is sent again, in order, with the bytes
// that it had before: the same id and nonce make the hub see a repeat, not a second request.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "store/request.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace dunlin {

inline constexpr Millis kBackoffMin = Millis(50);
inline constexpr Millis kBackoffMax = Millis(2000);
inline constexpr Millis kGreetingWait = std::chrono::seconds(10);

class HubClientMind {
 public:
  struct Options {
    std::string peer;  // host:port, for messages.
    Hello hello;
    uint64_t seed = 0;                    // Of the jitter.
    size_t pending_max = 4096;            // Requests without an answer; more are `full`.
    size_t pending_bytes_max = 64 << 20;  // Of their frames.
  };

  // What the owner is to do, in this order.
  struct Effects {
    bool disconnect = false;  // Close the connection. The mind knows: no disconnected() event.
    bool connect = false;     // Try once; say connected() or disconnected().
    std::string send;         // Bytes for the connection.
    std::vector<NumberedAnswer> answers;
  };

  explicit HubClientMind(Options options);

  // Wants a connection, even if there is nothing to send.
  void connect(Instant now);

  // Numbers a request; its answer comes as an effect, within `deadline` (for a Pull, counted from
  // the end of its wait). `unavailable` if none came by then, `denied` if the hub refuses us,
  // `full` if too much is pending, `invalid` if it is too long for a frame.
  uint64_t call(const Request& request, Millis deadline, Instant now);

  void connected(Instant now);
  // The connection, or the try to make one, failed. `denied` is final, and so is `invalid` before
  // the first welcome: then it is no hub. Anything else is tried again.
  void disconnected(Instant now, Error why);
  void received(std::string_view bytes, Instant now);
  void tick(Instant now);  // Time has passed; due at next_wake() or soon after.

  Effects take();
  std::optional<Instant> next_wake() const;

  bool welcomed() const { return state_ == State::welcomed; }
  const std::optional<Error>& refusal() const { return refusal_; }  // Final.
  const std::string& trouble() const { return trouble_; }  // Why there is no connection, if known.
  size_t pending() const { return pending_.size(); }
  bool awaits(uint64_t id) const { return pending_.contains(id); }

 private:
  enum class State { idle, resting, connecting, greeting, welcomed, refused };
  struct Pending {
    std::string frame;
    Instant deadline;
    Millis patience;
  };
  using PendingMap = std::map<uint64_t, Pending>;

  void start(Instant now);
  void greet(std::string_view frame, Instant now);
  void welcome();
  void rest(Instant now, Error why);
  void refuse(Error error);
  void drop(Instant now, Code code, std::string why);
  void answer(PendingMap::iterator pending, Answer answer);
  void settle(std::string_view frame, Instant now);
  std::string no_answer(Millis patience) const;

  Options options_;
  Random random_;
  Codec codec_;
  FrameReader reader_{FrameReader::From::hub};
  State state_ = State::idle;
  Instant wake_;  // While resting: when to connect; while greeting: when to give up.
  Millis backoff_ = kBackoffMin;
  bool wanted_ = false;  // A connection, even if nothing is pending.
  bool ever_welcomed_ = false;
  std::optional<Error> refusal_;
  std::string trouble_;

  uint64_t last_id_ = 0;
  PendingMap pending_;  // By id, so in the order of the calls.
  std::set<std::pair<Instant, uint64_t>> deadlines_;
  size_t pending_bytes_ = 0;
  Effects effects_;
};

}  // namespace dunlin
