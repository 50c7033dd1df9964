// A partition as the balancer sees it, in whatever record keeps it: all that do name these fields
// the same. Pure.
#pragma once

#include <algorithm>

#include "balance/task.h"

namespace dunlin {

template <typename Record>
balance::Partition read_partition(const Record& from) {
  balance::Partition to;
  to.assigned = from.assigned();
  to.done = from.done();
  to.started = from.started();
  to.finished = from.finished();
  to.init = Millis(from.init_ms());
  to.resumed = Millis(from.resumed_ms());
  to.last = Millis(from.last_ms());
  for (const auto& measure : from.measures()) {
    to.measures.push_back({Millis(measure.at_ms()), measure.speed()});
  }
  return to;
}

// With the last `measures` of its measures.
template <typename Record>
void write_partition(const balance::Partition& from, size_t measures, Record& to) {
  to.set_assigned(from.assigned);
  to.set_done(from.done);
  to.set_started(from.started);
  to.set_finished(from.finished);
  to.set_init_ms(from.init.count());
  to.set_resumed_ms(from.resumed.count());
  to.set_last_ms(from.last.count());
  to.clear_measures();
  const auto& all = from.measures;
  for (size_t i = all.size() - std::min(all.size(), measures); i < all.size(); ++i) {
    auto& measure = *to.add_measures();
    measure.set_at_ms(all[i].at.count());
    measure.set_speed(all[i].speed);
  }
}

}  // namespace dunlin
