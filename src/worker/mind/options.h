// What a worker is told: at its start (WorkerOptions), and since (Course). Pure. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/env.h"
#include "model/records.pb.h"
#include "store/store.h"

namespace dunlin::worker {

struct WorkerOptions {
  std::string id = {};
  std::string host = {};
  uint32_t pid = 0;
  uint32_t slots = 1;
  std::set<std::string> tags = {};
  uint64_t mem_bytes = 0;
  uint32_t gpus = 0;
  std::vector<std::string> functions = {};
  Millis hold = std::chrono::seconds(30);  // Of a lease; renewed three times in that time.
  std::string queue = {};        // Pull from this one alone, and tell nobody about us (dunlin run).
  Millis idle_exit = Millis(0);  // Leave after so long without work; 0: never.
  size_t commit_rows = kBatchMax;  // In one commit of the store, at most.
  Millis pace = Millis(20);        // See StoreAccess.
  uint64_t seed = 0;
  // Told of each outcome before it is published; true: no more tasks are started. With it none
  // waits in front of the slots, so each is started after those that ended before were looked at
  // (dunlin run --halt).
  std::function<bool(const model::Outcome& outcome)> enough = {};

  // There are no other workers. Then it is a person who kills us, not a task (dunlin run).
  bool is_alone() const { return !queue.empty(); }
};

struct Course {
  bool draining = false;  // It takes no more, and finishes what runs.
  bool stopping = false;  // It gives back what runs, too.
  bool no_more = false;   // Nothing more is started; what runs is finished.
  bool is_leaving() const { return draining || stopping; }
};

}  // namespace dunlin::worker
