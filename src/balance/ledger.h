// Who has which iterations of a task: each one is handed to one partition at a time, and comes back
// if the partition is lost with it. So in the end every iteration was done once by those whose work
// counts, whatever died.
//
// At first each partition has a part of them to itself, and takes it span by span; who has nothing
// left takes what came back, or half of what the slowest has not taken yet. So a partition has few
// spans, however long it works. If there are many all the same, because many were lost, nothing is
// divided any more: then a span is all that lies together.
//
// Pure: ledgers are values, and time comes in from outside.
#pragma once

#include <algorithm>
#include <optional>

#include "balance/balancer.h"

namespace dunlin::balance {

inline constexpr Millis kLedgerGap = Millis(1);  // Task::gap: turns may come at any time.
inline constexpr size_t kPiecesMax = 6000;       // Beyond that, a ledger does not become longer.

struct Span {
  uint64_t first = 0;
  uint64_t last = 0;  // Not in it.

  uint64_t size() const { return last - first; }
  bool operator==(const Span&) const = default;
};

struct Ledger {
  struct Holder {
    uint32_t attempt = 0;     // Whose spans these are; 0: nobody's yet.
    std::vector<Span> spans;  // In the order they were taken, neighbours joined.
    uint64_t taken = 0;       // Their sizes.
    Span own;                 // To be taken next, by this one if others do not come first.

    // Taken, and not known to be done.
    uint64_t in_hand(const Partition& partition) const {
      return partition.works() ? taken - std::min(taken, partition.done) : 0;
    }
  };

  Task task;
  std::vector<Span> back;       // What came back.
  std::vector<Holder> holders;  // By partition.

  // What nobody has.
  uint64_t pool() const;

  // Spans, of all kinds: what makes it long.
  size_t pieces() const;
};

Ledger make_ledger(uint64_t iterations, size_t partitions, Millis threshold);

// They find their iterations with the others.
void add_partitions(Ledger& ledger, size_t count);

struct Turn {
  Code code = Code::ok;
  std::optional<Span> span;  // To do next; none: the partition is done.
  uint64_t eta = 0;          // Of the task, in seconds.
  bool wait = false;         // There may be more soon: ask again.
};

// The partition has done all of its spans, and asks for another one, which should take it about
// `pace`. Its first turn starts it. A later attempt takes the place of an earlier one, whose spans
// come back; an earlier one is answered `ended`.
Turn next_span(Ledger& ledger, const Policy& policy, size_t partition, uint32_t attempt,
               Millis pace, Millis now);

// The partition has done all of its spans, and waits for what others may not do.
Code rest(Ledger& ledger, const Policy& policy, size_t partition, uint32_t attempt, Millis now);

// How long a partition that has a span may be silent before it is given up.
Millis patience(const Ledger& ledger, size_t partition, Millis pace);

// The partition ends with the first `done` of what it has taken; the rest comes back.
Code end_early(Ledger& ledger, const Policy& policy, size_t partition, uint32_t attempt,
               uint64_t done, Millis now);

// What it has done is lost.
void lose(Ledger& ledger, const Policy& policy, size_t partition, uint32_t attempt, Millis now);

}  // namespace dunlin::balance
