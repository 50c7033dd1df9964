#include "tenant/tenant_verbs.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/env_posix.h"
#include "base/exit.h"
#include "base/names.h"
#include "base/text.h"
#include "sources/input.h"
#include "store_cli/store_verbs.h"
#include "tascaas/files.h"
#include "tascaas/intake.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tenant {
namespace {

using nlohmann::ordered_json;

ordered_json tenant_json(const tascaas::Tenant& tenant) {
  ordered_json object = json_object();
  object["tenant"] = tenant.name();
  object["init_partitions"] = tenant.init_partitions();
  object["max_partitions"] = tenant.max_partitions();
  object["scale_time_s"] = static_cast<double>(tenant.scale_ms()) / 1000;
  object["timeout_s"] = static_cast<double>(tenant.timeout_ms()) / 1000;
  object["start_time_s"] = static_cast<double>(tenant.start_ms()) / 1000;
  object["created_ms"] = tenant.created_ms();
  return object;
}

struct Input {
  std::string key;
  std::string file;
};

// Job files last: what they name is there when they are seen.
Result<std::vector<Input>> inputs_of(const std::vector<std::string>& files) {
  std::vector<Input> inputs;
  for (const std::string& file : files) {
    const std::string name = std::filesystem::path(file).filename().string();
    const std::string key = std::string(tascaas::kInput) + tascaas::file_key_of(name);
    if (!tascaas::is_file_name(std::string(tascaas::kInput) + name)) {
      return Error{Code::invalid, fmt::format("{} cannot be the name of a tenant's file: it is "
                                              "empty, has %XX in it, or is longer than {} bytes",
                                              quote(name), tascaas::kFileKeyMax)};
    }
    inputs.push_back({key, file});
  }
  std::stable_partition(inputs.begin(), inputs.end(),
                        [](const Input& input) { return !tascaas::is_job_file(input.key); });
  return inputs;
}

// All of an input, by parts.
BlobSource source_of(const sources::Readable& readable) {
  return [&readable](uint64_t offset, size_t max) -> Result<std::string> {
    std::string bytes(max, '\0');
    bytes.resize(TRY(readable.file->read(offset, bytes)));
    return bytes;
  };
}

Result<void> say_taken(const tascaas::Taken& taken, const cli::StoreTarget& target) {
  if (target.json) {
    ordered_json object = json_object();
    object["file"] = taken.file;
    if (taken.refused.empty()) object["job"] = taken.job;
    if (taken.refused.empty()) object["existed"] = taken.existed;
    if (!taken.refused.empty()) object["refused"] = taken.refused;
    return cli::print(cli::json_line(object));
  }
  if (!taken.refused.empty()) {
    cli::complain(fmt::format("{} was refused: {}", taken.file, taken.refused));
    return {};
  }
  if (target.quiet) return cli::print(taken.job + "\n");
  return cli::print(
      fmt::format("{} is {}job {}{}\n", taken.file, taken.existed ? "already " : "", taken.job,
                  taken.existed ? ", from the same file: --again makes another one" : ""));
}

// The text of a job file, and what became of it.
Result<tascaas::Taken> put_job(Store& store, const tascaas::Tenant& tenant, const Input& input,
                               bool again) {
  const std::string text = TRY(sources::read_input(input.file, tascaas::kJobFileMax));
  return tascaas::put_job_file(store, tenant, input.key, text, again, posix_clock().wall());
}

}  // namespace

Result<int> run(const TenantAddVerb& verb, const cli::StoreTarget& target) {
  const tascaas::TenantSettings settings{.init_partitions = verb.init_partitions,
                                         .max_partitions = verb.max_partitions,
                                         .scale_time = TRY(parse_duration(verb.scale_time)),
                                         .timeout = TRY(parse_duration(verb.timeout)),
                                         .start_time = TRY(parse_duration(verb.start_time))};
  const auto store = TRY(cli::open_target(target, cli::Missing::make));
  const std::string secret =
      TRY(tascaas::add_tenant(*store, verb.name, settings, posix_clock().wall()));
  if (target.json) {
    ordered_json object = json_object();
    object["tenant"] = verb.name;
    object["secret"] = secret;
    TRY(cli::print(cli::json_line(object)));
  } else {
    TRY(cli::print(secret + "\n"));
    if (!target.quiet) cli::complain("this is the tenant's secret; it cannot be shown again");
  }
  return kExitDone;
}

Result<int> run(const TenantListVerb&, const cli::StoreTarget& target) {
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  cli::Columns columns({{"TENANT"}, {"INIT", true}, {"MAX", true}, {"SCALE TIME", true}});
  std::string lines;
  for (const tascaas::Tenant& tenant : TRY(tascaas::list_tenants(store->table()))) {
    lines += target.json ? cli::json_line(tenant_json(tenant)) : tenant.name() + "\n";
    columns.add({tenant.name(), std::to_string(tenant.init_partitions()),
                 std::to_string(tenant.max_partitions()), human_time(Millis(tenant.scale_ms()))});
  }
  TRY(cli::print(target.form() == cli::Form::plain ? columns.text() : lines));
  return kExitDone;
}

Result<int> run(const TenantRemoveVerb& verb, const cli::StoreTarget& target) {
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  TRY(tascaas::remove_tenant(*store, verb.name));
  if (!target.quiet && !target.json) TRY(cli::print(fmt::format("removed tenant {}\n", verb.name)));
  return kExitDone;
}

Result<int> run(const TenantPutVerb& verb, const cli::StoreTarget& target) {
  const std::vector<Input> inputs = TRY(inputs_of(verb.files));
  for (const Input& input : inputs) {  // All can be read.
    TRY(sources::open_input(input.file, kBlobMax));
    if (tascaas::is_job_file(input.key)) TRY(sources::read_input(input.file, tascaas::kJobFileMax));
  }
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  const tascaas::Tenant tenant = TRY(tascaas::read_tenant(store->table(), verb.name));
  bool refused = false;
  for (const Input& input : inputs) {
    if (tascaas::is_job_file(input.key)) {
      const tascaas::Taken taken = TRY(put_job(*store, tenant, input, verb.again));
      refused = refused || !taken.refused.empty();
      TRY(say_taken(taken, target));
      continue;
    }
    const sources::Readable readable = TRY(sources::open_input(input.file, kBlobMax));
    TRY(tascaas::put_file(*store, tenant.name(), input.key, readable.size, source_of(readable),
                          posix_clock().wall()));
  }
  return refused ? kExitFailed : kExitDone;
}

Result<int> run(const TenantGetVerb& verb, const cli::StoreTarget& target) {
  std::string blob;
  {
    const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
    TRY(tascaas::read_tenant(store->table(), verb.name));
    const std::string key = tascaas::file_key_of(verb.key);
    blob = TRY(tascaas::find_file(store->table(), verb.name, key)).file.blob();
  }
  return run(store_cli::BlobGetVerb{.name = blob, .file = verb.file}, target);
}

Result<int> run(const TenantFilesVerb& verb, const cli::StoreTarget& target) {
  const auto store = TRY(cli::open_target(target, cli::Missing::refuse));
  TRY(tascaas::read_tenant(store->table(), verb.name));
  cli::Columns columns({{"FILE"}, {"SIZE", true}});
  std::string lines;
  for (const tascaas::FileInfo& file : TRY(tascaas::list_files(store->table(), verb.name, ""))) {
    if (target.json) {
      ordered_json object = json_object();
      object["key"] = file.key;
      object["size"] = file.file.size();
      object["modified_ms"] = file.file.modified_ms();
      lines += cli::json_line(object);
    } else {
      lines += file.key + "\n";
    }
    columns.add({file.key, human_size(file.file.size())});
  }
  TRY(cli::print(target.form() == cli::Form::plain ? columns.text() : lines));
  return kExitDone;
}

}  // namespace dunlin::tenant
