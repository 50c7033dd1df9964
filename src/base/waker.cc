#include "base/waker.h"

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"

namespace dunlin {

Waker::Waker() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd_ >= 0); }
Waker::~Waker() { close(fd_); }

void Waker::wake() const {
  const uint64_t one = 1;
  // Fails only if it is readable already.
  static_cast<void>(!write(fd_, &one, sizeof(one)));
}

void Waker::calm() const {
  uint64_t count = 0;
  static_cast<void>(!read(fd_, &count, sizeof(count)));
}

}  // namespace dunlin
