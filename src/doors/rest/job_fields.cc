#include "doors/rest/job_fields.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text.h"
#include "model/keys.h"
#include "model/ledgers.h"
#include "model/submit.h"
#include "model/submit_folder.h"
#include "store/store.h"

namespace dunlin::rest {
namespace {

using nlohmann::json;

constexpr uint64_t kCountMax = 1'000'000;                  // Of CPUs and GPUs.
constexpr uint64_t kNumberMax = (uint64_t{1} << 53U) - 1;  // What every JSON reader can count to.
constexpr size_t kTextMax = 128 << 10;
constexpr size_t kWordsMax = 10'000;
constexpr size_t kValuesMax = 1'000'000;
constexpr size_t kVariablesMax = 1000;

// For a value of the wrong kind; the caller knows what was expected.
Error unexpected() { return {Code::invalid, ""}; }

Result<std::string> text_of(const json& value, size_t max = kTextMax) {
  if (!value.is_string()) return unexpected();
  const auto& text = value.get_ref<const std::string&>();
  const bool fits = !text.empty() && text.size() <= max;
  if (!fits || text.find('\0') != std::string::npos) return unexpected();
  return text;
}

Result<uint64_t> number_of(const json& value, uint64_t least, uint64_t most) {
  if (!value.is_number_unsigned()) return unexpected();
  const auto number = value.get<uint64_t>();
  if (number < least || number > most) return unexpected();
  return number;
}

Result<uint32_t> count_of(const json& value, uint64_t least, uint64_t most = kCountMax) {
  return static_cast<uint32_t>(TRY(number_of(value, least, most)));
}

// A text, or a whole number as it is written.
Result<std::string> word_of(const json& value) {
  if (value.is_number_integer()) return value.dump();
  if (!value.is_string()) return unexpected();
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kTextMax || text.find('\0') != std::string::npos) return unexpected();
  return text;
}

Result<std::vector<std::string>> words_of(const json& value, size_t max) {
  if (!value.is_array() || value.size() > max) return unexpected();
  std::vector<std::string> words;
  for (const json& one : value) words.push_back(TRY(word_of(one)));
  return words;
}

Result<uint64_t> duration_of(const json& value) {
  const std::string text = TRY(text_of(value));
  return static_cast<uint64_t>(TRY(parse_duration(text)).count());
}

Result<uint64_t> size_of(const json& value) {
  if (value.is_number()) return number_of(value, 0, kNumberMax);
  const std::string text = TRY(text_of(value));
  return parse_size(text);
}

Result<void> set_argv(const json& value, JobParts& parts) {
  for (std::string& word : TRY(words_of(value, kWordsMax))) {
    parts.spec.mutable_command()->add_argv(std::move(word));
  }
  return parts.spec.command().argv_size() > 0 ? Result<void>() : unexpected();
}
Result<void> set_line(const json& value, JobParts& parts) {
  parts.spec.mutable_command()->set_line(TRY(text_of(value)));
  return {};
}
Result<void> set_no_quote(const json& value, JobParts& parts) {
  if (!value.is_boolean()) return unexpected();
  parts.spec.mutable_command()->set_no_quote(value.get<bool>());
  return {};
}
Result<void> set_values(const json& value, JobParts& parts) {
  parts.values = TRY(words_of(value, kValuesMax));
  return parts.values->empty() ? unexpected() : Result<void>();
}
Result<void> set_colsep(const json& value, JobParts& parts) {
  parts.colsep = TRY(text_of(value, kNameMax));
  return {};
}

Result<void> set_array(const json& value, JobParts& parts) {
  if (!value.is_object()) return unexpected();
  uint64_t first = 0;
  uint64_t step = 1;
  std::optional<uint64_t> last;
  for (const auto& [name, number] : value.items()) {
    if (name == "first") {
      first = TRY(number_of(number, 0, kNumberMax));
    } else if (name == "last") {
      last = TRY(number_of(number, 0, kNumberMax));
    } else if (name == "step") {
      step = TRY(number_of(number, 1, kNumberMax));
    } else {
      return Error{Code::invalid, fmt::format("there is no {} in it", quote(name))};
    }
  }
  if (!last || *last < first) return unexpected();
  parts.array = {static_cast<int64_t>(first), static_cast<int64_t>(step),
                 (*last - first) / step + 1};
  return {};
}

Result<void> set_name(const json& value, JobParts& parts) {
  parts.spec.set_name(TRY(text_of(value, kNameMax)));
  return is_name(parts.spec.name()) ? Result<void>() : unexpected();
}
Result<void> set_owner(const json& value, JobParts& parts) {
  parts.spec.set_owner(TRY(text_of(value, kNameMax)));
  return is_name(parts.spec.owner()) ? Result<void>() : unexpected();
}
Result<void> set_key(const json& value, JobParts& parts) {
  parts.key = TRY(text_of(value, kNameMax));
  return is_name(parts.key) ? Result<void>() : unexpected();
}
Result<void> set_priority(const json& value, JobParts& parts) {
  parts.spec.set_priority(TRY(count_of(value, 0, kPriorityMax)));
  return {};
}
Result<void> set_tags(const json& value, JobParts& parts) {
  for (const std::string& tag : TRY(words_of(value, kVariablesMax))) {
    if (!is_tag(tag)) return unexpected();
    parts.spec.mutable_requires_()->add_tags(tag);
  }
  return {};
}
Result<void> set_cpus(const json& value, JobParts& parts) {
  parts.spec.mutable_requires_()->set_cpus(TRY(count_of(value, 1)));
  return {};
}
Result<void> set_mem(const json& value, JobParts& parts) {
  parts.spec.mutable_requires_()->set_mem_bytes(TRY(size_of(value)));
  return {};
}
Result<void> set_gpus(const json& value, JobParts& parts) {
  parts.spec.mutable_requires_()->set_gpus(TRY(count_of(value, 0)));
  return {};
}

Result<void> set_env(const json& value, JobParts& parts) {
  if (!value.is_object() || value.size() > kVariablesMax) return unexpected();
  for (const auto& [name, text] : value.items()) {
    model::Variable& variable = *parts.spec.add_env();
    variable.set_name(name);
    variable.set_value(TRY(word_of(text)));
  }
  return {};
}
Result<void> set_cwd(const json& value, JobParts& parts) {
  const std::string folder = TRY(text_of(value, 4096));
  if (folder.starts_with('?')) return unexpected();
  if (folder != kTaskFolder) parts.spec.set_cwd(folder);
  return {};
}
Result<void> set_stdin(const json& value, JobParts& parts) {
  if (!value.is_string()) return unexpected();
  parts.stdin_bytes = value.get<std::string>();
  return {};
}

Result<void> set_timeout(const json& value, JobParts& parts) {
  parts.spec.set_timeout_ms(TRY(duration_of(value)));
  return {};
}
Result<void> set_retries(const json& value, JobParts& parts) {
  parts.spec.set_retries(TRY(count_of(value, 0, kRetriesMax)));
  parts.iterations.retries_said = true;
  return {};
}
Result<void> set_losses(const json& value, JobParts& parts) {
  const bool unlimited = value == "unlimited";
  parts.spec.set_losses(unlimited ? kLossesUnlimited
                                  : TRY(count_of(value, kLossesLeast, kLossesMost)));
  return {};
}
Result<void> set_keep(const json& value, JobParts& parts) {
  parts.spec.set_keep_ms(TRY(parse_keep(value.is_string() ? value.get<std::string>() : "")));
  return {};
}
Result<void> set_backoff(const json& value, JobParts& parts) {
  parts.spec.set_backoff_ms(TRY(duration_of(value)));
  return {};
}
Result<void> set_retry_on(const json& value, JobParts& parts) {
  if (!value.is_array() || value.size() > 255) return unexpected();
  for (const json& code : value) parts.spec.add_retry_on(TRY(count_of(code, 1, 255)));
  return {};
}
Result<void> set_cleanup(const json& value, JobParts& parts) {
  parts.spec.set_cleanup(TRY(text_of(value)));
  return {};
}
Result<void> set_output_max(const json& value, JobParts& parts) {
  parts.spec.set_output_max(TRY(size_of(value)));
  return {};
}
Result<void> set_memory_max(const json& value, JobParts& parts) {
  parts.spec.set_memory_max(TRY(size_of(value)));
  return {};
}
Result<void> set_file_max(const json& value, JobParts& parts) {
  parts.spec.set_file_max(TRY(size_of(value)));
  return {};
}
Result<void> set_delivery(const json& value, JobParts& parts) {
  const std::string word = TRY(text_of(value));
  if (word != "once" && word != "at-most-once" && word != "relaxed") return unexpected();
  parts.spec.set_delivery(word == "once"      ? model::DELIVERY_ONCE
                          : word == "relaxed" ? model::DELIVERY_RELAXED
                                              : model::DELIVERY_AT_MOST_ONCE);
  return {};
}
Result<void> set_after(const json& value, JobParts& parts) {
  for (const std::string& job : TRY(words_of(value, kAfterMax))) {
    if (!is_name(job)) return unexpected();
    parts.spec.add_after(job);
  }
  return {};
}

// 1000000, or 1e6, which is the same number.
Result<void> set_total(const json& value, JobParts& parts) {
  if (!value.is_number_float()) {
    parts.iterations.iterations = TRY(number_of(value, 1, kNumberMax));
    return {};
  }
  const auto number = value.get<double>();
  if (number < 1 || number > double{kNumberMax}) return unexpected();
  parts.iterations.iterations = TRY(whole_iterations(number));
  return {};
}
Result<void> set_partitions(const json& value, JobParts& parts) {
  parts.iterations.partitions = TRY(count_of(value, 1, kPartitionsMax));
  return {};
}
Result<void> set_partitions_max(const json& value, JobParts& parts) {
  parts.iterations.partitions_max = TRY(count_of(value, 1, kPartitionsMax));
  return {};
}
Result<void> set_span(const json& value, JobParts& parts) {
  parts.iterations.span = Millis(TRY(duration_of(value)));
  return {};
}
Result<void> set_finish_by(const json& value, JobParts& parts) {
  const std::string text = TRY(text_of(value));
  parts.spec.set_finish_by_ms(TRY(parse_deadline(text, parts.now)).time_since_epoch().count());
  return {};
}

constexpr std::string_view kNameSchema =
    R"({"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$","examples":["sweep-7"]})";
constexpr std::string_view kDurationSchema =
    R"({"type":"string","pattern":"^(0|[0-9]+(ms|s|m|h|d))$","maxLength":20,
        "examples":["90s","500ms"]})";
constexpr std::string_view kSizeSchema =
    R"({"type":["integer","string"],"minimum":0,"maximum":9007199254740991,"maxLength":20,
        "examples":["4G",1048576]})";

constexpr JobField kJobFields[] = {
    {"argv", "a list of words, the program first: run as it is, without a shell",
     R"({"type":"array","items":{"type":["string","integer"]},"minItems":1,"maxItems":10000,
           "examples":[["echo","hello"],["true"]]})",
     set_argv},
    {"line", "a line for the shell, like \"gzip -9 {}\"",
     R"({"type":"string","minLength":1,"maxLength":131072,"examples":["echo {}"]})", set_line},
    {"no_quote", "true if values are not to be quoted for the shell", R"({"type":"boolean"})",
     set_no_quote},
    {"values", "a list of texts and whole numbers, a task for each",
     R"({"type":"array","items":{"type":["string","integer"]},"minItems":1,"maxItems":1000000,
           "examples":[["a","b"],[1,2,3]]})",
     set_values},
    {"array", "numbers from first (0) to last, each step (1) apart: a task for each",
     R"({"type":"object","properties":{
             "first":{"type":"integer","minimum":0,"maximum":9007199254740991},
             "last":{"type":"integer","minimum":0,"maximum":9007199254740991},
             "step":{"type":"integer","minimum":1,"maximum":9007199254740991}},
           "required":["last"],"additionalProperties":false,
           "examples":[{"last":9},{"first":1,"last":10,"step":3}]})",
     set_array},
    {"colsep", "a regular expression of at most 64 bytes, which splits values into {1} {2} ...",
     R"({"type":"string","minLength":1,"maxLength":64,"examples":[","]})", set_colsep},
    {"name", "a name of 1 to 64 of A-Z a-z 0-9 . _ -, for people", kNameSchema, set_name},
    {"owner", "a name of 1 to 64 of A-Z a-z 0-9 . _ -: whose job it is (api)", kNameSchema,
     set_owner},
    {"key", "a name of 1 to 64 of A-Z a-z 0-9 . _ -: as the header Idempotency-Key", kNameSchema,
     set_key},
    {"priority", "a number of 0 to 9, larger first (5)",
     R"({"type":"integer","minimum":0,"maximum":9})", set_priority},
    {"tags", "a list of tags that a worker must have",
     R"({"type":"array","items":{"type":"string","pattern":"^[A-Za-z0-9._=:+@/-]{1,64}$",
           "examples":["gpu"]},"maxItems":1000})",
     set_tags},
    {"cpus", "a number of 1 to 1000000: slots that a task takes",
     R"({"type":"integer","minimum":1,"maximum":1000000})", set_cpus},
    {"mem", "bytes, or a size like \"4G\": what a task needs of memory", kSizeSchema, set_mem},
    {"gpus", "a number of 0 to 1000000", R"({"type":"integer","minimum":0,"maximum":1000000})",
     set_gpus},
    {"env", "an object like {\"SEED\":\"1\"}",
     R"({"type":"object","additionalProperties":{"type":["string","integer"]},
           "maxProperties":1000,"examples":[{"SEED":"1"}]})",
     set_env},
    {"cwd", "the path of a folder, from the root, or \"task\": a fresh one, as if it is not said",
     R"({"type":"string","pattern":"^[/{]|^task$","maxLength":4096,"examples":["/tmp","task"]})",
     set_cwd},
    {"stdin", "a text, the standard input of each task", R"({"type":"string"})", set_stdin},
    {"timeout", "a duration like \"5m\", of each attempt", kDurationSchema, set_timeout},
    {"retries", "a number of 0 to 1000: further tries of a task that fails",
     R"({"type":"integer","minimum":0,"maximum":1000})", set_retries},
    {"losses",
     "a number of 2 to 1000000, or \"unlimited\": workers that a task may take with it; 3 if it is "
     "not said",
     R"({"oneOf":[{"type":"integer","minimum":2,"maximum":1000000},
                  {"type":"string","enum":["unlimited"]}],"examples":[100,"unlimited"]})",
     set_losses},
    {"keep",
     "a duration like \"30d\", or \"forever\": how long the job is kept after its end; as the "
     "store's rule says if it is not said",
     R"({"type":"string","pattern":"^([0-9]+(ms|s|m|h|d)|forever)$","examples":["30d"]})",
     set_keep},
    {"backoff", "a duration like \"10s\", before the first of them; doubles with each",
     kDurationSchema, set_backoff},
    {"retry_on", "a list of exit codes of 1 to 255 that are worth a retry; all if it is not said",
     R"({"type":"array","items":{"type":"integer","minimum":1,"maximum":255},"maxItems":255})",
     set_retry_on},
    {"cleanup", "a line for the shell, run after each attempt",
     R"({"type":"string","minLength":1,"maxLength":131072,"examples":["true"]})", set_cleanup},
    {"output_max", "bytes, or a size like \"64M\": kept of stdout and of stderr", kSizeSchema,
     set_output_max},
    {"memory_max", "bytes, or a size like \"4G\": a task that uses more memory is ended",
     kSizeSchema, set_memory_max},
    {"file_max", "bytes, or a size like \"1G\": a task that writes a larger file is ended",
     kSizeSchema, set_file_max},
    {"delivery", "\"once\", \"at-most-once\" or \"relaxed\"",
     R"({"type":"string","enum":["once","at-most-once","relaxed"]})", set_delivery},
    {"after", "a list of ids of jobs that must be done, all well, before this one starts",
     R"({"type":"array","items":{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$"},
           "maxItems":1000,"examples":[[]]})",
     set_after},
    {"iterations",
     "a number of 1 on: the partitions, which are the job's tasks, share so many iterations",
     R"({"type":"integer","minimum":1,"maximum":9007199254740991,"examples":[1000000]})",
     set_total},
    {"partitions",
     "a number of 1 to 1000, at most partitions_max: how many begin (1 with finish_by, otherwise "
     "one for each slot of the workers that can run them)",
     R"({"type":"integer","minimum":1,"maximum":1000,"examples":[1,2]})", set_partitions},
    {"partitions_max", "a number of 1 to 1000: how many there may be with finish_by (100)",
     R"({"type":"integer","minimum":1,"maximum":1000,"examples":[4,1000]})", set_partitions_max},
    {"span", "a duration like \"1s\": how long a partition works between two questions (1s)",
     kDurationSchema, set_span},
    {"finish_by",
     "a time like \"25m\", \"17:00\" or \"2030-01-31 17:00\", of the service: when the job "
     "should be done",
     R"({"type":"string","maxLength":20,
           "pattern":"^([0-9]+(ms|s|m|h|d)|([0-9]{4}-[0-9]{2}-[0-9]{2}[ T])?[0-9]{2}:[0-9]{2})$",
           "examples":["25m","17:00","2099-12-31 17:00"]})",
     set_finish_by},
};

}  // namespace

std::span<const JobField> job_fields() { return kJobFields; }

}  // namespace dunlin::rest
