// Bytes that peers have begun to send and that must be kept until the rest is here, against a
// budget over all peers: who may send on, and who is too slow to. Pure; one thread.
//
// Below the budget everybody may send, if only slowly. Above it only those who began first may, so
// that what is kept becomes whole and goes; who does not hurry then is dropped. A peer that waits
// for something else than the others' bytes is set aside: else all would wait with it. The budget
// is passed by what is read of each peer at once; at twice the budget whoever has sent more than a
// little is dropped.
#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/env.h"

namespace dunlin::net {

class Holdings {
 public:
  explicit Holdings(size_t budget) : budget_(budget) {}

  // From now on so much is kept of a peer; 0: nothing. `anew`: of something that it began just now,
  // as whoever was set aside does.
  void keep(uint64_t peer, size_t bytes, bool anew, Instant now);
  // So much is kept of a peer that may not send for a reason of its own: it counts, but the others
  // do not wait for it.
  void set_aside(uint64_t peer, size_t bytes);
  void forget(uint64_t peer) { keep(peer, 0, false, Instant()); }

  // Whether a peer of which something is kept must wait. One that does has all the time it needs.
  bool must_wait(uint64_t peer) const;
  void waits(uint64_t peer, bool waiting, Instant now);

  // Those who may send, but do so too slowly. Looks at most a few times a second.
  std::vector<uint64_t> too_slow(Instant now);
  // When that may find somebody.
  std::optional<Instant> next_look() const;

  size_t all() const { return all_; }
  size_t room() const { return crowded() ? 0 : budget_ - all_; }
  bool crowded() const { return all_ > budget_; }

  // Whether a peer of which so much is kept must be dropped at once.
  bool is_too_much(size_t bytes) const { return all_ > 2 * budget_ && bytes > kLittle; }

 private:
  static constexpr size_t kLittle = 16 << 10;

  struct Kept {
    size_t bytes = 0;
    bool aside = false;     // Not in the order; all below is of those who are.
    Instant begun;          // For the order.
    Instant measured_from;  // It could send since then,
    size_t bytes_then = 0;  // and had sent so much.
    bool waiting = false;
  };

  const size_t budget_;
  size_t all_ = 0;
  absl::flat_hash_map<uint64_t, Kept> kept_;
  absl::btree_set<std::pair<Instant, uint64_t>> order_;  // By `begun`.
  Instant look_at_;
};

}  // namespace dunlin::net
