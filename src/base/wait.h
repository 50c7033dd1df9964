// How a thread lets time pass: the only sleep of the program, and one that a descriptor can end.
// From any thread. A signal that is handled does not end it.
#pragma once

#include "base/env.h"

namespace dunlin {

// Returns at the deadline, or when one of the descriptors can be read; -1 is none.
void wait_until(Instant deadline, const Clock& clock, int also = -1, int other = -1);

// Waits for `events` of `fd`, as poll(2) names them. Returns those that came, or 0 at the deadline
// or when only `also` can be read.
int poll_until(int fd, short events, Instant deadline, const Clock& clock, int also = -1);

}  // namespace dunlin
