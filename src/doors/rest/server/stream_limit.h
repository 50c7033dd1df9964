// Replies without end are few, and nobody has more than half of them: each takes a thread and a
// store for as long as its client likes. From any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace dunlin::rest {

class StreamLimit {
 public:
  explicit StreamLimit(size_t max) : max_(max) {}

  class Place {
   public:
    Place(StreamLimit& streams, std::string whose) : streams_(&streams), whose_(std::move(whose)) {}
    Place(Place&& other) noexcept
        : streams_(std::exchange(other.streams_, nullptr)), whose_(std::move(other.whose_)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (streams_ != nullptr) streams_->give_back(whose_);
    }

   private:
    StreamLimit* streams_;
    std::string whose_;
  };

  // None if all are taken, or half of them by the same one. REQUIRES: the place does not outlive
  // this.
  std::optional<Place> take(const std::string& whose) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(whose);
    if (all_ >= max_ || (found != taken_.end() && found->second >= max_ / 2)) return {};
    ++all_;
    ++taken_[whose];
    return std::optional<Place>(std::in_place, *this, whose);
  }

 private:
  void give_back(const std::string& whose) {
    const std::lock_guard lock(mutex_);
    --all_;
    const auto found = taken_.find(whose);
    if (--found->second == 0) taken_.erase(found);
  }

  const size_t max_;
  std::mutex mutex_;
  size_t all_ = 0;
  std::map<std::string, size_t> taken_;  // By owner, or token.
};

}  // namespace dunlin::rest
