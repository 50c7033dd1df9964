#include "tascaas/intake.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "balance/deadline.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/names.h"
#include "tascaas/files.h"
#include "tascaas/job.h"
#include "tascaas/job_ids.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

using nlohmann::json;

constexpr std::string_view kSuffix = ".config";
constexpr double kTimeMaxS = 1e9;
constexpr size_t kPlainMax = 64;
constexpr int kLooksMax = 100;

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

// Numbers may stand in strings, as the original took them.
Result<json> number_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return wrong(fmt::format("\"{}\" is missing", name));
  if (found->is_number()) return *found;
  const std::string text = found->is_string() ? found->get<std::string>() : "";
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.eE+-") == text.npos;
  const json number = plain ? json::parse(text, nullptr, false) : json();
  if (!number.is_number()) return wrong(fmt::format("\"{}\" is not a number", name));
  return number;
}

Result<uint64_t> count_of(const json& object, const char* name, uint64_t most) {
  const json found = TRY(number_of(object, name));
  const auto number = found.get<double>();
  if (!found.is_number_integer() && number != std::floor(number)) {
    return wrong(fmt::format("\"{}\" is not a whole number", name));
  }
  if (!(number >= 1 && number <= static_cast<double>(most))) {
    return wrong(fmt::format("\"{}\" must be between 1 and {}", name, most));
  }
  return found.is_number_integer() ? found.get<uint64_t>() : static_cast<uint64_t>(number);
}

// Of a file, as a part of an id that scripts use without quotes.
std::string plain_name(std::string_view name) {
  std::string plain(name.substr(0, kPlainMax));
  for (char& byte : plain) {
    if (!is_name({&byte, 1})) byte = '_';
  }
  return plain;
}

struct Found {
  FileInfo info;
  std::string name;
  std::string digest = {};
  std::string job = {};
};

Put put_row(std::string key, std::string value, uint64_t version) {
  return {std::string(kTable), std::move(key), std::move(value), version};
}

std::string intake_value(const Found& found, const std::string& refused, WallTime now) {
  Intake intake;
  intake.set_file(found.name);
  intake.set_refused(refused);
  intake.set_at_ms(to_ms(now));
  intake.set_job(found.job);
  return intake.SerializeAsString();
}

std::string taken_value(File file) {
  file.set_taken(true);
  return file.SerializeAsString();
}

// The bytes of a file, under another name. Whether they are there.
Result<bool> copy_blob(Store& store, const File& from, const std::string& to) {
  bool gone = false;
  const auto copied = store.blobs().put(to, from.size(), [&](uint64_t offset, size_t max) {
    Result<std::string> part = store.blobs().get(from.blob(), offset, max);
    gone = !part.ok() && part.error().code == Code::not_found;
    return part;
  });
  if (gone) return false;
  TRY(copied);
  return true;
}

Result<bool> refuse(Store& store, const Tenant& tenant, const Found& found, const std::string& why,
                    WallTime now) {
  // A row that is gone does not stop an erase. So the other one is compared, as it was before the
  // file was there: a late copy of this commit would put back a file that was replaced since.
  const std::vector<std::string> keys = {
      file_row(tenant.name(), std::string(kRefused) + found.name),
      file_row(tenant.name(), found.info.key)};
  const std::vector<Row> rows = TRY(store.table().get(kTable, keys));
  if (rows[1].version != found.info.version) return false;
  const std::string before = TRY(parse_row<File>(kTable, rows[0])).record.blob();
  // The same bytes for both rows would go with either: a late copy of the upload may bring the row
  // back, and who replaces that one erases what it names.
  File aside = found.info.file;
  aside.set_blob(new_blob(tenant.name()));
  if (!TRY(copy_blob(store, found.info.file, aside.blob()))) return false;  // It was replaced.
  const Write writes[] = {
      put_row(intake_row(tenant.name(), found.digest), intake_value(found, why, now), kAnyVersion),
      put_row(keys[0], aside.SerializeAsString(), rows[0].version),
      Erase{std::string(kTable), keys[1], found.info.version}};
  const Result<uint64_t> moved = store.commit(writes);
  if (!moved.ok() && moved.error().code != Code::conflict) return moved.error();
  TRY(erase_unnamed(store, keys, {aside.blob(), before, found.info.file.blob()}));
  return moved.ok();  // Else somebody else has done it.
}

// Of a file that has been seen before: what is missing, as a store that may stop half-way leaves
// it, or nothing. The row of the intake is compared: with it goes a job that is old.
Result<void> complete(Store& store, const Tenant& tenant, const Found& found, const JobFile& file,
                      const Stored<Intake>& intake, WallTime now) {
  const std::string row = intake_row(tenant.name(), found.digest);
  std::vector<Write> writes = {put_row(row, intake.record.SerializeAsString(), intake.version)};
  const auto there = read_tascaas_job(store.table(), found.job);
  if (!there.ok() && there.error().code != Code::not_found) return there.error();
  const Job job = there.ok() ? there.value().record : make_job(tenant, found.name, file, now);
  if (!there.ok()) writes.push_back(put_row(job_row(found.job), job.SerializeAsString(), 0));
  if (job.ended_ms() == 0) {
    writes.push_back(put_row(active_row(tenant.name(), found.job), "", kAnyVersion));
  }
  Push push = push_waiting(found.job, job);
  if (!push.messages.empty()) writes.emplace_back(std::move(push));
  writes.push_back(put_row(file_row(tenant.name(), found.info.key), taken_value(found.info.file),
                           found.info.version));
  const Result<uint64_t> completed = store.commit(writes);
  if (!completed.ok() && completed.error().code != Code::conflict) return completed.error();
  return {};
}

// The row of the intake says which job a file is: who writes it first has chosen the job's id,
// which nobody can compute. Whether it is a new one.
Result<bool> create(Store& store, const Tenant& tenant, Found& found, const JobFile& file,
                    WallTime now, const JobIds& ids) {
  const std::string row = intake_row(tenant.name(), found.digest);
  const auto intake = TRY(read_record<Intake>(store.table(), kTable, row));
  if (intake.version != 0 && intake.record.refused().empty()) {
    found.job = job_of(found.digest, intake.record);
    TRY(complete(store, tenant, found, file, intake, now));
    return false;
  }
  found.job = ids(found.name);
  const Job job = make_job(tenant, found.name, file, now);
  const Write writes[] = {put_row(row, intake_value(found, "", now), intake.version),
                          put_row(job_row(found.job), job.SerializeAsString(), 0),
                          put_row(active_row(tenant.name(), found.job), "", kAnyVersion),
                          push_waiting(found.job, job),
                          put_row(file_row(tenant.name(), found.info.key),
                                  taken_value(found.info.file), found.info.version)};
  const Result<uint64_t> made = store.commit(writes);
  if (!made.ok() && made.error().code != Code::conflict) return made.error();
  return made.ok();
}

// The bytes are gone: the file was replaced meanwhile. If its row is as it was, an old copy of it
// came late, after the file had been moved aside: nobody could ever read it.
Result<void> forget_ghost(Store& store, const Tenant& tenant, const Found& found) {
  const auto row = find_file(store.table(), tenant.name(), found.info.key);
  if (!row.ok() && row.error().code != Code::not_found) return row.error();
  if (!row.ok() || row.value().version != found.info.version) return {};
  const std::string key = file_row(tenant.name(), found.info.key);
  const auto erased = store.table().erase(kTable, key, found.info.version);
  if (!erased.ok() && erased.error().code != Code::conflict) return erased.error();
  return {};
}

// Whether this call has decided about the file.
Result<bool> take(Store& store, const Tenant& tenant, Found& found, std::string& refused,
                  WallTime now, const JobIds& ids) {
  const Result<std::string> text = read_file(store, found.info.file, kJobFileMax);
  // A store may be full, too: that says nothing about the file.
  if (!text.ok() && found.info.file.size() <= kJobFileMax) {
    if (text.error().code != Code::not_found) return text.error();
    TRY(forget_ghost(store, tenant, found));
    return false;
  }
  const File& seen = found.info.file;
  found.digest =
      digest_of(tenant.name(), found.name, text.ok() ? text.value() : seen.blob(), seen.again());
  if (!text.ok()) {
    refused = text.error().what;
  } else {
    const Result<JobFile> file = parse_job_file(text.value());
    if (!file.ok()) {
      refused = file.error().what;
    } else {
      const auto input =
          find_file(store.table(), tenant.name(), std::string(kInput) + file.value().input_file);
      if (input.ok()) return create(store, tenant, found, file.value(), now, ids);
      if (input.error().code != Code::not_found) return input.error();
      refused = fmt::format("there is no input file {}", quote(file.value().input_file));
    }
  }
  return refuse(store, tenant, found, refused, now);
}

}  // namespace

Result<JobFile> parse_job_file(std::string_view text) {
  const Result<json> parsed = parse_json(text, {.values_max = 1000, .depth_max = 16});
  if (!parsed.ok()) return wrong(parsed.error().what);
  const json& object = parsed.value();
  if (!object.is_object()) return wrong("it is no JSON object");
  JobFile file;
  file.iterations = TRY(count_of(object, "iterations", balance::kIterationsMax));
  const auto seconds = TRY(number_of(object, "time")).get<double>();
  if (!(std::abs(seconds) <= kTimeMaxS)) return wrong("\"time\" is more than 1e9 seconds");
  if (seconds > 0) file.time = Millis(std::max<int64_t>(static_cast<int64_t>(seconds * 1000), 1));
  const auto input = object.find("inputFile");
  if (input == object.end()) return wrong("\"inputFile\" is missing");
  if (input->is_string()) file.input_file = file_key_of(input->get<std::string>());
  if (!is_file_key(file.input_file)) return wrong("\"inputFile\" is not the name of a file");
  if (object.contains("initWorkers")) {
    file.partitions = static_cast<uint32_t>(TRY(count_of(object, "initWorkers", 1'000'000)));
  }
  return file;
}

std::string digest_of(std::string_view tenant, std::string_view name, std::string_view text,
                      std::string_view again) {
  const std::string all = again.empty() ? fmt::format("{}/{}/{}", tenant, name, text)
                                        : fmt::format("{}/{}/{}/{}", tenant, again, name, text);
  return fmt::format("{}_{}", uuid_from(sha256(all)), plain_name(name));
}

std::string new_job_id(std::string_view name) {
  return fmt::format("{}_{}", uuid_from(random_bytes(16)), plain_name(name));
}

std::string job_of(std::string_view digest, const Intake& intake) {
  return intake.job().empty() ? std::string(digest) : intake.job();
}

Job make_job(const Tenant& tenant, std::string_view name, const JobFile& file, WallTime now) {
  const uint32_t wanted = file.partitions > 0 ? file.partitions : tenant.init_partitions();
  const uint32_t count = std::min(wanted, tenant.max_partitions());
  Job job;
  job.set_tenant(tenant.name());
  job.set_file(std::string(name));
  job.set_input(std::string(kInput) + file.input_file);
  job.set_iterations(file.iterations);
  job.set_time_ms(file.time.count());
  job.set_report_ms(balance::report_time(file.time).count());
  job.set_max_partitions(tenant.max_partitions());
  job.set_created_ms(to_ms(now));
  const uint64_t each = file.iterations / count;
  for (uint32_t i = 0; i < count; ++i) {
    add_partition(job, each + (i == 0 ? file.iterations % count : 0));
  }
  return job;
}

bool is_job_file(std::string_view key) {
  return key.starts_with(kInput) && key.ends_with(kSuffix) &&
         key.find('/', kInput.size()) == std::string_view::npos;
}

Result<std::vector<Taken>> take_in(Store& store, const Tenant& tenant, WallTime now) {
  return take_in(store, tenant, now, new_job_id);
}

Result<std::vector<Taken>> take_in(Store& store, const Tenant& tenant, WallTime now,
                                   const JobIds& ids) {
  std::vector<Taken> taken;
  for (FileInfo& info : TRY(list_files(store.table(), tenant.name(), kInput))) {
    if (!is_job_file(info.key) || info.file.taken()) continue;
    const std::string name = info.key.substr(kInput.size());
    Found found{std::move(info), name};
    std::string refused;
    if (TRY(take(store, tenant, found, refused, now, ids))) {
      taken.push_back({refused.empty() ? found.job : found.digest, name, refused});
    }
  }
  return taken;
}

Result<Taken> put_job_file(Store& store, const Tenant& tenant, const std::string& key,
                           const std::string& text, bool again, WallTime now) {
  const std::string name = key.substr(kInput.size());
  const std::string mark = again ? hex(random_bytes(16)) : "";
  const std::string digest = digest_of(tenant.name(), name, text, mark);
  const std::string row = intake_row(tenant.name(), digest);
  const auto before = TRY(read_record<Intake>(store.table(), kTable, row));
  TRY(put_text(store, tenant.name(), key, text, now, mark));
  // Whoever sees it first decides, and may be on the way.
  for (int looks = 0; looks < kLooksMax; ++looks) {
    TRY(take_in(store, tenant, now));
    const auto file = find_file(store.table(), tenant.name(), key);
    if (!file.ok() && file.error().code != Code::not_found) return file.error();
    if (file.ok() && !file.value().file.taken()) continue;
    const auto intake = TRY(read_record<Intake>(store.table(), kTable, row));
    if (intake.version == 0) continue;  // It was replaced by another one of its name.
    const bool existed = before.version != 0 && before.record.refused().empty();
    const std::string job = job_of(digest, intake.record);
    return Taken{job, name, intake.record.refused(), existed && intake.record.refused().empty()};
  }
  return Error{Code::unavailable,
               fmt::format("{} was replaced before it was taken in: put it again", name)};
}

}  // namespace dunlin::tascaas
