// What all requests of a service keep in memory together. From any thread.
#pragma once

#include <cstddef>
#include <mutex>

namespace dunlin::rest {

class Budget {
 public:
  explicit Budget(size_t max) : max_(max) {}

  // A request's share; given back when it ends. One thread.
  class Share {
   public:
    explicit Share(Budget& budget) : budget_(budget) {}
    ~Share() { budget_.resize(size_, 0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Makes it so large. False, and as before, if that is too much with all the others; one alone
    // may be of any size.
    bool grow_to(size_t size) {
      if (size <= size_) return true;
      if (!budget_.resize(size_, size)) return false;
      size_ = size;
      return true;
    }

   private:
    Budget& budget_;
    size_t size_ = 0;
  };

 private:
  bool resize(size_t from, size_t to) {
    const std::lock_guard lock(mutex_);
    const size_t others = used_ - from;
    if (to > from && others > 0 && others + to > max_) return false;
    used_ = others + to;
    return true;
  }

  const size_t max_;
  std::mutex mutex_;
  size_t used_ = 0;
};

}  // namespace dunlin::rest
