// How many slots the infrastructures should have: TaScaaS's dispatcher. In a measuring phase it
// counts the partitions that are handed out. Then it gives advice, which is followed in a scaling
// phase, in which it counts nothing. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/env.h"

namespace dunlin::balance {

struct Infrastructure {
  std::string id;
  WallTime seen;  // Its last sign of life.
  uint64_t slots = 0;
  uint64_t max_slots = 0;
};

struct Dispatch {
  Millis scale_time = Millis(0);  // Of each phase.
  WallTime resumed;               // When the measuring phase began.
  bool scaling = false;
  uint64_t dispatched = 0;  // Partitions, in the measuring phase.
  double required = -1;     // Of all slots that there could be, a part; -1: no advice yet.
  std::vector<Infrastructure> infrastructures;

  Infrastructure* find(const std::string& id);
};

// Before every request: ends phases whose time is over, and forgets those that are gone. `queued`
// partitions wait to be handed out; that only matters if advice is due.
void advance(Dispatch& dispatch, uint64_t queued, WallTime now);
bool is_advice_due(const Dispatch& dispatch, WallTime now);

// An infrastructure that is silent for longer is not counted, and is forgotten in the end.
bool is_live(const Infrastructure& one, Millis scale_time, WallTime now);

// Slots that are wanted, of `slots` that there are now.
double slots_wanted(uint64_t slots, uint64_t queued, uint64_t dispatched);

// What an infrastructure makes of the advice; its slots stay if there is none.
uint64_t slots_advised(double required, uint64_t slots, uint64_t max_slots);

}  // namespace dunlin::balance
