// How the row with the infrastructures of a tenant is changed. Only for this folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/rows.h"
#include "tascaas/dispatcher.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"

namespace dunlin::tascaas {

inline balance::Dispatch dispatch_in(const Stored<Dispatch>& row, WallTime now) {
  if (row.version != 0) return dispatch_of(row.record);
  balance::Dispatch fresh;
  fresh.resumed = now;
  return fresh;
}

// Who is in the list no more is nobody's.
inline Result<void> forget_gone(Table& table, const std::vector<balance::Infrastructure>& before,
                                balance::Dispatch& after) {
  for (const balance::Infrastructure& one : before) {
    if (after.find(one.id) != nullptr) continue;
    TRY(table.erase(kTable, node_row(one.id), kAnyVersion));
  }
  return {};
}

// Reads the row, goes on in time, changes and writes it, until nobody else was quicker. `change`
// may fail: then only the time has gone on. queued() says what waits, if advice is due.
template <typename Queued, typename Change>
auto change_dispatch(Table& table, const std::string& tenant, Millis scale_time, WallTime now,
                     const Queued& queued, const Change& change)
    -> decltype(change(std::declval<balance::Dispatch&>())) {
  const std::string key = dispatch_row(tenant);
  for (int tries = 0; tries < kTries; ++tries) {
    const auto row = TRY(read_record<Dispatch>(table, kTable, key));
    balance::Dispatch dispatch = dispatch_in(row, now);
    dispatch.scale_time = scale_time;
    const std::vector<balance::Infrastructure> before = dispatch.infrastructures;
    const uint64_t waiting = balance::is_advice_due(dispatch, now) ? TRY(queued()) : 0;
    balance::advance(dispatch, waiting, now);
    auto changed = change(dispatch);
    const std::string value = record_of(dispatch).SerializeAsString();
    if (row.version != 0 && value == row.record.SerializeAsString()) return changed;
    const auto put = table.put(kTable, {key, value, row.version});
    if (put.ok()) {
      TRY(forget_gone(table, before, dispatch));
      return changed;
    }
    if (put.error().code != Code::conflict) return put.error();
  }
  return Error{Code::unavailable, "the infrastructures change all the time: try again"};
}

}  // namespace dunlin::tascaas
