// A descriptor that becomes readable when another thread says so.
#pragma once

namespace dunlin {

class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void wake() const;  // From any thread.
  void calm() const;  // Not readable any more.
  int descriptor() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace dunlin
