// What a worker has for tasks, and who has it now: slots, memory, GPUs.
//
// Each running task owns a Grant, and each task whose start waits for its record a Claim. They give
// back what they hold when they are destroyed, so nothing is counted by hand. Pure. One thread; the
// room outlives what it has given out.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "model/records.pb.h"

namespace dunlin::worker {

class Room {
 public:
  // What one running task has.
  class Grant {
   public:
    Grant() = default;  // Nothing.
    Grant(Grant&& other) noexcept
        : room_(std::exchange(other.room_, nullptr)),
          cpus_(other.cpus_),
          mem_bytes_(other.mem_bytes_),
          gpus_(std::move(other.gpus_)),
          heavy_(other.heavy_),
          doubtful_(other.doubtful_) {}
    Grant& operator=(Grant&& other) noexcept;
    Grant(const Grant&) = delete;
    Grant& operator=(const Grant&) = delete;
    ~Grant() {
      if (room_ != nullptr) give_back();
    }
    const std::vector<uint32_t>& gpus() const { return gpus_; }  // Their numbers.

   private:
    friend class Room;
    void give_back();

    Room* room_ = nullptr;
    uint32_t cpus_ = 0;
    uint64_t mem_bytes_ = 0;
    std::vector<uint32_t> gpus_;
    bool heavy_ = false;
    bool doubtful_ = false;
  };

  // That one task will start soon: heavy and doubtful ones wait until it is clear what it takes.
  class Claim {
   public:
    Claim() = default;  // Of nothing, as that of a task that waits for a damaged row.
    Claim(Claim&& other) noexcept : room_(std::exchange(other.room_, nullptr)) {}
    Claim& operator=(Claim&& other) noexcept;
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() { release(); }
    void release();

   private:
    friend class Room;
    Room* room_ = nullptr;
  };

  Room(uint32_t slots, uint64_t mem_bytes, uint32_t gpus);
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  uint32_t slots() const { return slots_; }
  // What runs in others is finished. REQUIRES: slots > 0
  void set_slots(uint32_t slots);

  // Whether such a task may start now. One that needs more slots than there are runs alone: it was
  // taken when there were more. A doubtful one, which took workers with it, has no other of its
  // kind beside it.
  bool fits(const model::Requirements& needs, bool doubtful) const;
  // REQUIRES: fits(needs, doubtful), or it was claimed when it did.
  Grant take(const model::Requirements& needs, bool doubtful);
  Claim claim();

  uint64_t claimed() const { return claimed_; }
  uint64_t cpus_used() const { return cpus_used_; }
  uint64_t mem_used() const { return mem_used_; }
  size_t gpus_used() const { return gpus_ - gpus_free_.size(); }
  uint64_t heavy() const { return heavy_; }        // Running tasks that need more than a slot.
  uint64_t doubtful() const { return doubtful_; }  // Running tasks that took two workers with them.

 private:
  uint32_t slots_;
  const uint64_t mem_bytes_;
  const uint32_t gpus_;
  std::set<uint32_t> gpus_free_;
  uint64_t cpus_used_ = 0;
  uint64_t mem_used_ = 0;
  uint64_t heavy_ = 0;
  uint64_t doubtful_ = 0;
  uint64_t claimed_ = 0;
};

}  // namespace dunlin::worker
