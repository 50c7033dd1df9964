#include "tascaas/retire.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/keys.h"
#include "model/rows.h"
#include "tascaas/intake.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/records.pb.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

constexpr size_t kPage = 100;  // Rows of jobs may be large.
constexpr std::string_view kIntakes = "intake/";
constexpr std::string_view kFiles = "file/";

struct Look {
  Store& store;
  const model::Retention& rule;
  WallTime now;
  std::map<std::string, Tenant> tenants = {};  // By name.
};

// 0: for ever.
uint64_t least_keep(const model::Retention& rule) {
  if (rule.keep_ms() == 0 || rule.keep_failed_ms() == 0) {
    return std::max(rule.keep_ms(), rule.keep_failed_ms());
  }
  return std::min(rule.keep_ms(), rule.keep_failed_ms());
}

bool is_over(WallTime end, uint64_t keep_ms, WallTime now) {
  if (keep_ms == 0 || keep_ms > kKeepMost) return false;
  return end + Millis(static_cast<int64_t>(keep_ms)) <= now;
}

// Of what is "PREFIX" + NAME + "/" + REST.
struct Parts {
  std::string tenant;
  std::string rest;
};
Parts split(const std::string& key, std::string_view prefix) {
  const size_t slash = std::min(key.find('/', prefix.size()), key.size() - 1);
  return {key.substr(prefix.size(), slash - prefix.size()), key.substr(slash + 1)};
}

bool is_due(const Look& look, const Intake& intake, const Stored<Job>& job, const Tenant& tenant) {
  const WallTime taken = from_ms(intake.at_ms());
  if (!intake.refused().empty()) return is_over(taken, look.rule.keep_failed_ms(), look.now);
  if (job.version == 0) return is_over(taken, least_keep(look.rule), look.now);  // It was cut off.
  if (job.record.ended_ms() == 0) {
    const WallTime given_up = last_sign(job.record) + Millis(tenant.timeout_ms());
    return is_over(given_up, look.rule.keep_failed_ms(), look.now);
  }
  // A service whose clock is far behind must not make the job old.
  const WallTime ended = from_ms(std::max(job.record.ended_ms(), job.record.created_ms()));
  return is_over(ended, look.rule.keep_ms(), look.now);
}

// The row of the job is compared first: if a partition was heard meanwhile, it has changed.
Result<void> erase_job(Look& look, const Row& intake, const Row& job, const std::string& tenant) {
  const std::string table(kTable);
  const std::string id = job.key.substr(job_row("").size());
  std::vector<Write> writes;
  if (job.version != 0) writes.emplace_back(Erase{table, job.key, job.version});
  writes.emplace_back(Erase{table, active_row(tenant, id), kAnyVersion});
  writes.emplace_back(Erase{table, intake.key, intake.version});
  const auto erased = look.store.commit(writes);
  if (!erased.ok() && erased.error().code != Code::conflict) return erased.error();
  return {};
}

Result<void> retire_jobs(Look& look, const std::vector<Row>& intakes) {
  std::vector<std::string> keys;
  for (const Row& row : intakes) {
    const auto intake = parse_row<Intake>(kTable, row);
    const std::string digest = split(row.key, kIntakes).rest;
    keys.push_back(job_row(intake.ok() ? job_of(digest, intake.value().record) : digest));
  }
  const std::vector<Row> jobs = TRY(get_rows(look.store.table(), kTable, keys));
  for (size_t i = 0; i < intakes.size(); ++i) {
    const Parts parts = split(intakes[i].key, kIntakes);
    const auto tenant = look.tenants.find(parts.tenant);
    const auto intake = parse_row<Intake>(kTable, intakes[i]);
    const auto job = parse_row<Job>(kTable, jobs[i]);
    // A tenant that is being removed takes all with it; what is damaged stays, for people.
    if (tenant == look.tenants.end() || !intake.ok() || !job.ok()) continue;
    if (!is_due(look, intake.value().record, job.value(), tenant->second)) continue;
    TRY(erase_job(look, intakes[i], jobs[i], parts.tenant));
  }
  return {};
}

// The job whose results are in the file; nothing if it is no such file, or not old enough.
std::optional<std::string> job_of_old(const Look& look, const Row& row) {
  const std::string key = split(row.key, kFiles).rest;
  const auto file = parse_row<File>(kTable, row);
  if (!key.starts_with(kResults) || !file.ok()) return {};
  const WallTime modified = from_ms(file.value().record.modified_ms());
  if (!is_over(modified, least_keep(look.rule), look.now)) return {};
  return key.substr(kResults.size(), key.find('/', kResults.size()) - kResults.size());
}

Result<void> retire_results(Look& look, const std::vector<Row>& files) {
  std::set<std::string> keys;
  for (const Row& row : files) {
    if (const auto job = job_of_old(look, row)) keys.insert(job_row(*job));
  }
  std::set<std::string> there;
  for (const Row& row : TRY(get_rows(look.store.table(), kTable, {keys.begin(), keys.end()}))) {
    if (row.version != 0) there.insert(row.key);
  }
  for (const Row& row : files) {
    const auto job = job_of_old(look, row);
    if (!job || there.contains(job_row(*job))) continue;
    // The row last: by it the bytes are found again.
    const auto file = TRY(parse_row<File>(kTable, row));
    TRY(look.store.blobs().erase(file.record.blob()));
    const auto erased = look.store.table().erase(kTable, row.key, row.version);
    if (!erased.ok() && erased.error().code != Code::conflict) return erased.error();
  }
  return {};
}

// Some rows behind `after`, which is where the next look goes on; empty: at the beginning.
template <typename Retire>
Result<std::string> go_through(Look& look, std::string_view prefix, std::string after,
                               const Retire& retire_some) {
  for (size_t left = kRetireRows; left > 0;) {
    const std::vector<Row> rows =
        TRY(look.store.table().scan(kTable, prefix, after, std::min(left, kPage)));
    if (rows.empty()) return std::string();
    TRY(retire_some(look, rows));
    after = rows.back().key;
    left -= std::min(left, rows.size());
  }
  return after;
}

}  // namespace

Result<void> retire(Store& store, const model::Retention& rule, WallTime now) {
  if (least_keep(rule) == 0) return {};
  Look look{store, rule, now};
  for (const Tenant& tenant : TRY(list_tenants(store.table()))) {
    look.tenants.emplace(tenant.name(), tenant);
  }
  if (look.tenants.empty()) return {};
  const std::string state(kRetiringRow);
  const Retiring before = TRY(read_record<Retiring>(store.table(), kTable, state)).record;
  Retiring after;
  after.set_intake(TRY(go_through(look, kIntakes, before.intake(), retire_jobs)));
  after.set_file(TRY(go_through(look, kFiles, before.file(), retire_results)));
  const std::string value = after.SerializeAsString();
  if (value == before.SerializeAsString()) return {};
  TRY(store.table().put(kTable, {state, value, kAnyVersion}));
  return {};
}

}  // namespace dunlin::tascaas
