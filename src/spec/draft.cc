#include "spec/draft.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text.h"
#include "model/jobs/submit.h"
#include "model/tasks/expand.h"
#include "model/tasks/submit_folder.h"
#include "spec/fields.h"

namespace dunlin::spec {
namespace {

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

bool is_typed(Entrance entrance) {
  return entrance == Entrance::command_line || entrance == Entrance::run;
}

Error unknown(std::string_view name, Entrance entrance) {
  if (name == kNotShown) {
    return invalid(
        "not_shown names fields of this job that could not be shown: add them, and leave "
        "not_shown out");
  }
  std::vector<std::string_view> names;
  for (const JobField& field : job_fields()) {
    if (field.is_at(entrance)) names.push_back(field.name);
  }
  const std::string_view meant = nearest(name, names);
  return invalid(
      meant.empty()
          ? fmt::format("a job has no key {}: its keys are {}", quote(name), fmt::join(names, ", "))
          : fmt::format("a job has no key {}: did you mean {}?", quote(name), meant));
}

// Of these fields, those that were set, as they were written.
std::vector<std::string> said_of(const JobDraft& draft,
                                 std::initializer_list<std::string_view> fields) {
  std::vector<std::string> said;
  for (const std::string_view field : fields) {
    const auto found = draft.said.find(field);
    if (found != draft.said.end()) said.push_back(found->second);
  }
  return said;
}

Result<void> check_together(const JobDraft& draft) {
  const auto commands = said_of(draft, {"argv", "command", "function", "builtin"});
  if (commands.size() > 1) {
    return invalid(fmt::format("the job has more than one kind of command, both {}: give one",
                               fmt::join(commands, " and ")));
  }
  const auto inputs = said_of(draft, {"array", "values", "lines", "json_lines"});
  if (inputs.size() > 1) {
    return invalid(fmt::format("the job has both {}: keep one of them and leave one out",
                               fmt::join(inputs, " and ")));
  }
  const std::string& colsep = draft.options.colsep;
  if (draft.options.csv && !is_typed(draft.entrance) && (colsep.size() > 1 || colsep == "\"")) {
    return invalid(
        fmt::format("{}: rows of CSV have one character between their fields, and not {}",
                    as_written("colsep", draft.entrance), quote(colsep)));
  }
  if (draft.iterations.iterations) return {};
  const auto partitions = said_of(draft, {"partitions", "partitions_max", "span"});
  if (partitions.empty()) return {};
  return invalid(fmt::format("{} is for jobs with iterations", partitions.front()));
}

// What is typed has its command and more sources among the words.
Result<sources::Gathered> gather_of(JobDraft& draft, const std::string& blob_prefix) {
  if (is_typed(draft.entrance)) return sources::gather(draft.options, blob_prefix);
  const auto commands = said_of(draft, {"argv", "command", "function", "builtin"});
  if (commands.empty() && !draft.options.has_objects()) {
    return invalid(
        "the job has no command: give it argv, a list of words, or command, a line for the shell");
  }
  // Only whether there is a command is asked of these.
  draft.options.words.assign(commands.begin(), commands.end());
  sources::Gathered gathered;
  if (draft.numbers) {
    gathered.inputs.set_first(draft.numbers->first);
    gathered.inputs.set_step(draft.numbers->step);
    gathered.tasks = draft.numbers->count;
  } else {
    gathered = TRY(sources::gather_inputs(draft.options, std::move(draft.sources), blob_prefix));
  }
  return gathered;
}

}  // namespace

void JobDraft::add_variable(std::string_view name, std::string_view value) {
  model::Variable& variable = *spec.add_env();
  variable.set_name(std::string(name));
  variable.set_value(std::string(value));
}

JobDraft draft_from(Entrance entrance, WallTime now) {
  JobDraft draft{.entrance = entrance, .now = now};
  draft.spec.set_priority(kPriorityDefault);
  draft.spec.mutable_requires_();  // In what is stored it is always there.
  return draft;
}

std::string as_written(std::string_view field, Entrance entrance) {
  if (!is_typed(entrance)) return std::string(field);
  std::string option = "--" + std::string(field);
  std::ranges::replace(option, '_', '-');
  return option;
}

Result<void> set_field(std::string_view name, const nlohmann::json& value, JobDraft& draft) {
  const JobField* const field = find_field(name, draft.entrance);
  if (field == nullptr) return unknown(name, draft.entrance);
  const std::string written = as_written(name, draft.entrance);
  const auto [said, is_first] = draft.said.try_emplace(field->name, written);
  if (!is_first) {
    return invalid(
        fmt::format("{} and {} are the same field: give one of them", said->second, written));
  }
  const Result<void> set = field->access.set(value, draft);
  if (set.ok()) return {};
  const std::string& why = set.error().what;
  if (!why.empty()) return invalid(fmt::format("{}: {}", written, why));
  const std::string instead = value.is_string()
                                  ? ", not " + quote(value.get_ref<const std::string&>())
                              : value.is_number() ? ", not " + value.dump()
                                                  : "";
  return invalid(fmt::format("{} must be {}{}", written, field->expected, instead));
}

Result<ReadyJob> finish_job(JobDraft draft, const std::string& blob_prefix) {
  TRY(check_together(draft));
  if (const auto variables = static_cast<size_t>(draft.spec.env_size());
      variables > kVariablesMax) {
    return invalid(fmt::format("{}: {} variables are too many: at most {}",
                               as_written("env", draft.entrance), variables, kVariablesMax));
  }
  draft.options.fresh_folder = draft.spec.cwd().empty() && (draft.has("cwd") || !draft.here);
  sources::Gathered gathered = TRY(gather_of(draft, blob_prefix));
  if (gathered.tasks == 0) return invalid("the job has no values, so it would have no task");
  ReadyJob job{.spec = std::move(draft.spec),
               .key = std::move(draft.key),
               .after = std::move(draft.after),
               .blobs = std::move(gathered.blobs)};
  model::Spec& spec = job.spec;
  if (is_typed(draft.entrance)) *spec.mutable_command() = std::move(gathered.command);
  *spec.mutable_inputs() = std::move(gathered.inputs);
  spec.set_tasks(gathered.tasks);
  const bool runs_programs = spec.command().function().empty() && spec.command().builtin().empty();
  if (draft.here && !draft.has("cwd") && runs_programs) spec.set_cwd(cwd_from(*draft.here));
  job.by_slots = TRY(set_iterations(draft.iterations, spec));
  if (draft.stdin_bytes.size() <= kStdinInlineMax) {
    spec.set_stdin(draft.stdin_bytes);
  } else {
    spec.set_stdin_blob(blob_prefix + "stdin");
    job.blobs.push_back({spec.stdin_blob(), std::move(draft.stdin_bytes)});
  }
  return job;
}

Result<void> check_job(const model::Spec& spec, Entrance entrance) {
  TRY(validate_spec(spec));
  TRY(check_program(spec, as_written("cwd", entrance)));
  TRY(Template::compile(spec));
  return {};
}

}  // namespace dunlin::spec
