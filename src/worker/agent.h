// A worker at work: the mind (worker/mind/worker.h), the slots that run its tasks, the AsyncStore
// over which it speaks to the store, and a lane for large outputs. The owner calls turn() until it
// has had enough.
//
// turn() blocks until something happens or its time is over. One thread, the owner's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/lane.h"
#include "stores/async_store.h"
#include "worker/mind/worker.h"
#include "worker/slots/ledger_client.h"
#include "worker/slots/slot_advisor.h"
#include "worker/slots/slots.h"

namespace dunlin::worker {

struct AgentOptions {
  WorkerOptions worker = {};
  SlotOptions slots = {};  // As many as there may ever be; worker.slots of them are used at first.
  stores::Connect connect = {};  // For blobs and ledgers; called when the first one is needed.
  // The group of machines that it belongs to: then it has as many slots as it is advised to.
  std::string infrastructure = {};
  Millis scale_time = Millis(0);  // With one: how long is measured before that changes.
  // No room for what tasks leave is a failure() of ours; else it is tried again until there is.
  bool stop_when_full = false;
};

class Agent {
  struct Private {};

 public:
  Agent(Private, AgentOptions options, std::unique_ptr<stores::AsyncStore> async_store);
  static Result<std::unique_ptr<Agent>> start(AgentOptions options,
                                              std::unique_ptr<stores::AsyncStore> async_store);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Waits for something to happen, until `until` or until the descriptor `also` can be read, and
  // does what follows from it.
  void turn(Instant until, int also);

  void drain() {
    ledgers_.wind_up();
    mind_.drain(now());
  }
  void stop() { mind_.stop(now()); }
  WorkerMind& mind() { return mind_; }
  // Why it cannot go on.
  const std::optional<Error>& failure() const { return failure_ ? failure_ : mind_.failure(); }

  // Outcomes that became durable since the last call (with WorkerOptions::queue).
  std::vector<WorkerMind::Published> take_published() { return std::exchange(published_, {}); }

 private:
  struct Sent {
    uint64_t ticket = 0;
    Result<void> result;
  };

  static Now now();
  void carry_out();
  void follow_advice();
  void start(std::vector<Assignment> assignments, size_t grab);
  void upload(const WorkerMind::Upload& upload);
  Result<void> try_upload(const WorkerMind::Upload& upload);
  bool must_stop(const std::vector<Ending>& endings, const std::vector<Sent>& sent);
  bool leaves_within(Millis pause) const;
  void say_trouble(const Error& error, Instant now);

  const bool stop_when_full_;
  std::optional<Error> failure_;
  stores::Connect connect_;
  WorkerMind mind_;
  std::unique_ptr<stores::AsyncStore> async_store_;
  LedgerClient ledgers_;  // Before the slots, which use it.
  std::unique_ptr<Slots> slots_;
  int epoll_ = -1;            // The slots, and others_.
  int others_ = -1;           // What else may wake us.
  std::vector<Ending> idle_;  // Of tasks that did nothing; for the next turn.
  std::vector<WorkerMind::Published> published_;
  Box<Sent> sent_;
  Instant quiet_until_ = {};                  // About the store's trouble.
  Waker leaving_;                             // The lane waits no longer.
  std::unique_ptr<RequestStore> blob_store_;  // Of the lane.
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<SlotAdvisor> advisor_;
  int also_ = -1;  // In others_ now.
};

}  // namespace dunlin::worker
