// The families of routes that the service has, each in a folder or a file of its own. Another one
// is a line in all_families(). Pure; the handlers run in the threads of their connections.
#pragma once

#include <vector>

#include "doors/rest/server/route.h"

namespace dunlin::rest {

// Our own API under /api/v1, that of TaScaaS's tenants under /tenant/v1, and last TaScaaS's own
// routes, under any prefix, as its clients know them.
std::vector<Family> all_families();

}  // namespace dunlin::rest
