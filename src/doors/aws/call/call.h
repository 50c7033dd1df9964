// One request on its way through the door: what it says, what it asks of the hub, and its reply.
//
// An operation is a chain of continuations: it asks, and goes on when the answer is there, always
// in a later turn of the loop. Continuations are the call's own and end with it, so they may refer
// to it and to its `state`. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aws_protocol/sigv4.h"
#include "http/http.h"
#include "store/request.h"

namespace dunlin::aws {

// Blobs that no row names, not yet or not any more: a row for each, written before the blob is and
// in the commit that leaves it without an owner. What an earlier hub left here is erased at the
// start, so that no death of a hub leaves bytes that nobody can reach.
inline constexpr std::string_view kLooseTable = "aws.s3.loose";
inline Put loosen(const std::string& blob) {
  return {std::string(kLooseTable), blob, "", kAnyVersion};
}
inline Erase fasten(const std::string& blob) {
  return {std::string(kLooseTable), blob, kAnyVersion};
}

// What an operation remembers between its steps.
class CallState {
 public:
  virtual ~CallState() = default;
};

class Call {
 public:
  using Then = std::function<void(Answer&&)>;
  using PartitionAttempt = std::function<void(std::string&& bytes, bool end)>;

  virtual ~Call() = default;

  virtual const http::HttpHead& head() const = 0;
  virtual const Claim& claim() const = 0;
  virtual const std::string& secret() const = 0;  // Of who signed it.
  virtual WallTime wall() const = 0;
  virtual bool tls() const = 0;
  virtual uint64_t fresh_number() = 0;  // For uploads and nonces; no two are equal.

  virtual void ask(Request&& request, Then then) = 0;

  // Whether whoever signed the call may ask all of these. What one request may not do is refused
  // when it is asked; an operation of several asks here first, as half of it is worse than none.
  virtual Result<void> may(const std::vector<Request>& requests) const = 0;

  virtual void note_later(int64_t due_ms) = 0;  // Of a message in the table of later.h.
  virtual std::string fresh_blob() = 0;         // A name.

  // Erases blobs that are loose; whoever signed the call need not be allowed to. Those that are
  // held go when they are not any more.
  virtual void forget(std::vector<std::string> blobs) = 0;
  virtual void hold(const std::string& blob) = 0;
  virtual void release(const std::string& blob) = 0;

  // The next bytes of the body, up to kBlobPart, once some are here.
  virtual void read(PartitionAttempt taker) = 0;

  // Ends the call. If the body was not read to its end the connection ends too.
  virtual void reply(http::HttpReply&& reply) = 0;

  // A reply in pieces: its head with `length`, then so many bytes, then finish(). Goes on with
  // `then` when the client takes more.
  virtual void begin(http::HttpReply&& head) = 0;
  virtual void write(std::string_view bytes, std::function<void()> then) = 0;
  virtual void finish() = 0;
  virtual void abort() = 0;  // In the middle of a reply: the client sees that it is cut off.

  // From here on the call goes on even if its client leaves.
  virtual void must_end() = 0;

  // Makes the call's state and returns it.
  template <typename State>
  State& keep(std::unique_ptr<State> kept) {
    State& made = *kept;
    state_ = std::move(kept);
    return made;
  }

 protected:
  // For the destructor of what is derived: a state may refer to its call.
  void drop_state() { state_.reset(); }

 private:
  std::unique_ptr<CallState> state_;
};

}  // namespace dunlin::aws
