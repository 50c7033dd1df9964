#include "tascaas/dispatcher.h"

#include <fmt/format.h>
#include <utility>

#include "base/digest.h"
#include "base/names.h"
#include "tascaas/change_dispatch.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

constexpr size_t kIdMax = 64;

Error unknown() { return {Code::not_found, "there is no such infrastructure"}; }

// Of a tenant: what waits is in its queue.
template <typename Change>
auto change_dispatch(Store& store, const Tenant& tenant, WallTime now, const Change& change,
                     const std::vector<Write>& first = {}, Advance advance = Advance::yes)
    -> decltype(change(std::declval<balance::Dispatch&>())) {
  const auto queued = [&]() -> Result<uint64_t> {
    return TRY(store.queue().depth(queue_of(tenant.name()))).ready;
  };
  return change_dispatch(store, tenant.name(), Millis(tenant.scale_ms()), now, queued, change,
                         first, advance);
}

}  // namespace

balance::Dispatch dispatch_of(const Dispatch& record) {
  balance::Dispatch dispatch;
  dispatch.scale_time = Millis(record.scale_ms());
  dispatch.resumed = from_ms(record.resumed_ms());
  dispatch.scaling = record.scaling();
  dispatch.dispatched = record.dispatched();
  dispatch.required = record.required();
  for (const Infrastructure& one : record.infrastructures()) {
    dispatch.infrastructures.push_back(
        {one.id(), from_ms(one.seen_ms()), one.slots(), one.max_slots()});
  }
  return dispatch;
}

Dispatch record_of(const balance::Dispatch& dispatch) {
  Dispatch record;
  record.set_scale_ms(dispatch.scale_time.count());
  record.set_resumed_ms(to_ms(dispatch.resumed));
  record.set_scaling(dispatch.scaling);
  record.set_dispatched(dispatch.dispatched);
  record.set_required(dispatch.required);
  for (const balance::Infrastructure& one : dispatch.infrastructures) {
    Infrastructure& to = *record.add_infrastructures();
    to.set_id(one.id);
    to.set_seen_ms(to_ms(one.seen));
    to.set_slots(one.slots);
    to.set_max_slots(one.max_slots);
  }
  return record;
}

Result<balance::Dispatch> read_dispatch(Table& table, const std::string& tenant, WallTime now) {
  return dispatch_in(TRY(read_record<Dispatch>(table, kTable, dispatch_row(tenant))), now);
}

Result<std::string> register_infrastructure(Store& store, const Tenant& tenant, uint64_t slots,
                                            uint64_t max_slots, WallTime now) {
  const std::string id = uuid_from(random_bytes(16));
  const std::vector<Write> node = {
      Put{std::string(kTable), node_row(id), tenant.name(), kAnyVersion}};
  return change_dispatch(
      store, tenant, now,
      [&](balance::Dispatch& dispatch) -> Result<std::string> {
        // It is there if an answer was lost and others have changed the row since.
        if (dispatch.find(id) != nullptr) return id;
        if (dispatch.infrastructures.size() >= kInfrastructuresMax) {
          return Error{Code::full, "there are too many infrastructures"};
        }
        dispatch.infrastructures.push_back({id, now, slots, max_slots});
        return id;
      },
      node);
}

Result<Tenant> tenant_of(Table& table, const std::string& id) {
  if (!is_visible(id, kIdMax)) return unknown();
  const Row row = TRY(get_row(table, kTable, node_row(id)));
  if (row.version == 0) return unknown();
  return read_tenant(table, row.value);
}

Result<double> update(Store& store, const Tenant& tenant, const std::string& id, const Slots& slots,
                      WallTime now) {
  return change_dispatch(store, tenant, now, [&](balance::Dispatch& dispatch) -> Result<double> {
    balance::Infrastructure* found = dispatch.find(id);
    if (found == nullptr) return unknown();
    found->seen = now;
    if (slots.slots) found->slots = *slots.slots;
    if (slots.max_slots) found->max_slots = *slots.max_slots;
    return dispatch.required;
  });
}

Result<double> look_up(Store& store, const Tenant& tenant, const std::string& id, WallTime now) {
  return change_dispatch(store, tenant, now, [&](balance::Dispatch& dispatch) -> Result<double> {
    if (dispatch.find(id) == nullptr) return unknown();
    return dispatch.required;
  });
}

Result<void> disconnect(Store& store, const Tenant& tenant, const std::string& id, WallTime now) {
  return change_dispatch(store, tenant, now, [&](balance::Dispatch& dispatch) -> Result<void> {
    if (dispatch.find(id) == nullptr) return unknown();
    std::erase_if(dispatch.infrastructures,
                  [&](const balance::Infrastructure& one) { return one.id == id; });
    return {};
  });
}

Result<void> count_dispatched(Store& store, const Tenant& tenant, size_t count, WallTime now) {
  const auto add = [&](balance::Dispatch& dispatch) -> Result<void> {
    if (!dispatch.scaling) dispatch.dispatched += count;
    return {};
  };
  return change_dispatch(store, tenant, now, add, {}, Advance::no);
}

}  // namespace dunlin::tascaas
