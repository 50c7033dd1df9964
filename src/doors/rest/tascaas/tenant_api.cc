// /tenant/v1: what a tenant does with its own secret, without a token of the hub: it puts its
// inputs and job files, looks at its jobs and fetches their results.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "doors/rest/bodies/json_body.h"
#include "doors/rest/bodies/openapi.h"
#include "doors/rest/bodies/page.h"
#include "doors/rest/bodies/send_file.h"
#include "doors/rest/bodies/spool.h"
#include "doors/rest/server/problem.h"
#include "doors/rest/tascaas/calls.h"
#include "model/views/json.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/keys.h"
#include "tascaas/overview.h"
#include "tascaas/tenants.h"

namespace dunlin::rest {
namespace {

using nlohmann::ordered_json;
using tascaas::Tenant;

// Whose secret came with the request. Nothing, after a reply, if it is nobody's.
Result<std::optional<Tenant>> tenant_in(Call& call, Store& store) {
  const std::optional<std::string> secret = call.bearer();
  if (secret) {
    Result<Tenant> tenant = tascaas::find_by_secret(store.table(), *secret);
    if (tenant.ok()) return std::optional(std::move(tenant).value());
    if (tenant.error().code != Code::not_found) return tenant.error();
  }
  TRY(call.reply(problem(401, "denied",
                         secret ? "no tenant has this secret"
                                : "send the secret of the tenant: "
                                  "\"Authorization: Bearer SECRET\"")));
  return std::optional<Tenant>();
}

Result<void> get_jobs(Call& call, Store& store) {
  const auto tenant = TRY(tenant_in(call, store));
  if (!tenant) return {};
  const std::string* after = call.query("after");
  const auto max = static_cast<size_t>(call.number("max", kPageDefault));
  const tascaas::JobPage page = TRY(
      tascaas::page_jobs(store.table(), *tenant, after == nullptr ? "" : *after, max, call.now()));
  ordered_json reply;
  reply["jobs"] = ordered_json::array();
  for (const tascaas::JobStatus& job : page.jobs) reply["jobs"].push_back(tascaas::job_json(job));
  if (!page.next.empty()) reply["next"] = page.next;
  return reply_json(call, 200, reply);
}

Result<void> get_job(Call& call, Store& store) {
  const auto tenant = TRY(tenant_in(call, store));
  if (!tenant) return {};
  const auto detail =
      TRY(tascaas::read_job_detail(store.table(), *tenant, call.path("job"), call.now()));
  return reply_json(call, 200, tascaas::job_json(detail.job));
}

Result<void> get_partitions(Call& call, Store& store) {
  const auto tenant = TRY(tenant_in(call, store));
  if (!tenant) return {};
  const auto detail =
      TRY(tascaas::read_job_detail(store.table(), *tenant, call.path("job"), call.now()));
  ordered_json reply;
  reply["partitions"] = ordered_json::array();
  for (const tascaas::PartitionStatus& one : detail.partitions) {
    reply["partitions"].push_back(tascaas::partition_json(one));
  }
  return reply_json(call, 200, reply);
}

ordered_json file_json(const std::string& key, const tascaas::File& file) {
  ordered_json object = json_object();
  object["key"] = key;
  object["size"] = file.size();
  object["modified_ms"] = file.modified_ms();
  return object;
}

Result<void> get_files(Call& call, Store& store) {
  const auto tenant = TRY(tenant_in(call, store));
  if (!tenant) return {};
  const std::string* prefix = call.query("prefix");
  const std::string* start = call.query("after");
  const auto max = static_cast<size_t>(call.number("max", kPageDefault));
  const std::string all = tascaas::file_row(tenant->name(), "");
  const auto row_of = [&](const std::string* text) {
    return text == nullptr ? std::string() : all + tascaas::file_key_of(*text);
  };
  const std::string under = prefix == nullptr ? all : row_of(prefix);
  std::string after = row_of(start);
  ordered_json reply;
  ordered_json& files = reply["files"] = ordered_json::array();
  while (files.size() < max) {
    const auto rows = TRY(store.table().scan(tascaas::kTable, under, after, max - files.size()));
    if (rows.empty()) return reply_json(call, 200, reply);
    after = rows.back().key;
    for (const Row& row : rows) {
      const auto file = TRY(parse_row<tascaas::File>(tascaas::kTable, row));
      files.push_back(file_json(row.key.substr(all.size()), file.record));
    }
  }
  reply["next"] = after.substr(all.size());
  return reply_json(call, 200, reply);
}

Result<void> get_file(Call& call, Store& store) {
  const auto tenant = TRY(tenant_in(call, store));
  if (!tenant) return {};
  const std::string key = tascaas::file_key_of(call.path("key"));
  const auto found = TRY(tascaas::find_file(store.table(), tenant->name(), key));
  return send_file(call, store, found.file, Style::problem);
}

Result<void> too_large(Call& call, uint64_t most) {
  call.close_after();
  return call.reply(
      problem(413, "full", fmt::format("a file like this may have at most {} bytes", most)));
}

Result<void> put_job(Call& call, Store& store, const Tenant& tenant, const std::string& key) {
  const Result<std::string> read = call.read_body(tascaas::kJobFileMax);
  if (!read.ok() && read.error().code == Code::full) return too_large(call, tascaas::kJobFileMax);
  const std::string text = TRY(read);
  const std::string* again = call.query("again");
  const bool another = again != nullptr && *again == "true";
  const tascaas::Taken taken =
      TRY(tascaas::put_job_file(store, tenant, key, text, another, call.now()));
  if (!taken.refused.empty()) {
    return Error{Code::invalid, fmt::format("{} was refused: {}", taken.file, taken.refused)};
  }
  ordered_json object = json_object();
  object["file"] = taken.file;
  object["job"] = taken.job;
  object["existed"] = taken.existed;
  return reply_json(call, taken.existed ? 200 : 201, object);
}

Result<void> put_file(Call& call, Store& store) {
  const auto tenant = TRY(tenant_in(call, store));
  if (!tenant) return {};
  const std::string key = tascaas::file_key_of(call.path("key"));
  if (!key.starts_with(tascaas::kInput) || key.starts_with(tascaas::kRefused)) {
    return Error{Code::denied, "only files in input/ can be put: name it input/NAME"};
  }
  if (!tascaas::is_file_name(call.path("key"))) {
    return Error{Code::invalid, fmt::format("{} cannot be the name of a file: it has %XX, a part "
                                            "that is empty, . or .., or more than {} bytes",
                                            quote(call.path("key")), tascaas::kFileKeyMax)};
  }
  if (tascaas::is_job_file(key)) return put_job(call, store, *tenant, key);
  Spool spool;
  if (!TRY(receive(call, spool))) return too_large(call, call.setting().upload_max);
  const auto before = tascaas::find_file(store.table(), tenant->name(), key);
  if (!before.ok() && before.error().code != Code::not_found) return before.error();
  TRY(tascaas::put_file(store, tenant->name(), key, spool.size(), spool.source(), call.now()));
  const auto now = TRY(tascaas::find_file(store.table(), tenant->name(), key));
  return reply_json(call, before.ok() ? 200 : 201, file_json(key, now.file));
}

Result<void> get_document(Call& call, Store& store) {
  const auto tenant = TRY(tenant_in(call, store));
  if (!tenant) return {};
  return reply_json(call, 200, openapi_document(*call.match().family));
}

constexpr auto kKeyBytes = static_cast<int64_t>(tascaas::kFileKeyMax);
constexpr Parameter kJob{.name = "job",
                         .in = In::path,
                         .required = true,
                         .least = 1,
                         .most = kKeyBytes,
                         .summary = "Its id, in full"};
constexpr Parameter kKey{.name = "key",
                         .in = In::path,
                         .required = true,
                         .least = 1,
                         .most = kKeyBytes,
                         .summary = "input/NAME, or output/results/JOB/worker-N/results.dat"};
constexpr Parameter kAfter{
    .name = "after", .most = kKeyBytes, .summary = "The `next` of the page before"};

void add_job_views(std::vector<Route>& routes) {
  routes.push_back({.method = "GET",
                    .pattern = "/jobs",
                    .summary = "What became of the job files, in no order",
                    .parameters = {kMax, kAfter},
                    .reply_schema = R"({"$ref":"#/components/schemas/TenantJobs"})",
                    .handler = get_jobs});
  routes.push_back({.method = "GET",
                    .pattern = "/jobs/{job}",
                    .summary = "The progress of a job",
                    .parameters = {kJob},
                    .reply_schema = R"({"$ref":"#/components/schemas/TenantJob"})",
                    .handler = get_job});
  routes.push_back({.method = "GET",
                    .pattern = "/jobs/{job}/partitions",
                    .summary = "The partitions of a job, one row for each",
                    .parameters = {kJob},
                    .reply_schema = R"({"$ref":"#/components/schemas/Partitions"})",
                    .handler = get_partitions});
}

}  // namespace

Family tenant_family() {
  Family family{.prefix = "/tenant/v1",
                .style = Style::problem,
                .bearer = false,
                .checked = true,
                .routes = {},
                .secret = true};
  add_job_views(family.routes);
  family.routes.push_back({.method = "GET",
                           .pattern = "/files",
                           .summary = "The files, by key",
                           .parameters = {kMax,
                                          kAfter,
                                          {.name = "prefix",
                                           .most = kKeyBytes,
                                           .summary = "Only files whose key begins with this"}},
                           .reply_schema = R"({"$ref":"#/components/schemas/TenantFiles"})",
                           .handler = get_files});
  family.routes.push_back({.method = "GET",
                           .pattern = "/files/{key*}",
                           .summary = "The bytes of a file, or the range that is asked for",
                           .parameters = {kKey},
                           .handler = get_file,
                           .reply_type = "application/octet-stream",
                           .statuses = "200 206"});
  family.routes.push_back(
      {.method = "PUT",
       .pattern = "/files/{key*}",
       .summary = "Put a file into input/; a NAME.config becomes a job",
       .parameters = {kKey,
                      {.name = "again",
                       .type = Type::flag,
                       .summary = "Make another job of a job file that was put before"}},
       .body_schema = "{}",
       .reply_schema = R"({"$ref":"#/components/schemas/TenantPut"})",
       .handler = put_file,
       .body_type = "application/octet-stream",
       .statuses = "201 200"});
  family.routes.push_back(
      {.method = "GET",
       .pattern = "/openapi.json",
       .summary = "This document",
       .reply_schema = R"({"type":"object","required":["openapi","info","paths"]})",
       .handler = get_document});
  return family;
}

}  // namespace dunlin::rest
