// Servers that do not answer any more, and that do again: an outage is logged once and at once, and
// so is its end, however many connections of this process it meets. Safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace dunlin::net {

// `why` names the place. `patience`: how many failures in a row are still none.
void note_failure(const std::string& place, std::string_view why, int patience = 0);

// Cheap while there is no outage.
void note_answer(const std::string& place);

}  // namespace dunlin::net
