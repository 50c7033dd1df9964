#include "run/runner.h"

#include <utility>

#include "base/env_posix.h"
#include "model/jobs/progress.h"
#include "model/rows.h"
#include "stores/async_store.h"

namespace dunlin::run {

Instant RunClock::now() const { return posix_clock().now() + leapt_; }
WallTime RunClock::wall() const { return posix_clock().wall(); }

Result<std::unique_ptr<Runner>> Runner::open(RunnerOptions options) {
  auto runner = std::make_unique<Runner>(Private{});
  runner->store_ =
      TRY(engine::open_file_store(posix_disk(), runner->clock_, options.folder + "/store"));
  engine::FileStore& store = *runner->store_;
  runner->clock_.leap();
  runner->total_ = options.spec.tasks();
  SubmitOptions how{.id = kRunId, .key = {}, .blobs = std::move(options.blobs)};
  const Submitted submitted = TRY(submit(store, std::move(options.spec), how));
  const Stored<model::Job> job = TRY(read_job(store.table(), kRunId));
  if (submitted.existed) {
    const Standing standing = TRY(read_standings(store.table(), {kRunId})).front();
    const Counts counts = TRY(read_counts(store.table(), job.record, standing));
    runner->ok_ = counts.ok;
    runner->failed_ = counts.failed;
    runner->earlier_ = counts.ok + counts.failed;
    runner->earlier_failed_ = counts.failed;
  }
  worker::AgentOptions agent;
  agent.worker.id = "run";
  agent.worker.slots = options.slots;
  agent.worker.queue = job.record.queue();
  agent.worker.mem_bytes = UINT64_MAX;
  agent.worker.seed = random_seed();
  agent.worker.enough = std::move(options.enough);
  agent.stop_when_full = true;
  agent.slots.slots = options.slots;
  agent.slots.folder = slots_folder(options.folder);
  agent.slots.worker_id = "run";
  agent.slots.alone = true;
  agent.connect = [&store]() -> Result<std::unique_ptr<RequestStore>> {
    std::unique_ptr<RequestStore> another = store.connect();
    return another;
  };
  std::unique_ptr<stores::AsyncStore> async_store = stores::async_lane_store(agent.connect);
  runner->agent_ = TRY(worker::Agent::start(std::move(agent), std::move(async_store)));
  return runner;
}

Result<std::vector<worker::WorkerMind::Published>> Runner::turn(Instant until, int also) {
  agent_->turn(until, also);
  if (agent_->failure()) return *agent_->failure();
  std::vector<worker::WorkerMind::Published> published = agent_->take_published();
  for (const worker::WorkerMind::Published& one : published) {
    ++(one.outcome.state() == model::STATE_OK ? ok_ : failed_);
  }
  return published;
}

}  // namespace dunlin::run
