// For LD_PRELOAD: a machine whose wall clock is off by TEST_CLOCK_OFF_S seconds. Time passes as
// everywhere else; only what the clock says of the hour is wrong.

#include <cstdlib>
#include <ctime>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

time_t off() {
  const char* const text = std::getenv("TEST_CLOCK_OFF_S");
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* now) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, which, now));
  if (result == 0 && which == CLOCK_REALTIME) now->tv_sec += off();
  return result;
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec exact{};
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  *now = {exact.tv_sec, exact.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* now) noexcept {
  timespec exact{};
  (void)clock_gettime(CLOCK_REALTIME, &exact);
  if (now != nullptr) *now = exact.tv_sec;
  return exact.tv_sec;
}
}
