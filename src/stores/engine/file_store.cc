#include "stores/engine/file_store.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/env_posix.h"
#include "stores/engine/engine.h"

namespace dunlin::engine {
namespace {

// The one place where threads meet: a lock around the engine, let go while the disk works.
class SharedEngine {
 public:
  SharedEngine(std::unique_ptr<Engine> engine, const Clock& clock)
      : engine_(std::move(engine)), clock_(clock) {}

  Answer call(Request&& request) {
    std::unique_lock lock(mutex_);
    const Pull* pull = std::get_if<Pull>(&request);
    if (pull != nullptr && pull->wait > Millis(0)) return wait_and_pull(*pull, lock);
    Answer answer = engine_->handle(std::move(request), clock_.now());
    arrived_.notify_all();
    return when_durable(std::move(answer), lock);
  }

 private:
  Answer wait_and_pull(const Pull& pull, std::unique_lock<std::mutex>& lock) {
    const Instant deadline = clock_.now() + pull.wait;
    while (true) {
      const Instant now = clock_.now();
      Answer answer = engine_->handle(Pull(pull), now);
      const auto* found = std::get_if<Deliveries>(&answer);
      if (found == nullptr || !found->deliveries.empty() || now >= deadline) {
        return when_durable(std::move(answer), lock);
      }
      const Instant wake = std::min(deadline, engine_->next_expiry().value_or(deadline));
      arrived_.wait_for(lock, std::max(wake - now, Millis(1)));
    }
  }

  // Nobody is told anything before all that it may rest on is on disk.
  Answer when_durable(Answer answer, std::unique_lock<std::mutex>& lock) {
    const uint64_t mine = begun_ + (engine_->staged() ? 1 : 0);
    const uint64_t failures = failures_;
    while (landed_ < mine) {
      if (failures_ != failures) break;
      if (flying_) {
        landed_changed_.wait(lock);
      } else {
        fly(lock);
      }
    }
    if (failures_ != failures) return failure_;
    return answer;
  }

  void fly(std::unique_lock<std::mutex>& lock) {
    flying_ = true;
    ++begun_;
    const Log::Batch& batch = engine_->begin_commit();
    lock.unlock();
    auto written = Log::write(batch);
    lock.lock();
    auto landed = engine_->end_commit(std::move(written), clock_.now());
    if (landed.ok() && engine_->segment_is_full() && engine_->staged()) {
      // A new segment begins only when nothing is staged: this once nobody is let in.
      ++begun_;
      landed = engine_->commit(clock_.now());
    }
    if (!landed.ok()) {
      ++failures_;
      failure_ = landed.error();
    }
    landed_ = begun_;
    flying_ = false;
    landed_changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable landed_changed_;
  std::condition_variable arrived_;  // Messages may have become ready.
  std::unique_ptr<Engine> engine_;
  const Clock& clock_;
  uint64_t begun_ = 0;   // Batches that were taken to the disk.
  uint64_t landed_ = 0;  // Those that came back, well or not.
  bool flying_ = false;
  uint64_t failures_ = 0;
  Error failure_{Code::unavailable, ""};
};

class ConnectedStore final : public FileStore {
 public:
  explicit ConnectedStore(std::shared_ptr<SharedEngine> engine)
      : FileStore(random_seed()), engine_(std::move(engine)) {}

  std::unique_ptr<FileStore> connect() override {
    return std::make_unique<ConnectedStore>(engine_);
  }

 protected:
  // An engine that was interrupted in the middle could not be trusted: the process ends.
  Answer call(Request&& request) noexcept override { return engine_->call(std::move(request)); }

 private:
  // Shared: the engine lives as long as any thread has a store on it.
  std::shared_ptr<SharedEngine> engine_;
};

}  // namespace

Result<std::unique_ptr<FileStore>> open_file_store(Disk& disk, const Clock& clock,
                                                   const std::string& folder) {
  auto engine = TRY(Engine::open(disk, folder, clock.now()));
  return std::unique_ptr<FileStore>(
      std::make_unique<ConnectedStore>(std::make_shared<SharedEngine>(std::move(engine), clock)));
}

Result<std::unique_ptr<FileStore>> open_file_store(const std::string& folder) {
  return open_file_store(posix_disk(), posix_clock(), folder);
}

}  // namespace dunlin::engine
