// Replies without end are few: each takes a thread and a store for as long as its client likes.
// From any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace dunlin::rest {

class Streams {
 public:
  explicit Streams(size_t max) : free_(static_cast<int>(max)) {}

  class Place {
   public:
    explicit Place(std::atomic<int>& free) : free_(&free) {}
    Place(Place&& other) noexcept : free_(std::exchange(other.free_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (free_ != nullptr) ++*free_;
    }

   private:
    std::atomic<int>* free_;
  };

  // None if all are taken. REQUIRES: the place does not outlive this.
  std::optional<Place> take() {
    if (--free_ >= 0) return Place(free_);
    ++free_;
    return {};
  }

 private:
  std::atomic<int> free_;
};

}  // namespace dunlin::rest
