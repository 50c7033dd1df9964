// The infrastructures of all tenants and what each is advised, for people and scripts. One thread
// at a time, as the store.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "balance/advice.h"
#include "base/env.h"
#include "base/result.h"
#include "store/store.h"

namespace dunlin::tascaas {

struct InfraStatus {
  std::string tenant;  // Empty: it is a worker that runs Dunlin's own tasks.
  balance::Infrastructure infrastructure;
  bool live = false;
  double required = -1;  // Of all slots that the tenant could have, a part; -1: no advice yet.

  std::string_view state() const { return live ? "live" : "silent"; }
  uint64_t advised() const;
};

Result<std::vector<InfraStatus>> list_infrastructures(Table& table, WallTime now);

nlohmann::ordered_json infra_json(const InfraStatus& status);

}  // namespace dunlin::tascaas
