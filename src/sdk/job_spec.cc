#include "sdk/job_spec.h"

#include <fmt/format.h>

#include "base/names.h"
#include "base/who.h"
#include "model/expand.h"
#include "model/inputs.h"
#include "model/keys.h"
#include "model/submit_folder.h"

namespace dunlin::sdk {
namespace {

constexpr std::string_view kFunctionTag = "function:";
constexpr size_t kStdinInlineMax = 2 << 10;

dunlin::Error invalid(std::string what) { return {dunlin::Code::invalid, std::move(what)}; }

Result<uint64_t> positive(std::string_view what, std::chrono::milliseconds time) {
  if (time.count() >= 0) return static_cast<uint64_t>(time.count());
  return invalid(fmt::format("the {} of {} ms is negative", what, time.count()));
}

}  // namespace

Result<std::string> function_tag(std::string_view function) {
  if (is_name(function) && kFunctionTag.size() + function.size() <= kNameMax) {
    return fmt::format("{}{}", kFunctionTag, function);
  }
  return invalid(fmt::format("the function {} is not 1 to {} characters of A-Z a-z 0-9 . _ -",
                             quote(function), kNameMax - kFunctionTag.size()));
}

Result<model::Spec> spec_of(const JobOptions& job) {
  model::Spec spec;
  spec.set_name(job.name);
  spec.set_owner(job.owner.empty() ? user_name() : job.owner);
  model::Command& command = *spec.mutable_command();
  for (const std::string& word : job.argv) command.add_argv(word);
  command.set_line(job.line);
  command.set_function(job.function);
  command.set_builtin(job.builtin);
  model::Requirements& needs = *spec.mutable_requires_();
  for (const std::string& tag : job.requires_tags) needs.add_tags(tag);
  if (!job.function.empty()) needs.add_tags(TRY(function_tag(job.function)));
  needs.set_cpus(job.cpus);
  needs.set_mem_bytes(job.mem_bytes);
  needs.set_gpus(job.gpus);
  spec.set_priority(job.priority);
  spec.set_delivery(static_cast<model::Delivery>(job.delivery));
  for (const auto& [name, value] : job.env) {
    model::Variable& variable = *spec.add_env();
    variable.set_name(name);
    variable.set_value(value);
  }
  if (job.cwd.empty() && (!job.argv.empty() || !job.line.empty())) {
    spec.set_cwd(cwd_from("."));
  } else if (job.cwd != kTaskFolder) {
    spec.set_cwd(job.cwd);
  }
  spec.set_timeout_ms(TRY(positive("timeout", job.timeout)));
  spec.set_retries(job.retries);
  spec.set_losses(job.losses);
  spec.set_backoff_ms(TRY(positive("backoff", job.backoff)));
  const bool forever = job.keep == std::chrono::milliseconds::max();
  spec.set_keep_ms(forever ? kKeepForever : TRY(positive("keep", job.keep)));
  for (const std::string& other : job.after) spec.add_after(other);
  return spec;
}

Result<std::vector<NamedBlob>> add_inputs(const JobOptions& job, const std::string& id,
                                          model::Spec& spec) {
  if (!job.values.empty() && job.array != 0) {
    return invalid("the job has both values and an array: give one");
  }
  std::vector<NamedBlob> blobs;
  model::Inputs& inputs = *spec.mutable_inputs();
  inputs.Clear();
  if (!job.values.empty()) {
    SourceWriter writer;
    for (const std::string& value : job.values) TRY(writer.add(value));
    const std::string name = input_blob_name(id, "values");
    SourceWriter::Finished finished = std::move(writer).finish(name, false);
    *inputs.add_sources() = std::move(finished.source);
    if (!finished.blob.empty()) blobs.push_back(blob_of_bytes(name, std::move(finished.blob)));
    spec.set_tasks(job.values.size());
  } else if (job.array != 0) {
    inputs.set_first(job.first);
    inputs.set_step(job.step);
    spec.set_tasks(job.array);
  } else {
    inputs.set_single(true);
    spec.set_tasks(1);
  }
  if (job.stdin_bytes.size() <= kStdinInlineMax) {
    spec.set_stdin(job.stdin_bytes);
  } else {
    spec.set_stdin_blob(input_blob_name(id, "stdin"));
    blobs.push_back(blob_of_bytes(spec.stdin_blob(), job.stdin_bytes));
  }
  TRY(validate_spec(spec));
  TRY(check_program(spec, "cwd"));
  TRY(Template::compile(spec));
  return blobs;
}

}  // namespace dunlin::sdk
