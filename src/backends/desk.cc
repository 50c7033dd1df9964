#include "backends/desk.h"

#include <absl/container/flat_hash_map.h>
#include <utility>

#include "base/lane.h"
#include "base/env_posix.h"
#include "net/socket.h"

namespace dunlin {
namespace {

class HubDesk final : public Desk {
 public:
  explicit HubDesk(std::unique_ptr<HubStore> store) : store_(std::move(store)) {}

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

class LaneDesk final : public Desk {
 public:
  LaneDesk(std::unique_ptr<CallStore> quick, std::unique_ptr<CallStore> patient)
      : quick_(std::move(quick)), patient_(std::move(patient)) {}

  void post(uint64_t id, Request&& request) override {
    const Pull* pull = std::get_if<Pull>(&request);
    const bool waits = pull != nullptr && pull->wait > Millis(0);
    CallStore& store = waits ? *patient_ : *quick_;
    (waits ? patient_lane_ : quick_lane_).post([this, id, &store, request = std::move(request)] {
      // A lane that ends must not wait for long.
      answers_.put({id, store.ask(Request(request))});
    });
  }

  std::vector<NumberedAnswer> gather(Instant until, int also) override {
    std::vector<NumberedAnswer> answers = answers_.take();
    if (!answers.empty()) return answers;
    wait_until(until, posix_clock(), also, answers_.descriptor());
    return answers_.take();
  }

 private:
  std::unique_ptr<CallStore> quick_;
  std::unique_ptr<CallStore> patient_;
  Box<NumberedAnswer> answers_;
  Lane quick_lane_;
  Lane patient_lane_;
};

}  // namespace

std::unique_ptr<Desk> hub_desk(std::unique_ptr<HubStore> store) {
  return std::make_unique<HubDesk>(std::move(store));
}

Result<std::unique_ptr<Desk>> lane_desk(const Connect& connect) {
  auto quick = TRY(connect());
  auto patient = TRY(connect());
  return std::unique_ptr<Desk>(std::make_unique<LaneDesk>(std::move(quick), std::move(patient)));
}

}  // namespace dunlin
