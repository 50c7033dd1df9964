#include "doors/rest/job_body.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/names.h"
#include "doors/rest/job_fields.h"
#include "model/expand.h"
#include "model/inputs.h"
#include "model/iterations.h"
#include "model/keys.h"
#include "model/submit_folder.h"

namespace dunlin::rest {
namespace {

using nlohmann::json;

constexpr size_t kStdinInlineMax = 2 << 10;
constexpr std::string_view kOwner = "api";  // Who says nothing else.

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

Result<void> set_field(const std::string& name, const json& value, JobParts& parts) {
  const auto fields = job_fields();
  const auto field = std::ranges::find(fields, name, &JobField::name);
  if (field == fields.end()) return invalid(fmt::format("a job has no {}", quote(name)));
  const Result<void> set = field->set(value, parts);
  if (set.ok()) return {};
  const std::string& why = set.error().what;
  return invalid(why.empty() ? fmt::format("{} must be {}", name, field->expected)
                             : fmt::format("{}: {}", name, why));
}

// A list, an array, or one task without a value.
Result<void> add_inputs(const JobParts& parts, JobDraft& draft) {
  model::Inputs& inputs = *draft.spec.mutable_inputs();
  if (parts.values && parts.array) return invalid("a job has values or an array: leave one out");
  if (parts.array) {
    inputs.set_first(parts.array->first);
    inputs.set_step(parts.array->step);
    draft.spec.set_tasks(parts.array->count);
    return {};
  }
  if (!parts.values) {
    inputs.set_single(true);
    draft.spec.set_tasks(1);
    return {};
  }
  SourceWriter writer;
  for (const std::string& value : *parts.values) TRY(writer.add(value));
  auto finished = std::move(writer).finish(input_blob_name(draft.options.id, "1"), false);
  if (!finished.blob.empty()) {
    draft.options.blobs.push_back(blob_of_bytes(finished.source.blob(), std::move(finished.blob)));
  }
  *inputs.add_sources() = std::move(finished.source);
  inputs.set_colsep(parts.colsep);
  draft.spec.set_tasks(TRY(count_tasks(inputs)));
  return {};
}

void add_stdin(const std::string& bytes, JobDraft& draft) {
  if (bytes.size() <= kStdinInlineMax) {
    draft.spec.set_stdin(bytes);
    return;
  }
  draft.spec.set_stdin_blob(input_blob_name(draft.options.id, "stdin"));
  draft.options.blobs.push_back(blob_of_bytes(draft.spec.stdin_blob(), bytes));
}

}  // namespace

Result<JobDraft> draft_job(const json& body, std::string id, WallTime now) {
  JobParts parts{.now = now};
  parts.spec.set_priority(kPriorityDefault);
  parts.spec.set_owner(std::string(kOwner));
  for (const auto& [name, value] : body.items()) TRY(set_field(name, value, parts));
  JobDraft draft;
  draft.spec = std::move(parts.spec);
  draft.options.id = std::move(id);
  draft.options.key = parts.key;
  draft.spec.set_created_us(to_us(now));
  if (draft.spec.command().argv_size() == 0 && draft.spec.command().line().empty()) {
    return invalid("the job has no command: give it argv, a list of words, or line, for the shell");
  }
  TRY(add_inputs(parts, draft));
  draft.by_slots = TRY(set_iterations(parts.iterations, draft.spec));
  add_stdin(parts.stdin_bytes, draft);
  TRY(validate_spec(draft.spec));
  TRY(check_program(draft.spec, "cwd"));
  TRY(Template::compile(draft.spec));
  return draft;
}

const std::string& job_schema() {
  static const std::string text = [] {
    nlohmann::ordered_json schema = {{"type", "object"}, {"additionalProperties", false}};
    for (const JobField& field : job_fields()) {
      auto one = nlohmann::ordered_json::parse(field.schema);
      one["description"] = field.expected;
      schema["properties"][std::string(field.name)] = std::move(one);
    }
    schema["oneOf"] =
        nlohmann::ordered_json::parse(R"([{"required":["argv"]},{"required":["line"]}])");
    // Partitions are the tasks of a job with iterations, and each counts once.
    schema["dependentRequired"] = nlohmann::ordered_json::parse(
        R"({"partitions":["iterations"],"partitions_max":["iterations"],"span":["iterations"]})");
    schema["dependentSchemas"] = nlohmann::ordered_json::parse(
        R"({"iterations":{"properties":{
              "values":false,"array":false,"delivery":{"const":"once"}}}})");
    return schema.dump();
  }();
  return text;
}

}  // namespace dunlin::rest
