// How much memory this process may use, and what to do when there is none for what a peer sends.
// From any thread.
#pragma once

#include <cstddef>
#include <new>

#include "base/result.h"

namespace dunlin {

// One part of so many of what this process may use by the limits of its user, its control group and
// the machine; at most `most`.
size_t memory_share(size_t parts, size_t most);

// Runs what only keeps or decodes bytes of a peer. `full` if there is no memory for that. REQUIRES:
// `work` leaves nothing half changed but what belongs to the peer alone.
template <typename Work>
auto if_memory_lasts(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{Code::full, "there is no memory for what it sends"};
  }
}

}  // namespace dunlin
