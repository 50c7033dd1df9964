#include "base/wait.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>

#include "base/check.h"

namespace dunlin {

void wait_until(Instant deadline, const Clock& clock, int also, int other) {
  poll_until(other, POLLIN, deadline, clock, also);
}

int poll_until(int fd, short events, Instant deadline, const Clock& clock, int also) {
  while (true) {
    const auto left = std::clamp<int64_t>((deadline - clock.now()).count(), 0, 3'600'000);
    pollfd both[] = {{.fd = fd, .events = events, .revents = 0},
                     {.fd = also, .events = POLLIN, .revents = 0}};
    const int count = poll(both, 2, static_cast<int>(left));
    if (count > 0) return both[0].revents;
    if (count == 0 && clock.now() >= deadline) return 0;
    CHECK(count == 0 || errno == EINTR);
  }
}

}  // namespace dunlin
