#include "worker/slots/slot_advisor.h"

#include <algorithm>

#include "balance/advice.h"
#include "base/env_posix.h"
#include "base/log.h"

namespace dunlin::worker {

Result<Store*> SlotAdvisor::store() {
  if (store_ == nullptr) store_ = TRY(connect_());
  return store_.get();
}

Result<double> SlotAdvisor::follow(const tascaas::Follower& who, uint64_t begun) {
  Store* const store = TRY(this->store());
  return tascaas::follow(*store, who, begun, posix_clock().wall());
}

void SlotAdvisor::ask(uint64_t begun) {
  due_ = Instant::max();
  // What was given back or lost is not counted any more: then it may be less than before.
  const uint64_t more = begun - std::min(begun, told_);
  lane_->post([this, who = who_, begun, more] { answers_.put({follow(who, more), begun}); });
}

std::optional<uint32_t> SlotAdvisor::take(Instant now) {
  std::optional<uint32_t> slots;
  for (const Answer& answer : answers_.take()) {
    due_ = now + who_.scale_time * 2 / 3;
    if (!answer.advice.ok()) {
      log::warning("cannot get advice on slots: {}", answer.advice.error().what);
      continue;
    }
    told_ = answer.begun;
    const uint64_t advised =
        balance::slots_advised(answer.advice.value(), who_.slots, who_.max_slots);
    if (advised == who_.slots) continue;
    log::info("using {} slots instead of {}, as advised", advised, who_.slots);
    who_.slots = advised;
    slots = static_cast<uint32_t>(advised);
  }
  return slots;
}

void SlotAdvisor::leave() {
  lane_.reset();
  const Result<Store*> open = store();
  Result<void> left = open.ok() ? tascaas::stop_following(*open.value(), who_, posix_clock().wall())
                                : Result<void>(open.error());
  if (!left.ok()) log::warning("the infrastructures still list this worker: {}", left.error().what);
}

}  // namespace dunlin::worker
