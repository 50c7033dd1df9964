// What an engine holds and says, as text, so that two engines can be compared. Versions and tokens
// are left out: engines number in their own ways. One thread, that of the engine.
#pragma once

#include <string>

#include "store/request.h"
#include "stores/engine/index.h"

namespace dunlin {

std::string shape(const Answer& answer);

// Everything in the store. Pulls all messages that are not held, so it is for copies.
std::string dump(Core& core, Instant now);

// All that an index knows, with positions and leases.
enum class Leases { shown, left_out };
std::string describe(const engine::Index& index, Leases leases = Leases::shown);

}  // namespace dunlin
