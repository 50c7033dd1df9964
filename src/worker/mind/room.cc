#include "worker/mind/room.h"

#include <algorithm>

#include "base/check.h"

namespace dunlin::worker {
namespace {

bool is_heavy(const model::Requirements& needs) {
  return needs.cpus() > 1 || needs.mem_bytes() > 0 || needs.gpus() > 0;
}

}  // namespace

Room::Room(uint32_t slots, uint64_t mem_bytes, uint32_t gpus)
    : slots_(slots), mem_bytes_(mem_bytes), gpus_(gpus) {
  for (uint32_t gpu = 0; gpu < gpus; ++gpu) gpus_free_.insert(gpu);
}

void Room::set_slots(uint32_t slots) {
  CHECK(slots > 0);
  slots_ = slots;
}

bool Room::fits(const model::Requirements& needs, bool doubtful) const {
  if (doubtful && doubtful_ + claimed_ > 0) return false;
  if (is_heavy(needs) && claimed_ > 0) return false;
  if (!is_heavy(needs)) return heavy_ == 0 || cpus_used_ < slots_;
  const uint32_t cpus = std::min(std::max(needs.cpus(), 1U), slots_);
  return cpus_used_ + cpus <= slots_ && mem_used_ + needs.mem_bytes() <= mem_bytes_ &&
         needs.gpus() <= gpus_free_.size();
}

Room::Grant Room::take(const model::Requirements& needs, bool doubtful) {
  Grant grant;
  grant.room_ = this;
  grant.cpus_ = std::max(needs.cpus(), 1U);
  grant.mem_bytes_ = needs.mem_bytes();
  grant.heavy_ = is_heavy(needs);
  grant.doubtful_ = doubtful;
  for (uint32_t i = 0; i < needs.gpus(); ++i) {
    grant.gpus_.push_back(*gpus_free_.begin());
    gpus_free_.erase(gpus_free_.begin());
  }
  cpus_used_ += grant.cpus_;
  mem_used_ += grant.mem_bytes_;
  heavy_ += grant.heavy_ ? 1 : 0;
  doubtful_ += doubtful ? 1 : 0;
  return grant;
}

Room::Claim Room::claim() {
  Claim claim;
  claim.room_ = this;
  ++claimed_;
  return claim;
}

Room::Grant& Room::Grant::operator=(Grant&& other) noexcept {
  if (this == &other) return *this;
  if (room_ != nullptr) give_back();
  room_ = std::exchange(other.room_, nullptr);
  cpus_ = other.cpus_;
  mem_bytes_ = other.mem_bytes_;
  gpus_ = std::move(other.gpus_);
  heavy_ = other.heavy_;
  doubtful_ = other.doubtful_;
  return *this;
}

void Room::Grant::give_back() {
  room_->cpus_used_ -= cpus_;
  room_->mem_used_ -= mem_bytes_;
  room_->heavy_ -= heavy_ ? 1 : 0;
  room_->doubtful_ -= doubtful_ ? 1 : 0;
  room_->gpus_free_.insert(gpus_.begin(), gpus_.end());
}

Room::Claim& Room::Claim::operator=(Claim&& other) noexcept {
  release();
  room_ = std::exchange(other.room_, nullptr);
  return *this;
}

void Room::Claim::release() {
  if (room_ != nullptr) --room_->claimed_;
  room_ = nullptr;
}

}  // namespace dunlin::worker
