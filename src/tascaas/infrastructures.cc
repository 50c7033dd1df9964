#include "tascaas/infrastructures.h"

#include <nlohmann/json.hpp>

#include "model/views/json.h"
#include "tascaas/dispatcher.h"
#include "tascaas/followers.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {

uint64_t InfraStatus::advised() const {
  return balance::slots_advised(required, infrastructure.slots, infrastructure.max_slots);
}

Result<std::vector<InfraStatus>> list_infrastructures(Table& table, WallTime now) {
  std::vector<std::string> tenants = {std::string(kOwnTasks)};
  for (const Tenant& tenant : TRY(list_tenants(table))) tenants.push_back(tenant.name());
  std::vector<InfraStatus> all;
  for (const std::string& tenant : tenants) {
    const auto dispatch = TRY(read_dispatch(table, tenant, now));
    for (const balance::Infrastructure& one : dispatch.infrastructures) {
      const bool live = balance::is_live(one, dispatch.scale_time, now);
      all.push_back({tenant, one, live, dispatch.required});
    }
  }
  return all;
}

nlohmann::ordered_json infra_json(const InfraStatus& status) {
  const balance::Infrastructure& one = status.infrastructure;
  nlohmann::ordered_json object = json_object();
  object["tenant"] = status.tenant;
  object["infrastructure"] = one.id;
  object["slots"] = one.slots;
  object["max_slots"] = one.max_slots;
  object["seen_ms"] = one.seen.time_since_epoch().count();
  object["state"] = status.state();
  object["required_cap"] = status.required;
  object["advised_slots"] = status.advised();
  return object;
}

}  // namespace dunlin::tascaas
