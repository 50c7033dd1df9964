#include "tascaas/tenants.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "base/names.h"
#include "model/rows.h"
#include "tascaas/intake.h"
#include "tascaas/keys.h"

namespace dunlin::tascaas {
namespace {

constexpr size_t kSecretBytes = 24;
constexpr size_t kScanPage = 500;
constexpr Millis kDropHold = std::chrono::seconds(60);

Error no_tenant(const std::string& name) {
  return {Code::not_found,
          fmt::format("there is no tenant {}: `dunlin tenant list` shows the tenants that exist",
                      quote(name))};
}

Result<void> check(const std::string& name, const TenantSettings& settings) {
  if (!is_name(name) || name.size() > kTenantNameMax) {
    return Error{Code::invalid,
                 fmt::format("a tenant's name has 1 to {} characters of A-Z a-z 0-9 . _ -: not {}",
                             kTenantNameMax, quote(name))};
  }
  if (settings.max_partitions < 1 || settings.max_partitions > kPartitionsMax ||
      settings.init_partitions < 1 || settings.init_partitions > settings.max_partitions) {
    return Error{Code::invalid,
                 fmt::format("--init-partitions must be at least 1 and at most --max-partitions, "
                             "which is at most {}",
                             kPartitionsMax)};
  }
  if (settings.scale_time < Millis(100) || settings.scale_time > kScaleTimeMax) {
    return Error{Code::invalid, "--scale-time must be between 100ms and 24h"};
  }
  if (settings.timeout < Millis(1000) || settings.start_time < Millis(100)) {
    return Error{Code::invalid, "--timeout must be at least 1s and --start-time at least 100ms"};
  }
  return {};
}

Result<void> erase_all(Table& table, const std::string& prefix) {
  for (const Row& row : TRY(scan_all(table, prefix))) {
    TRY(table.erase(kTable, row.key, kAnyVersion));
  }
  return {};
}

Result<void> empty_queue(Queue& queue, const std::string& name) {
  while (true) {
    const std::vector<Delivery> some = TRY(queue.pull(name, 1000, kDropHold, Millis(0)));
    if (some.empty()) return {};
    std::vector<Lease> leases;
    leases.reserve(some.size());
    for (const Delivery& one : some) leases.push_back(one.lease);
    TRY(queue.finish(name, leases));
  }
}

}  // namespace

Result<std::vector<Row>> scan_all(Table& table, const std::string& prefix) {
  std::vector<Row> all;
  std::string after;
  while (true) {
    std::vector<Row> some = TRY(table.scan(kTable, prefix, after, kScanPage));
    if (some.empty()) return all;
    after = some.back().key;
    for (Row& row : some) all.push_back(std::move(row));
  }
}

Result<std::string> add_tenant(Store& store, const std::string& name,
                               const TenantSettings& settings, WallTime now) {
  TRY(check(name, settings));
  const std::string secret = hex(random_bytes(kSecretBytes));
  Tenant tenant;
  tenant.set_name(name);
  tenant.set_secret_hash(hex(sha256(secret)));
  tenant.set_init_partitions(settings.init_partitions);
  tenant.set_max_partitions(settings.max_partitions);
  tenant.set_scale_ms(settings.scale_time.count());
  tenant.set_timeout_ms(settings.timeout.count());
  tenant.set_start_ms(settings.start_time.count());
  tenant.set_created_ms(to_ms(now));
  const std::string table(kTable);
  const Write writes[] = {
      Put{table, tenant_row(name), tenant.SerializeAsString(), 0},
      Put{table, secret_row(tenant.secret_hash()), name, 0},
  };
  const Result<uint64_t> added = store.commit(writes);
  if (added.ok()) return secret;
  if (added.error().code != Code::conflict) return added.error();
  return Error{
      Code::conflict,
      fmt::format("the tenant {} exists already: choose another name, or remove that one first",
                  name)};
}

Result<Tenant> read_tenant(Table& table, const std::string& name) {
  if (!is_name(name)) return no_tenant(name);
  auto stored = TRY(read_record<Tenant>(table, kTable, tenant_row(name)));
  if (stored.version == 0) return no_tenant(name);
  return std::move(stored.record);
}

Result<Tenant> find_by_secret(Table& table, const std::string& secret) {
  const Row row = TRY(get_row(table, kTable, secret_row(hex(sha256(secret)))));
  if (row.version == 0) return Error{Code::not_found, "no tenant has this secret"};
  return read_tenant(table, row.value);
}

Result<std::vector<Tenant>> list_tenants(Table& table) {
  std::vector<Tenant> tenants;
  for (const Row& row : TRY(scan_all(table, tenant_row("")))) {
    tenants.push_back(TRY(parse_row<Tenant>(kTable, row)).record);
  }
  return tenants;
}

Result<void> remove_tenant(Store& store, const std::string& name) {
  Table& table = store.table();
  const Tenant tenant = TRY(read_tenant(table, name));
  // From here on nobody comes in any more; the tenant's own row goes last, so that a removal that
  // was cut off can be repeated.
  TRY(table.erase(kTable, secret_row(tenant.secret_hash()), kAnyVersion));
  const auto dispatch = TRY(read_record<Dispatch>(table, kTable, dispatch_row(name)));
  for (const Infrastructure& one : dispatch.record.infrastructures()) {
    TRY(table.erase(kTable, node_row(one.id()), kAnyVersion));
  }
  TRY(table.erase(kTable, dispatch_row(name), kAnyVersion));
  const std::string intakes = intake_row(name, "");
  for (const Row& row : TRY(scan_all(table, intakes))) {
    const std::string digest = row.key.substr(intakes.size());
    const Intake intake = TRY(parse_row<Intake>(kTable, row)).record;
    TRY(table.erase(kTable, job_row(job_of(digest, intake)), kAnyVersion));
  }
  TRY(erase_all(table, intakes));
  TRY(erase_all(table, active_row(name, "")));
  TRY(empty_queue(store.queue(), queue_of(name)));
  TRY(erase_all(table, file_row(name, "")));
  while (true) {
    const std::vector<BlobInfo> blobs = TRY(store.blobs().list(blob_prefix(name), "", kScanPage));
    if (blobs.empty()) break;
    for (const BlobInfo& blob : blobs) TRY(store.blobs().erase(blob.name));
  }
  return table.erase(kTable, tenant_row(name), kAnyVersion);
}

}  // namespace dunlin::tascaas
