#include "client/job_file.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

#include "base/names.h"
#include "cli/input.h"
#include "client/job_keys.h"
#include "model/expand.h"
#include "model/iterations.h"
#include "model/keys.h"
#include "model/submit_folder.h"

namespace dunlin {
namespace {

constexpr size_t kFileBytesMax = 16 << 20;
constexpr size_t kJobsMax = 10'000;

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
      return Error{Code::invalid,
                   fmt::format("{} has no job: write [[job]] and its command", shown_name(file_))};
    }
    return std::move(jobs_);
  }

 private:
  Error wrong(const toml::source_region& where, std::string_view what) const {
    return {Code::invalid, fmt::format("{}:{}: {}", shown_name(file_), where.begin.line, what)};
  }

  Result<void> add(const toml::table& table) {
    JobDraft draft;
    draft.folder = folder_;
    draft.now = now_;
    draft.job.line = table.source().begin.line;
    draft.job.spec.set_priority(kPriorityDefault);
    for (const auto& [key, value] : table) {
      const Result<void> set = set_key(key.str(), value, draft);
      if (!set.ok()) return wrong(key.source(), set.error().what);
    }
    // What a file names is looked for beside it, so its programs are, too.
    if (draft.job.spec.cwd().empty() && !draft.options.fresh_folder) {
      draft.job.spec.set_cwd(cwd_from(folder_.empty() ? "." : folder_));
    }
    const Result<void> finished = finish(draft);
    if (!finished.ok()) return wrong(table.source(), finished.error().what);
    jobs_.push_back(std::move(draft.job));
    return {};
  }

  // What can be said only when all keys are known.
  Result<void> finish(JobDraft& draft) {
    const auto refuse = [](std::string what) { return Error{Code::invalid, std::move(what)}; };
    if (draft.command_keys.size() > 1) {
      return refuse("the job has both command and argv: keep one of them");
    }
    if (draft.command_keys.empty() && draft.options.json_lines.empty()) {
      return refuse("the job has no command: give it a command or argv");
    }
    if (draft.input_keys.size() > 1) {
      return refuse(fmt::format("the job takes its values from {}: keep one of them",
                                fmt::join(draft.input_keys, " and ")));
    }
    // Only whether there is a command is asked of these.
    draft.options.words.assign(draft.command_keys.begin(), draft.command_keys.end());
    Gathered gathered =
        TRY(gather_inputs(draft.options, std::move(draft.sources), blob_prefix_(jobs_.size())));
    if (gathered.tasks == 0) return refuse("the job has no values, so it would have no task");
    model::Spec& spec = draft.job.spec;
    *spec.mutable_inputs() = std::move(gathered.inputs);
    spec.set_tasks(gathered.tasks);
    draft.job.by_slots = TRY(set_iterations(draft.iterations, spec));
    draft.job.blobs = std::move(gathered.blobs);
    if (spec.ByteSizeLong() > kSpecMax) {
      return refuse(
          fmt::format("the job has {} bytes, but at most {} may be in one: put long "
                      "texts into files",
                      spec.ByteSizeLong(), kSpecMax));
    }
    if (const auto compiled = Template::compile(spec); !compiled.ok()) return compiled.error();
    return link(draft);
  }

  Result<void> link(JobDraft& draft) {
    for (const std::string& other : draft.after) {
      const auto above = names_.find(other);
      if (!is_name(other) || other == draft.job.spec.name()) {
        return Error{Code::invalid,
                     fmt::format("after names {}: name a job above this one, or the id of another",
                                 other == draft.job.spec.name() ? "the job itself" : quote(other))};
      }
      if (above == names_.end()) {
        draft.job.after_ids.push_back(other);
      } else {
        draft.job.after_jobs.push_back(above->second);
      }
    }
    const std::string& name = draft.job.spec.name();
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
                 fmt::format("{}:{}: {}", shown_name(file), parsed.error().source().begin.line,
                             parsed.error().description())};
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
                               shown_name(file), job.line, id)};
    }
  }
  return jobs;
}

Result<std::vector<FileJob>> read_jobs(const std::string& file, WallTime now,
                                       const BlobPrefix& blob_prefix) {
  const std::string text = TRY(read_input(file, kFileBytesMax));
  return parse_jobs(text, file, now, blob_prefix);
}

}  // namespace dunlin
