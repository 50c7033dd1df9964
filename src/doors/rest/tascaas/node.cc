// /node/*: infrastructures register, say that they live, fetch partitions and leave.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "doors/rest/bodies/signed_url.h"
#include "doors/rest/tascaas/calls.h"
#include "tascaas/dispatcher.h"
#include "tascaas/intake.h"
#include "tascaas/tenants.h"

namespace dunlin::rest {
namespace {

using nlohmann::ordered_json;

constexpr Millis kDataLife = std::chrono::seconds(1200);  // Of the URL of a partition's data.
constexpr Millis kLookEvery = std::chrono::seconds(1);
constexpr Millis kReclaimMost = std::chrono::seconds(10);

int64_t scale_seconds(const tascaas::Tenant& tenant) {
  return std::chrono::ceil<std::chrono::seconds>(Millis(tenant.scale_ms())).count();
}

Result<void> reply_json(Call& call, const ordered_json& body) {
  // Also with bytes that a client has sent, as in Host.
  return call.reply(200, "application/json",
                    body.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

// New job files become jobs, and what was lost is queued again; not with every request.
Result<void> look(Call& call, Store& store, const tascaas::Tenant& tenant) {
  const Instant now = call.setting().clock.now();
  ServiceCache& cache = call.setting().cache;
  if (cache.due("look/" + tenant.name(), now, kLookEvery)) {
    for (const tascaas::Taken& taken : TRY(tascaas::take_in(store, tenant, call.now()))) {
      log::info("job file tenant={} file={} job={} refused={}", tenant.name(), taken.file,
                taken.job, taken.refused.empty() ? "no" : taken.refused);
    }
  }
  const Millis every = std::clamp(Millis(tenant.scale_ms()) / 5, kLookEvery, kReclaimMost);
  if (cache.due("reclaim/" + tenant.name(), now, every)) {
    TRY(tascaas::reclaim(store, tenant, call.now()));
  }
  return {};
}

// Who asked has nothing to do with it: it is answered even if that fails.
void look_after(Call& call, Store& store, const tascaas::Tenant& tenant) {
  const Result<void> looked = look(call, store, tenant);
  if (looked.ok()) return;
  log::warning("cannot look after jobs tenant={}: {}", tenant.name(), looked.error().what);
}

// Of the infrastructure in the path. Nothing, after a reply, if it is unknown.
Result<std::optional<tascaas::Tenant>> known_tenant(Call& call, Store& store) {
  Result<tascaas::Tenant> tenant = tascaas::tenant_of(store.table(), call.path("id"));
  if (tenant.ok()) return std::optional(std::move(tenant).value());
  if (tenant.error().code != Code::not_found) return tenant.error();
  TRY(call.reply(unknown_infrastructure()));
  return std::optional<tascaas::Tenant>();
}

// Replies to an unknown one itself.
template <typename Value>
Result<std::optional<Value>> or_unknown(Call& call, const Result<Value>& result) {
  if (result.ok()) return std::optional(result.value());
  if (result.error().code != Code::not_found) return result.error();
  TRY(call.reply(unknown_infrastructure()));
  return std::optional<Value>();
}

Result<void> do_register(Call& call, Store& store) {
  if (call.head().query.empty()) return call.reply(plain_text(400, "missing query parameters"));
  const std::string* secret = call.query("secret");
  const auto tenant = tascaas::find_by_secret(store.table(), secret ? *secret : "");
  if (!tenant.ok() && tenant.error().code != Code::not_found) return tenant.error();
  if (!tenant.ok() || secret == nullptr) return call.reply(plain_text(401, "Unauthorized"));
  const Given slots = given(call, "slots", 0, tascaas::kSlotsMax);
  if (slots.missing) return call.reply(plain_text(400, "missing available slots number"));
  const Given most = given(call, "maxSlots", 1, tascaas::kSlotsMax);
  if (most.missing) return call.reply(plain_text(400, "missing available \"maxSlots\" number"));
  if (!slots.number) return call.reply(plain_text(400, "invalid available slots number"));
  if (!most.number) return call.reply(plain_text(400, "invalid available \"maxSlots\" number"));
  const std::string id = TRY(tascaas::register_infrastructure(store, tenant.value(), *slots.number,
                                                              *most.number, call.now()));
  look_after(call, store, tenant.value());
  return reply_json(call, {{"id", id}, {"scaleTime", scale_seconds(tenant.value())}});
}

Result<void> do_update(Call& call, Store& store) {
  const auto tenant = TRY(known_tenant(call, store));
  if (!tenant) return {};
  const Given slots = given(call, "slots", INT64_MIN, tascaas::kSlotsMax);
  const Given most = given(call, "maxSlots", INT64_MIN, tascaas::kSlotsMax);
  if (!slots.missing && !slots.said) {
    return call.reply(plain_text(400, "invalid available slots number"));
  }
  if (!most.missing && !most.said) {
    return call.reply(plain_text(400, "invalid available \"maxSlots\" number"));
  }
  tascaas::Slots change;  // What makes no sense is not taken, but it is a sign of life.
  if (!slots.missing && *slots.said >= 0) change.slots = static_cast<uint64_t>(*slots.said);
  if (!most.missing && *most.said > 0) change.max_slots = static_cast<uint64_t>(*most.said);
  const auto required =
      TRY(or_unknown(call, tascaas::update(store, *tenant, call.path("id"), change, call.now())));
  if (!required) return {};
  look_after(call, store, *tenant);
  const double epoch = static_cast<double>(call.now().time_since_epoch().count()) / 1000;
  return reply_json(call, {{"requiredCap", fmt::format("{}", *required)},
                           {"scaleTime", scale_seconds(*tenant)},
                           {"epoch", epoch}});
}

ordered_json config_of(const Call& call, const tascaas::Tenant& tenant,
                       const tascaas::Handed& handed, const std::string& signing_key) {
  const Permit permit{"GET", tenant.name(), handed.input, tenant.created_ms()};
  const auto report = std::chrono::floor<std::chrono::seconds>(handed.report_time).count();
  return {{"ID", handed.job},
          {"reportTime", std::to_string(report)},
          {"worker", std::to_string(handed.partition)},
          {"data-url", signed_url(call.base_url(), permit, signing_key, call.now(), kDataLife)},
          {"nIter", std::to_string(handed.iterations)}};
}

Result<void> do_jobs(Call& call, Store& store) {
  const auto tenant = TRY(known_tenant(call, store));
  if (!tenant) return {};
  const std::string& id = call.path("id");
  const auto required = TRY(or_unknown(call, tascaas::look_up(store, *tenant, id, call.now())));
  if (!required) return {};
  if (call.head().query.empty()) return call.reply(plain_text(400, "missing query parameters"));
  const Given slots = given(call, "slots", 1, tascaas::kSlotsMax);
  if (slots.missing) return call.reply(plain_text(400, "missing available slots number"));
  if (!slots.number) return call.reply(plain_text(400, "Invalid number of requested jobs"));
  look_after(call, store, *tenant);
  const std::string key = TRY(call.setting().cache.signing_key(store.table()));
  const auto handed = TRY(tascaas::hand_out(store, *tenant, id, *slots.number, call.now()));
  ordered_json body = {{"requiredCap", fmt::format("{}", *required)}};
  for (const tascaas::Handed& one : handed) {
    body["configs"].push_back(config_of(call, *tenant, one, key));
  }
  return reply_json(call, body);
}

Result<void> do_disconnect(Call& call, Store& store) {
  const auto tenant = TRY(known_tenant(call, store));
  if (!tenant) return {};
  const auto gone = tascaas::disconnect(store, *tenant, call.path("id"), call.now());
  if (!gone.ok() && gone.error().code == Code::not_found) {
    return call.reply(unknown_infrastructure());
  }
  TRY(gone);
  (void)tascaas::reclaim(store, *tenant, call.now()).ok();  // Else somebody does it later.
  return call.reply(plain_text(200, "Done"));
}

constexpr std::string_view kRegistered = R"({"type":"object","properties":{
    "id":{"type":"string"},"scaleTime":{"type":"integer"}},"required":["id","scaleTime"]})";
constexpr std::string_view kUpdated = R"({"type":"object","properties":{
    "requiredCap":{"type":"string","description":"Of all possible slots; -1: nothing is known yet"},
    "scaleTime":{"type":"integer"},"epoch":{"type":"number"}},
  "required":["requiredCap","scaleTime","epoch"]})";
constexpr std::string_view kHanded = R"({"type":"object","properties":{
    "requiredCap":{"type":"string"},
    "configs":{"type":"array","description":"Absent if nothing waits","items":{"type":"object",
      "properties":{"ID":{"type":"string"},"reportTime":{"type":"string"},
        "worker":{"type":"string"},"data-url":{"type":"string"},"nIter":{"type":"string"}},
      "required":["ID","reportTime","worker","data-url","nIter"]}}},
  "required":["requiredCap"]})";

constexpr Parameter slots_named(std::string_view name, bool required, int64_t least,
                                std::string_view summary) {
  return {.name = name,
          .type = Type::number,
          .required = required,
          .least = least,
          .most = static_cast<int64_t>(tascaas::kSlotsMax),
          .summary = summary};
}

}  // namespace

void add_node_routes(std::vector<Route>& routes) {
  routes.push_back({.method = "GET",
                    .pattern = "/node/register",
                    .summary = "An infrastructure comes",
                    .parameters = {{.name = "secret", .required = true, .summary = "The tenant's"},
                                   slots_named("slots", true, 0, "That it has now"),
                                   slots_named("maxSlots", true, 1, "That it may have")},
                    .reply_schema = kRegistered,
                    .handler = do_register});
  routes.push_back({.method = "GET",
                    .pattern = "/node/{id}/update",
                    .summary = "A sign of life, and how many slots it has",
                    .parameters = {kInfraPath, slots_named("slots", false, 0, "That it has now"),
                                   slots_named("maxSlots", false, 1, "That it may have")},
                    .reply_schema = kUpdated,
                    .handler = do_update});
  routes.push_back({.method = "GET",
                    .pattern = "/node/{id}/jobs",
                    .summary = "Partitions for free slots",
                    .parameters = {kInfraPath, slots_named("slots", true, 1, "That are free")},
                    .reply_schema = kHanded,
                    .handler = do_jobs});
  routes.push_back({.method = "GET",
                    .pattern = "/node/{id}/disconnect",
                    .summary = "An infrastructure leaves",
                    .parameters = {kInfraPath},
                    .reply_schema = kText,
                    .handler = do_disconnect,
                    .reply_type = kTextType});
}

}  // namespace dunlin::rest
