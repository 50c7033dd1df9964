#include "stores/async_store.h"

#include <absl/container/flat_hash_map.h>
#include <mutex>
#include <utility>

#include "base/env_posix.h"
#include "base/lane.h"
#include "base/wait.h"

namespace dunlin::stores {
namespace {

class AsyncHubStore final : public AsyncStore {
 public:
  explicit AsyncHubStore(std::unique_ptr<HubStore> store) : store_(std::move(store)) {}

  void post(uint64_t id, Request&& request) override {
    if (ids_.size() + 1 >= HubStore::kPostedMax) {
      refused_.push_back({id, Error{Code::full, "too many requests are under way"}});
      return;
    }
    ids_.emplace(store_->post(std::move(request)), id);
  }

  std::vector<NumberedAnswer> gather(Instant until, int also) override {
    if (!refused_.empty()) return std::exchange(refused_, {});
    std::vector<NumberedAnswer> answers = store_->gather(until, also);
    for (NumberedAnswer& answer : answers) {
      const auto found = ids_.find(answer.id);
      answer.id = found->second;
      ids_.erase(found);
    }
    return answers;
  }

 private:
  std::unique_ptr<HubStore> store_;
  absl::flat_hash_map<uint64_t, uint64_t> ids_;  // From the store's to the caller's.
  std::vector<NumberedAnswer> refused_;
};

// A store in a thread of its own, which also makes it.
class StoreLane {
 public:
  explicit StoreLane(const Connect& connect) : connect_(connect) {}
  StoreLane(const StoreLane&) = delete;
  StoreLane& operator=(const StoreLane&) = delete;

  // What is under way must not take long any more.
  ~StoreLane() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (store_ != nullptr) store_->stop();
  }

  void post(uint64_t id, Request&& request, Box<NumberedAnswer>& answers) {
    lane_.post([this, id, &answers, request = std::move(request)] {
      const Result<void> there = make();
      answers.put({id, there.ok() ? store_->ask(Request(request)) : Answer(there.error())});
    });
  }

 private:
  Result<void> make() {
    if (store_ != nullptr) return {};
    auto made = TRY(connect_());
    const std::lock_guard lock(mutex_);
    store_ = std::move(made);
    if (ending_) store_->stop();
    return {};
  }

  const Connect& connect_;
  std::mutex mutex_;
  bool ending_ = false;
  std::unique_ptr<RequestStore> store_;
  Lane lane_;  // Last: it uses the others.
};

class AsyncLaneStore final : public AsyncStore {
 public:
  explicit AsyncLaneStore(Connect connect) : connect_(std::move(connect)) {}

  void post(uint64_t id, Request&& request) override {
    const Pull* pull = std::get_if<Pull>(&request);
    if (pull == nullptr || pull->wait == Millis(0)) {
      return quick_.post(id, std::move(request), answers_);
    }
    // Each pull that waits has a lane for itself, as long as there are any.
    if (free_.empty() && patient_.size() < kPatientMax) {
      free_.push_back(patient_.size());
      patient_.push_back(std::make_unique<StoreLane>(connect_));
    }
    size_t lane = id % patient_.size();
    if (!free_.empty()) {
      lane = free_.back();
      free_.pop_back();
      waiting_[id] = lane;
    }
    patient_[lane]->post(id, std::move(request), answers_);
  }

  std::vector<NumberedAnswer> gather(Instant until, int also) override {
    std::vector<NumberedAnswer> answers = answers_.take();
    if (answers.empty()) {
      wait_until(until, posix_clock(), also, answers_.descriptor());
      answers = answers_.take();
    }
    for (const NumberedAnswer& answer : answers) {
      const auto lane = waiting_.find(answer.id);
      if (lane == waiting_.end()) continue;
      free_.push_back(lane->second);
      waiting_.erase(lane);
    }
    return answers;
  }

 private:
  static constexpr size_t kPatientMax = 32;

  Connect connect_;
  Box<NumberedAnswer> answers_;
  absl::flat_hash_map<uint64_t, size_t> waiting_;  // Lanes by request.
  std::vector<size_t> free_;                       // Lanes.
  std::vector<std::unique_ptr<StoreLane>> patient_;
  StoreLane quick_{connect_};
};

}  // namespace

std::unique_ptr<AsyncStore> async_hub_store(std::unique_ptr<HubStore> store) {
  return std::make_unique<AsyncHubStore>(std::move(store));
}

std::unique_ptr<AsyncStore> async_lane_store(Connect connect) {
  return std::make_unique<AsyncLaneStore>(std::move(connect));
}

}  // namespace dunlin::stores
