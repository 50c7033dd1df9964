#include "sdk/job_spec.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/who.h"
#include "model/keys.h"
#include "spec/draft.h"

namespace dunlin::sdk {
namespace {

using nlohmann::json;

constexpr std::string_view kFunctionTag = "function:";

dunlin::Error invalid(std::string what) { return {dunlin::Code::invalid, std::move(what)}; }

// Null is as if it was not said.
template <typename T>
json unless_empty(const T& value) {
  return value == T() ? json() : json(value);
}

json text_of(std::chrono::milliseconds time) {
  return time.count() == 0 ? json() : json(fmt::format("{}ms", time.count()));
}

json delivery_of(Delivery delivery) {
  switch (delivery) {
    case Delivery::once:
      return {};
    case Delivery::at_most_once:
      return "at-most-once";
    case Delivery::relaxed:
      return "relaxed";
  }
  return static_cast<int>(delivery);  // It is none of them: refused.
}

Result<void> check_array(const JobOptions& job) {
  int64_t way = 0;  // From the first number to the last.
  int64_t last = 0;
  if (job.step == 0) return invalid("array: the step is 0: it must be another number");
  if (job.array > kTasksMax || __builtin_mul_overflow(job.array - 1, job.step, &way) ||
      __builtin_add_overflow(job.first, way, &last)) {
    return invalid(fmt::format(
        "array: {} numbers from {} in steps of {} end beyond {}, or are more "
        "than the {} tasks that a job can have",
        job.array, job.first, job.step, job.step < 0 ? INT64_MIN : INT64_MAX, kTasksMax));
  }
  return {};
}

// What a program has as C++ values goes into the draft as it is.
Result<void> set_inputs(const JobOptions& job, spec::JobDraft& draft) {
  if (!job.values.empty()) {
    draft.said.emplace("values", "values");
    draft.sources.push_back({.values = {}, .file = "", .linked = false, .lent = &job.values});
  }
  if (!job.json_lines.empty()) {
    draft.said.emplace("json_lines", "json_lines");
    draft.sources.push_back({.values = {}, .file = "", .linked = false, .lent = &job.json_lines});
    draft.options.objects = true;
  }
  if (job.array != 0) {
    draft.said.emplace("array", "array");
    TRY(check_array(job));
    draft.numbers = sources::NumberList{job.first, job.step, job.array, {}};
  }
  draft.options.any_bytes = true;
  draft.options.blob_name = "values";
  for (const auto& [name, value] : job.env) draft.add_variable(name, value);
  draft.stdin_bytes = job.stdin_bytes;
  return {};
}

}  // namespace

Result<std::string> function_tag(std::string_view function) {
  if (is_name(function) && kFunctionTag.size() + function.size() <= kNameMax) {
    return fmt::format("{}{}", kFunctionTag, function);
  }
  return invalid(fmt::format("the function {} is not 1 to {} characters of A-Z a-z 0-9 . _ -",
                             quote(function), kNameMax - kFunctionTag.size()));
}

std::vector<std::pair<std::string_view, json>> fields_of(const JobOptions& job) {
  const bool unlimited = job.losses == kUnlimitedLosses;
  const bool forever = job.keep == std::chrono::milliseconds::max();
  return {{"argv", unless_empty(job.argv)},
          {"command", unless_empty(job.command)},
          {"function", unless_empty(job.function)},
          {"builtin", unless_empty(job.builtin)},
          {"no_quote", unless_empty(job.no_quote)},
          {"csv", unless_empty(job.csv)},
          {"header", unless_empty(job.header)},
          {"colsep", unless_empty(job.colsep)},
          {"name", unless_empty(job.name)},
          {"owner", unless_empty(job.owner)},
          {"key", unless_empty(job.key)},
          {"cwd", unless_empty(job.cwd)},
          {"timeout", text_of(job.timeout)},
          {"retries", job.retries == kNoRetries ? json(0U) : unless_empty(job.retries)},
          {"backoff", text_of(job.backoff)},
          {"retry_on", unless_empty(job.retry_on)},
          {"cleanup", unless_empty(job.cleanup)},
          {"losses", unlimited ? json("unlimited") : unless_empty(job.losses)},
          {"keep", forever ? json("forever") : text_of(job.keep)},
          {"requires", unless_empty(job.requires_tags)},
          {"cpus", unless_empty(job.cpus)},
          {"mem", unless_empty(job.mem_bytes)},
          {"gpus", unless_empty(job.gpus)},
          {"output_max", unless_empty(job.output_max)},
          {"memory_max", unless_empty(job.memory_max)},
          {"file_max", unless_empty(job.file_max)},
          {"priority", json(job.priority)},
          {"delivery", delivery_of(job.delivery)},
          {"after", unless_empty(job.after)},
          {"iterations", unless_empty(job.iterations)},
          {"partitions", unless_empty(job.partitions)},
          {"partitions_max", unless_empty(job.partitions_max)},
          {"span", text_of(job.span)},
          {"finish_by", unless_empty(job.finish_by)}};
}

Result<Submission> submission_of(const JobOptions& job, const std::string& id, WallTime now) {
  spec::JobDraft draft = spec::draft_from(spec::Entrance::sdk, now);
  draft.here = ".";
  draft.spec.set_owner(user_name());
  for (const auto& [name, value] : fields_of(job)) {
    if (!value.is_null()) TRY(spec::set_field(name, value, draft));
  }
  if (!job.line.empty()) TRY(spec::set_field("line", job.line, draft));
  TRY(set_inputs(job, draft));
  if (!job.function.empty()) {
    draft.spec.mutable_requires_()->add_tags(TRY(function_tag(job.function)));
  }
  spec::ReadyJob ready = TRY(spec::finish_job(std::move(draft), input_blob_name(id, "")));
  Submission submission{.spec = std::move(ready.spec), .by_slots = ready.by_slots};
  for (sources::Gathered::Blob& blob : ready.blobs) {
    submission.blobs.push_back(blob_of_bytes(std::move(blob.name), std::move(blob.bytes)));
  }
  for (std::string& other : ready.after) submission.spec.add_after(std::move(other));
  TRY(spec::check_job(submission.spec, spec::Entrance::sdk));
  return submission;
}

}  // namespace dunlin::sdk
