// Infrastructures: who has registered, what they are advised, and the partitions that are handed
// out to them. One thread at a time, as the store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balance/advice.h"
#include "base/env.h"
#include "store/store.h"
#include "tascaas/records.pb.h"

namespace dunlin::tascaas {

inline constexpr size_t kInfrastructuresMax = 2000;  // Of a tenant.
inline constexpr uint64_t kSlotsMax = 1'000'000'000;
inline constexpr size_t kHandOutMax = 1000;  // Partitions in one answer.

balance::Dispatch dispatch_of(const Dispatch& record);
Dispatch record_of(const balance::Dispatch& dispatch);

// What every call of an infrastructure does first is balance::advance(). Its `not_found`: the
// infrastructure is unknown, or was forgotten.

// Returns its id. `full` if there are too many.
Result<std::string> register_infrastructure(Store& store, const Tenant& tenant, uint64_t slots,
                                            uint64_t max_slots, WallTime now);

// Whose infrastructure that is.
Result<Tenant> tenant_of(Table& table, const std::string& id);

struct Slots {
  std::optional<uint64_t> slots = {};
  std::optional<uint64_t> max_slots = {};
};
// A sign of life. Returns the advice.
Result<double> update(Store& store, const Tenant& tenant, const std::string& id, const Slots& slots,
                      WallTime now);
// Not a sign of life. Returns the advice.
Result<double> look_up(Store& store, const Tenant& tenant, const std::string& id, WallTime now);
Result<void> disconnect(Store& store, const Tenant& tenant, const std::string& id, WallTime now);

// For the advice: so many were handed out.
Result<void> count_dispatched(Store& store, const Tenant& tenant, size_t count, WallTime now);

// One that was handed out.
struct Handed {
  std::string job;
  size_t partition = 0;
  uint64_t iterations = 0;
  std::string input;  // The key of its data.
  Millis report_time = Millis(0);
};
// The oldest partitions that wait, at most `max`. Each goes to one infrastructure only.
Result<std::vector<Handed>> hand_out(Store& store, const Tenant& tenant, const std::string& id,
                                     size_t max, WallTime now);

// Queues again what was handed out and is lost: what did not start in time, and what has been
// silent for long, sooner if its infrastructure is gone. Leaves jobs alone that nobody has heard of
// for the tenant's timeout, until somebody does.
Result<void> reclaim(Store& store, const Tenant& tenant, WallTime now);

// As it is; nothing is advanced.
Result<balance::Dispatch> read_dispatch(Table& table, const std::string& tenant, WallTime now);

}  // namespace dunlin::tascaas
