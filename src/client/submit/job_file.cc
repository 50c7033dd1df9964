#include "client/submit/job_file.h"

// Without this the parser throws.
#define TOML_EXCEPTIONS 0
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "base/names.h"
#include "model/keys.h"
#include "model/tasks/expand.h"
#include "sources/input.h"
#include "spec/draft.h"

namespace dunlin::client {
namespace {

constexpr size_t kFileBytesMax = 16 << 20;
constexpr size_t kJobsMax = 10'000;

// Dates and times are nothing that a field expects.
nlohmann::json json_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (const auto number = node.value_exact<double>()) return *number;
  if (const auto number = node.value_exact<int64_t>()) {
    if (*number < 0) return *number;
    return static_cast<uint64_t>(*number);
  }
  nlohmann::json value;
  if (const toml::array* const list = node.as_array()) {
    value = nlohmann::json::array();
    for (const toml::node& one : *list) value.push_back(json_of(one));
  } else if (const toml::table* const table = node.as_table()) {
    value = nlohmann::json::object();
    for (const auto& [name, one] : *table) value[std::string(name.str())] = json_of(one);
  }
  return value;
}

// Reads the jobs of one file, top to bottom.
class JobFile {
 public:
  JobFile(const std::string& file, WallTime now, const BlobPrefix& blob_prefix)
      : file_(file), now_(now), blob_prefix_(blob_prefix) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    if (!folder.empty()) folder_ = folder + '/';
  }

  Result<std::vector<FileJob>> read(const toml::table& top) {
    for (const auto& [key, value] : top) {
      if (key.str() != "job") {
        return wrong(key.source(),
                     fmt::format("{} is outside of a job: a job file holds only [[job]] tables",
                                 quote(key.str())));
      }
      const toml::array* const list = value.as_array();
      if (list == nullptr || !list->is_array_of_tables()) {
        return wrong(key.source(), "job must be a list of tables: write [[job]]");
      }
      if (list->size() > kJobsMax) {
        return wrong(key.source(), fmt::format("the file has {} jobs, but at most {} may be in one",
                                               list->size(), kJobsMax));
      }
      for (const toml::node& job : *list) TRY(add(*job.as_table()));
    }
    if (jobs_.empty()) {
      return Error{Code::invalid, fmt::format("{} has no job: write [[job]] and its command",
                                              sources::shown_name(file_))};
    }
    return std::move(jobs_);
  }

 private:
  Error wrong(const toml::source_region& where, std::string_view what) const {
    return {Code::invalid,
            fmt::format("{}:{}: {}", sources::shown_name(file_), where.begin.line, what)};
  }

  Result<void> add(const toml::table& table) {
    spec::JobDraft draft = spec::draft_from(spec::Entrance::job_file, now_);
    draft.folder = folder_;
    // What a file names is looked for beside it, so its programs are, too.
    draft.here = folder_.empty() ? "." : folder_;
    for (const auto& [key, value] : table) {
      const Result<void> set = spec::set_field(key.str(), json_of(value), draft);
      if (!set.ok()) return wrong(key.source(), set.error().what);
    }
    const Result<void> finished = finish(std::move(draft), table.source().begin.line);
    if (!finished.ok()) return wrong(table.source(), finished.error().what);
    return {};
  }

  // What can be said only when all keys are known.
  Result<void> finish(spec::JobDraft draft, uint64_t line) {
    spec::ReadyJob ready = TRY(spec::finish_job(std::move(draft), blob_prefix_(jobs_.size())));
    FileJob job{.line = line,
                .spec = std::move(ready.spec),
                .key = std::move(ready.key),
                .by_slots = ready.by_slots,
                .blobs = std::move(ready.blobs)};
    const model::Spec& spec = job.spec;
    if (const size_t size = spec.ByteSizeLong(); size > kSpecMax) {
      return Error{Code::invalid,
                   fmt::format("the job has {} bytes, but at most {} may be in one: put long "
                               "texts into files",
                               size, kSpecMax)};
    }
    TRY(Template::compile(spec));
    TRY(link(ready.after, job));
    jobs_.push_back(std::move(job));
    return {};
  }

  Result<void> link(const std::vector<std::string>& after, FileJob& job) {
    const std::string& name = job.spec.name();
    for (const std::string& other : after) {
      const auto above = names_.find(other);
      if (!is_name(other) || other == name) {
        return Error{Code::invalid,
                     fmt::format("after names {}: name a job above this one, or the id of another",
                                 other == name ? "the job itself" : quote(other))};
      }
      if (above == names_.end()) {
        job.after_ids.push_back(other);
      } else {
        job.after_jobs.push_back(above->second);
      }
    }
    if (name.empty() || names_.emplace(name, jobs_.size()).second) return {};
    return Error{Code::invalid, fmt::format("the name {} is taken by the job on line {}: give each "
                                            "job its own",
                                            name, jobs_[names_[name]].line)};
  }

  const std::string file_;
  const WallTime now_;
  const BlobPrefix& blob_prefix_;
  std::string folder_;
  std::vector<FileJob> jobs_;
  std::map<std::string, size_t, std::less<>> names_;
};

}  // namespace

Result<std::vector<FileJob>> parse_jobs(std::string_view text, const std::string& file,
                                        WallTime now, const BlobPrefix& blob_prefix) {
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    return Error{Code::invalid,
                 fmt::format("{}:{}: {}", sources::shown_name(file),
                             parsed.error().source().begin.line, parsed.error().description())};
  }
  auto jobs = TRY(JobFile(file, now, blob_prefix).read(parsed.table()));
  // A job that stands further down is not an id, so say that before anything is submitted.
  for (const FileJob& job : jobs) {
    for (const std::string& id : job.after_ids) {
      const auto below = std::find_if(
          jobs.begin(), jobs.end(), [&](const FileJob& other) { return other.spec.name() == id; });
      if (below == jobs.end()) continue;
      return Error{Code::invalid,
                   fmt::format("{}:{}: after names {}, which stands further down: move this job "
                               "below it",
                               sources::shown_name(file), job.line, id)};
    }
  }
  return jobs;
}

Result<std::vector<FileJob>> read_jobs(const std::string& file, WallTime now,
                                       const BlobPrefix& blob_prefix) {
  const std::string text = TRY(sources::read_input(file, kFileBytesMax));
  return parse_jobs(text, file, now, blob_prefix);
}

}  // namespace dunlin::client
