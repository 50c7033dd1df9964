// Job files taken in with ids that somebody else makes: a simulation must be able to run twice, so
// there they come from its seed. Everybody else uses tascaas/intake.h. One thread at a time, as the
// store.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tascaas/intake.h"

namespace dunlin::tascaas {

using JobIds = std::function<std::string(std::string_view name)>;

Result<std::vector<Taken>> take_in(Store& store, const Tenant& tenant, WallTime now,
                                   const JobIds& ids);

}  // namespace dunlin::tascaas
