// A sweeper in a thread of its own, over a store of its own. Lives in the process of a hub, and in
// the workers of other stores.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "base/env.h"
#include "base/waker.h"
#include "retention/sweeper.h"
#include "store/request_store.h"

namespace dunlin::retention {

class SweepThread {
 public:
  using Connect = std::function<Result<std::unique_ptr<RequestStore>>()>;

  // REQUIRES: the clock outlives it; the owner's signals are blocked already.
  SweepThread(Connect connect, SweeperOptions options, const Clock& clock);
  // Ends after the request that is under way.
  ~SweepThread();
  SweepThread(const SweepThread&) = delete;
  SweepThread& operator=(const SweepThread&) = delete;

 private:
  void run();
  Result<Millis> look();

  const Connect connect_;
  const Clock& clock_;
  Sweeper sweeper_;
  std::unique_ptr<RequestStore> store_;
  std::atomic<bool> stopping_ = false;
  Waker stop_;          // Never calmed.
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace dunlin::retention
