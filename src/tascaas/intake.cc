#include "tascaas/intake.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "balance/deadline.h"
#include "base/digest.h"
#include "base/names.h"
#include "tascaas/files.h"
#include "tascaas/job.h"
#include "tascaas/keys.h"
#include "tascaas/tenants.h"

namespace dunlin::tascaas {
namespace {

using nlohmann::json;

constexpr std::string_view kSuffix = ".config";
constexpr double kTimeMaxS = 1e9;

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

Result<double> number_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return wrong(fmt::format("\"{}\" is missing", name));
  if (!found->is_number()) return wrong(fmt::format("\"{}\" is not a number", name));
  return found->get<double>();
}

Result<uint64_t> count_of(const json& object, const char* name, uint64_t most) {
  const double number = TRY(number_of(object, name));
  if (!object.at(name).is_number_integer() && number != std::floor(number)) {
    return wrong(fmt::format("\"{}\" is not a whole number", name));
  }
  if (!(number >= 1 && number <= static_cast<double>(most))) {
    return wrong(fmt::format("\"{}\" must be between 1 and {}", name, most));
  }
  return object.at(name).is_number_integer() ? object.at(name).get<uint64_t>()
                                             : static_cast<uint64_t>(number);
}

struct Found {
  FileInfo info;
  std::string name;
  std::string id;
};

Put put_row(std::string key, std::string value, uint64_t version) {
  return {std::string(kTable), std::move(key), std::move(value), version};
}

std::string intake_value(const std::string& file, const std::string& refused, WallTime now) {
  Intake intake;
  intake.set_file(file);
  intake.set_refused(refused);
  intake.set_at_ms(to_ms(now));
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
      put_row(intake_row(tenant.name(), found.id), intake_value(found.name, why, now), kAnyVersion),
      put_row(keys[0], aside.SerializeAsString(), rows[0].version),
      Erase{std::string(kTable), keys[1], found.info.version}};
  const Result<uint64_t> moved = store.commit(writes);
  if (!moved.ok() && moved.error().code != Code::conflict) return moved.error();
  TRY(erase_unnamed(store, keys, {aside.blob(), before, found.info.file.blob()}));
  return moved.ok();  // Else somebody else has done it.
}

// The row of the job is the one that says who was first. On a store that may stop half-way, what is
// missing is made by whoever finds the file not taken.
Result<bool> create(Store& store, const Tenant& tenant, const Found& found, const JobFile& file,
                    WallTime now) {
  Job job = make_job(tenant, found.name, file, now);
  const Write first[] = {put_row(job_row(found.id), job.SerializeAsString(), 0)};
  std::vector<Write> rest = {
      put_row(intake_row(tenant.name(), found.id), intake_value(found.name, "", now), kAnyVersion),
      put_row(active_row(tenant.name(), found.id), "", kAnyVersion), push_waiting(found.id, job),
      put_row(file_row(tenant.name(), found.info.key), taken_value(found.info.file),
              found.info.version)};
  std::vector<Write> all(std::begin(first), std::end(first));
  all.insert(all.end(), rest.begin(), rest.end());
  const Result<uint64_t> made = store.commit(all);
  if (made.ok()) return true;
  if (made.error().code != Code::conflict) return made.error();
  const auto there = read_tascaas_job(store.table(), found.id);
  if (!there.ok() && there.error().code == Code::not_found) return false;  // It has just gone.
  const auto stored = TRY(there);
  if (stored.record.ended_ms() != 0) rest.erase(rest.begin() + 1);  // Not active any more.
  for (Write& write : rest) {
    if (auto* push = std::get_if<Push>(&write)) *push = push_waiting(found.id, stored.record);
  }
  std::erase_if(rest, [](const Write& write) {
    const auto* push = std::get_if<Push>(&write);
    return push != nullptr && push->messages.empty();
  });
  const Result<uint64_t> completed = store.commit(rest);
  if (!completed.ok() && completed.error().code != Code::conflict) return completed.error();
  return false;
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
                  WallTime now) {
  const Result<std::string> text = read_file(store, found.info.file, kJobFileMax);
  // A store may be full, too: that says nothing about the file.
  if (!text.ok() && found.info.file.size() <= kJobFileMax) {
    if (text.error().code != Code::not_found) return text.error();
    TRY(forget_ghost(store, tenant, found));
    return false;
  }
  found.id = job_id(tenant.name(), found.name, text.ok() ? text.value() : found.info.file.blob());
  if (!is_name(found.name)) {
    refused = "the name of a job file is [A-Za-z0-9._-], at most 64 characters";
  } else if (!text.ok()) {
    refused = text.error().what;
  } else {
    const Result<JobFile> file = parse_job_file(text.value());
    if (!file.ok()) {
      refused = file.error().what;
    } else {
      const auto input =
          find_file(store.table(), tenant.name(), std::string(kInput) + file.value().input_file);
      if (input.ok()) return create(store, tenant, found, file.value(), now);
      if (input.error().code != Code::not_found) return input.error();
      refused = fmt::format("there is no input file {}", quote(file.value().input_file));
    }
  }
  return refuse(store, tenant, found, refused, now);
}

}  // namespace

Result<JobFile> parse_job_file(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return wrong("it is no JSON object");
  JobFile file;
  file.iterations = TRY(count_of(object, "iterations", balance::kIterationsMax));
  const double seconds = TRY(number_of(object, "time"));
  if (!(std::abs(seconds) <= kTimeMaxS)) return wrong("\"time\" is more than 1e9 seconds");
  if (seconds > 0) file.time = Millis(std::max<int64_t>(static_cast<int64_t>(seconds * 1000), 1));
  const auto input = object.find("inputFile");
  if (input == object.end()) return wrong("\"inputFile\" is missing");
  if (!input->is_string() || !is_file_key(input->get<std::string>())) {
    return wrong("\"inputFile\" is not the name of a file");
  }
  file.input_file = input->get<std::string>();
  if (object.contains("initWorkers")) {
    file.partitions = static_cast<uint32_t>(TRY(count_of(object, "initWorkers", 1'000'000)));
  }
  return file;
}

std::string job_id(std::string_view tenant, std::string_view name, std::string_view text) {
  const std::string all = fmt::format("{}/{}/{}", tenant, name, text);
  return fmt::format("{}_{}", uuid_from(sha256(all)), name);
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

Result<std::vector<Taken>> take_in(Store& store, const Tenant& tenant, WallTime now) {
  std::vector<Taken> taken;
  for (FileInfo& info : TRY(list_files(store.table(), tenant.name(), kInput))) {
    const std::string name = info.key.substr(kInput.size());
    const bool is_job = name.ends_with(kSuffix) && name.find('/') == std::string::npos;
    if (!is_job || info.file.taken()) continue;
    Found found{std::move(info), name, {}};
    std::string refused;
    if (TRY(take(store, tenant, found, refused, now))) taken.push_back({found.id, name, refused});
  }
  return taken;
}

}  // namespace dunlin::tascaas
