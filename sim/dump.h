// What an engine holds and says, as text, so that two engines can be compared. Versions and tokens
// are left out: engines number in their own ways.
#pragma once

#include <string>

#include "store/request.h"

namespace dunlin {

std::string shape(const Answer& answer);

// Everything in the store. Pulls all messages that are not held, so it is for copies.
std::string dump(Core& core, Instant now);

}  // namespace dunlin
