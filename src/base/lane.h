// A thread that carries out one thing after the other, because they block; the owner goes on. What
// is done is put into a box that all lanes of an owner share.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/waker.h"

namespace dunlin {

// Filled by many threads, emptied by one. descriptor() can be read when something is in it.
template <typename T>
class Box {
 public:
  void put(T value) {
    const std::lock_guard lock(mutex_);
    if (values_.empty()) waker_.wake();
    values_.push_back(std::move(value));
  }

  std::vector<T> take() {
    const std::lock_guard lock(mutex_);
    if (!values_.empty()) waker_.calm();
    return std::exchange(values_, {});
  }

  int descriptor() const { return waker_.descriptor(); }

 private:
  std::mutex mutex_;
  std::vector<T> values_;
  Waker waker_;
};

class Lane {
 public:
  Lane() : thread_([this] { run(); }) {}

  // Finishes what is under way and drops what waits.
  ~Lane() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(work));
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace dunlin
