// Tenants: who may use the service, each with a secret of its own and with jobs, files and
// infrastructures that nobody else sees. One thread at a time, as the store.
#pragma once

#include <string>
#include <vector>

#include "base/env.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

inline constexpr uint32_t kPartitionsMax = 1000;
inline constexpr size_t kTenantNameMax = 48;
inline constexpr Millis kScaleTimeMax = std::chrono::hours(24);

struct TenantSettings {
  uint32_t init_partitions = 1;
  uint32_t max_partitions = 10;
  Millis scale_time = std::chrono::seconds(300);
  Millis timeout = std::chrono::seconds(86'400);
  Millis start_time = std::chrono::seconds(1200);  // As long as the URL of its data is good.
};

// Returns the secret, which is not kept and cannot be told again. `conflict` if there is a tenant
// of that name, `invalid` says what is wrong.
Result<std::string> add_tenant(Store& store, const std::string& name,
                               const TenantSettings& settings, WallTime now);

// `not_found`
Result<Tenant> read_tenant(Table& table, const std::string& name);
Result<Tenant> find_by_secret(Table& table, const std::string& secret);

Result<std::vector<Tenant>> list_tenants(Table& table);

// With its jobs, files and infrastructures.
Result<void> remove_tenant(Store& store, const std::string& name);

// All rows under a prefix.
Result<std::vector<Row>> scan_all(Table& table, const std::string& prefix);

}  // namespace dunlin::tascaas
