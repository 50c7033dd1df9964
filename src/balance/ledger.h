// Who has which iterations of a task: each one is handed to one partition at a time, and comes back
// if the partition is lost with it. So in the end every iteration was done once by those whose work
// counts, whatever died.
//
// The balancer's shares say how much of what is left a partition should take; it takes them span by
// span, so that little is lost with it and what it has not taken can go to others.
#pragma once

#include <optional>

#include "balance/balancer.h"

namespace dunlin::balance {

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
  };

  Task task;
  uint64_t next = 0;            // From here on nobody has had them.
  std::vector<Span> back;       // What came back.
  std::vector<Holder> holders;  // By partition.

  // What nobody has.
  uint64_t pool() const;
};

Ledger make_ledger(uint64_t iterations, size_t partitions, Millis threshold);

struct Turn {
  Code code = Code::ok;
  std::optional<Span> span;  // To do next; none: the partition is done.
  uint64_t eta = 0;          // Of the task, in seconds.
};

// The partition has done all of its spans, and asks for another one, which should take it about
// `pace`. Its first turn starts it. A later attempt takes the place of an earlier one, whose spans
// come back; an earlier one is answered `ended`.
Turn next_span(Ledger& ledger, const Policy& policy, size_t partition, uint32_t attempt,
               Millis pace, Millis now);

// The partition ends with the first `done` of what it has taken; the rest comes back.
Code end_early(Ledger& ledger, const Policy& policy, size_t partition, uint32_t attempt,
               uint64_t done, Millis now);

// What it has done is lost.
void lose(Ledger& ledger, const Policy& policy, size_t partition, uint32_t attempt, Millis now);

}  // namespace dunlin::balance
