// A worker of the simulated fleet: the real mind, and a loop like worker/agent.h's. Its requests go
// out as over stores/async_store.h: one at a time, but for the pull that waits.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cloud_store.h"
#include "worker/mind/worker.h"

namespace dunlin::bench {

class CloudWorker {
 public:
  CloudWorker(Timeline& timeline, CloudStore& store, worker::WorkerOptions options, double task_us);
  void begin();
  const std::optional<Error>& failure() const { return mind_.failure(); }

 private:
  void plan(Micros when);
  void turn();
  void carry_out();

  Timeline& timeline_;
  worker::WorkerMind mind_;
  const double task_us_;
  CloudSite site_;
  CloudLane quick_;
  CloudLane patient_;
  std::vector<std::pair<uint64_t, Answer>> answers_;
  std::vector<worker::Ending> ended_;  // No-ops: the loop does them itself.
  Micros busy_until_ = 0;
  Micros planned_;  // The next turn.
};

}  // namespace dunlin::bench
