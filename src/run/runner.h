// One job from its submission to its last outcome in this process: an embedded store, a worker, and
// nobody else. What `dunlin run` is made of.
//
// Everything that ended is durable before it is handed out, so a run that is killed goes on where
// it was when it is opened again with the same job. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "model/jobs/submit.h"
#include "stores/engine/file_store.h"
#include "worker/agent.h"

namespace dunlin::run {

struct RunnerOptions {
  std::string folder = {};  // Of the store; what it holds from an earlier start counts.
  uint32_t slots = 1;
  model::Spec spec = {};
  std::vector<NamedBlob> blobs = {};  // Named with input_blob_name(kRunId, ...).
  std::function<bool(const model::Outcome& outcome)> enough = {};  // See WorkerOptions.
};

inline constexpr const char* kRunId = "run";

// Where the tasks of the run in this folder have theirs.
inline std::string slots_folder(const std::string& folder) { return folder + "/slots"; }

// The clock of an engine that nobody else uses: once it is open, all leases of the processes that
// had it before are over.
class RunClock final : public Clock {
 public:
  Instant now() const override;
  WallTime wall() const override;
  void leap() { leapt_ = kHoldMax; }

 private:
  Millis leapt_ = Millis(0);
};

class Runner {
  struct Private {};

 public:
  explicit Runner(Private) {}

  // `conflict` if the folder holds another job: its inputs have changed. `denied` if another
  // process has it open, or what an earlier one has started there does not end.
  static Result<std::unique_ptr<Runner>> open(RunnerOptions options);

  uint64_t total() const { return total_; }
  uint64_t ok() const { return ok_; }
  uint64_t failed() const { return failed_; }
  uint64_t earlier() const { return earlier_; }  // Outcomes of earlier starts.
  uint64_t earlier_failed() const { return earlier_failed_; }
  uint64_t running() { return agent_->mind().busy(); }
  bool complete() const { return ok_ + failed_ == total_; }
  bool gone() { return agent_->mind().gone(); }

  // Waits until something happens, and returns what is durable now. `also` as in Agent::turn.
  Result<std::vector<worker::WorkerMind::Published>> turn(Instant until, int also);

  void start_no_more() { agent_->mind().start_no_more(); }
  bool idle() { return agent_->mind().busy() == 0; }
  void drain() { agent_->drain(); }
  void stop() { agent_->stop(); }

  // Ends the worker and its slots, which takes a moment; the store stays open. The last call but
  // those about counts and the store.
  void end() { agent_.reset(); }

  engine::FileStore& store() { return *store_; }

 private:
  RunClock clock_;
  std::unique_ptr<engine::FileStore> store_;
  std::unique_ptr<worker::Agent> agent_;
  uint64_t total_ = 0;
  uint64_t ok_ = 0;
  uint64_t failed_ = 0;
  uint64_t earlier_ = 0;
  uint64_t earlier_failed_ = 0;
};

}  // namespace dunlin::run
