// Changes the row with the infrastructures of a tenant: reads it, changes it, and writes it if
// nobody else was quicker; else again, a bounded number of times. Only for this folder. One thread
// at a time, as the store.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/rows.h"
#include "store/compare_and_set.h"
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

// The rows of infrastructures that are not in the list any more, which say whose they were: they
// are to be erased. Workers that follow the advice have no such rows.
inline std::vector<std::string> nodes_gone(const std::string& tenant,
                                           const std::vector<balance::Infrastructure>& before,
                                           balance::Dispatch& after) {
  std::set<std::string> rows;
  if (tenant.empty()) return {};
  for (const balance::Infrastructure& one : before) {
    if (after.find(one.id) == nullptr) rows.insert(node_row(one.id));
  }
  return {rows.begin(), rows.end()};
}

// What a request does first, once: time goes on for the advice.
enum class Advance { yes, no };

// Reads the row, goes on in time, changes and writes it, until nobody else was quicker. `change`
// may fail: then only the time has gone on. queued() says what waits, if advice is due. `first` is
// written with a change that did not fail, and before it.
template <typename Queued, typename Change>
auto change_dispatch(Store& store, const std::string& tenant, Millis scale_time, WallTime now,
                     const Queued& queued, const Change& change,
                     const std::vector<Write>& first = {}, Advance advance = Advance::yes)
    -> decltype(change(std::declval<balance::Dispatch&>())) {
  constexpr size_t kErasesMax = 50;  // A store may take few rows at once; the others go later.
  using Changed = decltype(change(std::declval<balance::Dispatch&>()));
  const std::string key = dispatch_row(tenant);
  const Error busy = {Code::unavailable, "the infrastructures change all the time: try again"};
  // What `change` fails with is written all the same: it is a value here.
  auto written = compare_and_set(busy, [&]() -> Round<Changed> {
    const auto row = TRY(read_record<Dispatch>(store.table(), kTable, key));
    balance::Dispatch dispatch = dispatch_in(row, now);
    dispatch.scale_time = scale_time;
    const std::vector<balance::Infrastructure> before = dispatch.infrastructures;
    if (advance == Advance::yes) {
      const uint64_t waiting = balance::is_advice_due(dispatch, now) ? TRY(queued()) : 0;
      balance::advance(dispatch, waiting, now);
    }
    std::optional<Changed> changed = change(dispatch);
    const std::string value = record_of(dispatch).SerializeAsString();
    if (row.version != 0 && value == row.record.SerializeAsString()) return changed;
    // Together: a service that died on the way would leave rows that nobody finds again.
    const std::string table(kTable);
    std::vector<Write> writes;
    if (changed->ok()) writes = first;
    writes.emplace_back(Put{table, key, value, row.version});
    const std::vector<std::string> gone = nodes_gone(tenant, before, dispatch);
    const size_t some = std::min(gone.size(), kErasesMax);
    for (size_t i = 0; i < some; ++i) writes.emplace_back(Erase{table, gone[i], kAnyVersion});
    if (!TRY(unless_conflict(store.commit(writes)))) return std::optional<Changed>();
    for (size_t i = some; i < gone.size(); ++i) {
      TRY(store.table().erase(kTable, gone[i], kAnyVersion));
    }
    return changed;
  });
  return TRY(std::move(written));
}

}  // namespace dunlin::tascaas
