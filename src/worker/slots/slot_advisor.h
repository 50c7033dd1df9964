// Asks the store, now and then, how many slots a worker should have, and says that it is there. In
// a thread of its own, because the store may block; the owner calls from one thread.
#pragma once

#include <memory>
#include <optional>

#include "base/env.h"
#include "base/lane.h"
#include "stores/async_store.h"
#include "tascaas/followers.h"

namespace dunlin::worker {

class SlotAdvisor {
 public:
  SlotAdvisor(stores::Connect connect, tascaas::Follower who)
      : connect_(std::move(connect)), who_(std::move(who)) {}

  // When to ask: at once, and again some time after the answer has come, which makes descriptor()
  // readable.
  Instant due() const { return due_; }
  int descriptor() const { return answers_.descriptor(); }

  // The worker runs or has ended so many tasks in its life.
  void ask(uint64_t begun);
  // How many slots it should have from now on, if that has changed.
  std::optional<uint32_t> take(Instant now);
  // The worker leaves. Tried once: if that fails, it is forgotten in time. REQUIRES: the last call.
  void leave();

 private:
  struct Answer {
    Result<double> advice;
    uint64_t begun = 0;
  };

  Result<Store*> store();
  Result<double> follow(const tascaas::Follower& who, uint64_t begun);

  const stores::Connect connect_;
  tascaas::Follower who_;
  uint64_t told_ = 0;  // Begun tasks of which the store knows.
  Instant due_;
  std::unique_ptr<RequestStore> store_;  // Of the lane.
  Box<Answer> answers_;
  std::unique_ptr<Lane> lane_ = std::make_unique<Lane>();
};

}  // namespace dunlin::worker
