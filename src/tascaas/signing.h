// The key with which the services on a store sign URLs: made once, by whichever needs it first.
#pragma once

#include <string>

#include "base/result.h"
#include "store/store.h"

namespace dunlin::tascaas {

Result<std::string> signing_key(Table& table);

}  // namespace dunlin::tascaas
