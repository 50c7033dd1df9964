// Rows: where and how a task is attempted, what it may use, and what is done when it fails.
#include <algorithm>
#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"
#include "model/jobs/submit.h"
#include "model/tasks/submit_folder.h"
#include "spec/access.h"

namespace dunlin::spec {
namespace {

using model::Spec;

constexpr size_t kPathMax = 4096;
constexpr size_t kCodesMax = 255;

Result<void> set_env(const Json& value, JobDraft& draft) {
  if (!value.is_object()) return unexpected();
  for (const auto& [name, text] : value.items()) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return Error{
          Code::invalid,
          fmt::format("the variable {} is not a name of letters, digits and _", quote(name))};
    }
    draft.add_variable(name, TRY(word_of(text)));
  }
  return {};
}
Json get_env(const model::Job& job) {
  Json variables;
  for (const model::Variable& one : job.spec().env()) variables[one.name()] = one.value();
  return variables;
}

Result<void> set_cwd(const Json& value, JobDraft& draft) {
  const std::string folder = TRY(text_of(value, kPathMax));
  if (folder == kTaskFolder) return {};
  if (!folder.starts_with('/')) return unexpected();
  draft.spec.set_cwd(folder);
  return {};
}
Json get_cwd(const model::Job& job) {
  const std::string_view folder = path_of(job.spec().cwd());
  return folder.empty() ? kTaskFolder : folder;
}

Result<void> set_retries(const Json& value, JobDraft& draft) {
  draft.spec.set_retries(TRY(small_number_of(value, 0, kRetriesMax)));
  draft.iterations.retries_said = true;
  return {};
}
Json get_retries(const model::Job& job) { return job.spec().retries(); }

Result<void> set_losses(const Json& value, JobDraft& draft) {
  const bool unlimited = value == "unlimited";
  draft.spec.set_losses(unlimited ? kLossesUnlimited
                                  : TRY(small_number_of(value, kLossesLeast, kLossesMost)));
  return {};
}
Json get_losses(const model::Job& job) {
  const uint32_t losses = job.spec().losses();
  return losses == kLossesUnlimited ? Json("unlimited") : unless_empty(losses);
}

Result<void> set_retry_on(const Json& value, JobDraft& draft) {
  if (value.is_string()) {
    for (const uint32_t code : TRY(parse_codes(value.get_ref<const std::string&>()))) {
      draft.spec.add_retry_on(code);
    }
    return {};
  }
  if (!value.is_array()) return unexpected();
  TRY(check_count(value.size(), kListMax));
  for (const Json& code : value) draft.spec.add_retry_on(TRY(small_number_of(code, 1, kCodesMax)));
  return {};
}
Json get_retry_on(const model::Job& job) {
  const auto& codes = job.spec().retry_on();
  return unless_empty(std::vector<uint32_t>(codes.begin(), codes.end()));
}

Result<void> set_cleanup(const Json& value, JobDraft& draft) {
  draft.spec.set_cleanup(TRY(text_of(value)));
  return {};
}
Json get_cleanup(const model::Job& job) { return unless_empty(job.spec().cleanup()); }

struct DeliveryWord {
  std::string_view word;
  model::Delivery delivery;
};
constexpr DeliveryWord kDeliveries[] = {{"once", model::DELIVERY_ONCE},
                                        {"at-most-once", model::DELIVERY_AT_MOST_ONCE},
                                        {"relaxed", model::DELIVERY_RELAXED}};

Result<void> set_delivery(const Json& value, JobDraft& draft) {
  const std::string word = TRY(text_of(value));
  const auto* const found = std::ranges::find(kDeliveries, word, &DeliveryWord::word);
  if (found == std::end(kDeliveries)) return unexpected();
  draft.spec.set_delivery(found->delivery);
  return {};
}
Json get_delivery(const model::Job& job) {
  const auto* const found =
      std::ranges::find(kDeliveries, job.spec().delivery(), &DeliveryWord::delivery);
  return found == std::end(kDeliveries) ? Json() : Json(found->word);
}

constexpr JobField kRows[] = {
    {.name = "env",
     .shape = Shape::variables,
     .word = "NAME[=VALUE]",
     .help = "Environment variables of the tasks",
     .typed = "NAME alone passes yours on; may be repeated",
     .expected = "names of variables, each with a text or a number",
     .schema = R"({"type":"object","additionalProperties":{"type":["string","number"]},
                   "maxProperties":1000,"examples":[{"SEED":"1"}]})",
     .access = {set_env, get_env}},
    {.name = "cwd",
     .shape = Shape::folder,
     .word = "DIR",
     .help =
         "Folder in which tasks run, or `task`: a fresh one for each (default: the one that you "
         "submit from, where a worker has it; over REST a fresh one)",
     .expected = "the path of a folder, from the root, or \"task\"",
     .schema =
         R"({"type":"string","pattern":"^/|^task$","maxLength":4096,"examples":["/tmp","task"]})",
     .access = {set_cwd, get_cwd}},
    {.name = "timeout",
     .entrances = kEverywhere,
     .word = "DURATION",
     .help = "Kill an attempt that runs longer than this (90s, 5m, 2h)",
     .expected = "a duration like \"5m\"",
     .schema = kDurationSchema,
     .access = kDurationAccess<&Spec::set_timeout_ms, &Spec::timeout_ms>},
    {.name = "retries",
     .shape = Shape::number,
     .entrances = kEverywhere,
     .word = "N",
     .help = "Number of times that a failed task is tried again (default: 0; with iterations 3)",
     .expected = "a number of 0 to 1000",
     .schema = R"({"type":"integer","minimum":0,"maximum":1000})",
     .access = {set_retries, get_retries}},
    {.name = "backoff",
     .entrances = kEverywhere,
     .word = "DURATION",
     .help = "Delay before the first retry (10s); it doubles after every retry",
     .expected = "a duration like \"10s\"",
     .schema = kDurationSchema,
     .access = kDurationAccess<&Spec::set_backoff_ms, &Spec::backoff_ms>},
    {.name = "retry_on",
     .entrances = kEverywhere,
     .word = "CODES",
     .help = "Exit codes after which a task is tried again: 1,2,100-120 (default: all)",
     .expected = "a list of exit codes, each of 1 to 255, or a text like \"1,2,100-120\"",
     .schema = R"({"type":["array","string"],"items":{"type":"integer","minimum":1,"maximum":255},
                   "maxItems":255,"examples":[[75],[1,2],"1,100-120"]})",
     .access = {set_retry_on, get_retry_on}},
    {.name = "losses",
     .shape = Shape::number,
     .word = "N",
     .help = "Number of workers that may be lost while they run a task before it is given up, or "
             "`unlimited` (default: 3)",
     .expected = "a number of 2 to 1000000, or \"unlimited\"",
     .schema = R"({"oneOf":[{"type":"integer","minimum":2,"maximum":1000000},
                  {"type":"string","enum":["unlimited"]}],"examples":[100,"unlimited"]})",
     .access = {set_losses, get_losses}},
    {.name = "delivery",
     .word = "HOW",
     .help =
         "Whether a task may start again when its worker is lost: once (it may, and has one "
         "outcome), at-most-once (never), relaxed (as once, without looking whether it started)",
     .expected = "\"once\", \"at-most-once\" or \"relaxed\"",
     .schema = R"({"type":"string","enum":["once","at-most-once","relaxed"]})",
     .access = {set_delivery, get_delivery}},
    {.name = "cleanup",
     .entrances = kEverywhere,
     .word = "LINE",
     .help = "Shell line to run after each attempt, in its folder",
     .expected = "a line for the shell",
     .schema = R"({"type":"string","minLength":1,"maxLength":131072,"examples":["true"]})",
     .access = {set_cleanup, get_cleanup}},
    {.name = "output_max",
     .word = "SIZE",
     .help = "Keep at most this much of a task's stdout, and of its stderr (default: 64M)",
     .expected = "a size like \"64M\", or a number of bytes",
     .schema = kSizeSchema,
     .access = kSizeAccess<&Spec::set_output_max, &Spec::output_max>},
    {.name = "memory_max",
     .entrances = kEverywhere,
     .word = "SIZE",
     .help = "Kill a task that uses more memory than this (512M, 4G)",
     .expected = "a size like \"4G\", or a number of bytes",
     .schema = kSizeSchema,
     .access = kSizeAccess<&Spec::set_memory_max, &Spec::memory_max>},
    {.name = "file_max",
     .entrances = kEverywhere,
     .word = "SIZE",
     .help = "Kill a task that writes a file larger than this (100M, 1G)",
     .expected = "a size like \"1G\", or a number of bytes",
     .schema = kSizeSchema,
     .access = kSizeAccess<&Spec::set_file_max, &Spec::file_max>},
};

}  // namespace

std::span<const JobField> attempt_fields() { return kRows; }

}  // namespace dunlin::spec
