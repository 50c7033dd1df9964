// The key with which the services on a store sign URLs: made once, by whichever service needs it
// first, and the same for all. Blocks; one thread at a time, as the store.
#pragma once

#include <string>

#include "base/result.h"
#include "store/store.h"

namespace dunlin::tascaas {

Result<std::string> signing_key(Table& table);

}  // namespace dunlin::tascaas
