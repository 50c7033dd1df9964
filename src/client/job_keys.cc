#include "client/job_keys.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "client/array.h"
#include "model/keys.h"
#include "model/ledgers.h"
#include "model/submit.h"
#include "model/submit_folder.h"

namespace dunlin {
namespace {

constexpr size_t kTagMax = 64;
constexpr int64_t kCountMax = 1'000'000;  // Of CPUs, GPUs, retries.

using Set = Result<void> (*)(const toml::node& value, JobDraft& draft);

struct Key {
  std::string_view name;
  std::string_view expected;
  Set set;
};

// For a value of the wrong kind; the caller knows what was expected.
Error unexpected() { return {Code::invalid, ""}; }

Result<std::string> text_of(const toml::node& value) {
  const auto text = value.value_exact<std::string>();
  if (!text || text->empty() || text->find('\0') != std::string::npos) return unexpected();
  return *text;
}

Result<uint64_t> number_of(const toml::node& value, int64_t min, int64_t max) {
  const auto number = value.value_exact<int64_t>();
  if (!number || *number < min || *number > max) return unexpected();
  return static_cast<uint64_t>(*number);
}

Result<uint32_t> count_of(const toml::node& value, int64_t min, int64_t max = kCountMax) {
  return static_cast<uint32_t>(TRY(number_of(value, min, max)));
}

Result<uint64_t> duration_of(const toml::node& value) {
  const std::string text = TRY(text_of(value));
  return static_cast<uint64_t>(TRY(parse_duration(text)).count());
}

// A text, or a number as it is written.
Result<std::string> word_of(const toml::node& value) {
  if (const auto number = value.value_exact<int64_t>()) return std::to_string(*number);
  if (const auto number = value.value_exact<double>()) return fmt::format("{}", *number);
  const auto text = value.value_exact<std::string>();
  if (!text || text->find('\0') != std::string::npos) return unexpected();
  return *text;
}

Result<uint64_t> size_of(const toml::node& value) {
  const std::string text = TRY(word_of(value));
  return parse_size(text);
}

Result<std::vector<std::string>> words_of(const toml::node& value) {
  const toml::array* const list = value.as_array();
  if (list == nullptr) return unexpected();
  std::vector<std::string> words;
  for (const toml::node& one : *list) words.push_back(TRY(word_of(one)));
  return words;
}

Result<std::string> path_of(const toml::node& value, const JobDraft& draft) {
  const std::string name = TRY(text_of(value));
  if (name == "-") return unexpected();  // Standard input may be the job file itself.
  return name.starts_with('/') ? name : draft.folder + name;
}

Result<void> set_name(const toml::node& value, JobDraft& draft) {
  const std::string name = TRY(text_of(value));
  if (!is_name(name)) return unexpected();
  draft.job.spec.set_name(name);
  return {};
}

Result<void> set_command(const toml::node& value, JobDraft& draft) {
  draft.job.spec.mutable_command()->set_line(TRY(text_of(value)));
  draft.command_keys.emplace_back("command");
  return {};
}

Result<void> set_argv(const toml::node& value, JobDraft& draft) {
  const auto words = TRY(words_of(value));
  if (words.empty() || words[0].empty()) return unexpected();
  for (const std::string& word : words) draft.job.spec.mutable_command()->add_argv(word);
  draft.command_keys.emplace_back("argv");
  return {};
}

Result<void> set_array(const toml::node& value, JobDraft& draft) {
  draft.options.array = TRY(text_of(value));
  if (const std::string why = why_no_array(draft.options.array); !why.empty()) {
    return Error{Code::invalid, why};
  }
  draft.input_keys.emplace_back("array");
  return {};
}

Result<void> set_values(const toml::node& value, JobDraft& draft) {
  draft.sources.push_back({TRY(words_of(value)), "", false});
  draft.input_keys.emplace_back("values");
  return {};
}

Result<void> set_lines(const toml::node& value, JobDraft& draft) {
  draft.sources.push_back({{}, TRY(path_of(value, draft)), false});
  draft.input_keys.emplace_back("lines");
  return {};
}

Result<void> set_csv(const toml::node& value, JobDraft& draft) {
  draft.sources.push_back({{}, TRY(path_of(value, draft)), false});
  draft.options.csv = draft.options.header = true;
  draft.input_keys.emplace_back("csv");
  return {};
}

Result<void> set_json(const toml::node& value, JobDraft& draft) {
  draft.options.json_lines = TRY(path_of(value, draft));
  draft.input_keys.emplace_back("json");
  return {};
}

Result<void> set_colsep(const toml::node& value, JobDraft& draft) {
  draft.options.colsep = TRY(text_of(value));
  return {};
}

Result<void> set_env(const toml::node& value, JobDraft& draft) {
  const toml::table* const table = value.as_table();
  if (table == nullptr) return unexpected();
  for (const auto& [name, text] : *table) {
    if (name.str().empty() || name.str().find('=') != std::string::npos) return unexpected();
    model::Variable* const variable = draft.job.spec.add_env();
    variable->set_name(std::string(name.str()));
    variable->set_value(TRY(word_of(text)));
  }
  return {};
}

Result<void> set_cwd(const toml::node& value, JobDraft& draft) {
  const std::string folder = TRY(text_of(value));
  draft.options.fresh_folder = folder == kTaskFolder;
  if (draft.options.fresh_folder) return {};
  if (!folder.starts_with('/')) return unexpected();
  draft.job.spec.set_cwd(folder);
  return {};
}

Result<void> set_stdin(const toml::node& value, JobDraft& draft) {
  const auto text = value.value_exact<std::string>();
  if (!text) return unexpected();
  draft.job.spec.set_stdin(*text);
  return {};
}

Result<void> set_timeout(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_timeout_ms(TRY(duration_of(value)));
  return {};
}

Result<void> set_retries(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_retries(TRY(count_of(value, 0, kRetriesMax)));
  draft.iterations.retries_said = true;
  return {};
}

Result<void> set_losses(const toml::node& value, JobDraft& draft) {
  const bool unlimited = value.value_exact<std::string>() == "unlimited";
  draft.job.spec.set_losses(unlimited ? kLossesUnlimited : TRY(count_of(value, kLossesLeast)));
  return {};
}

Result<void> set_keep(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_keep_ms(TRY(parse_keep(value.value_exact<std::string>().value_or(""))));
  return {};
}

Result<void> set_backoff(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_backoff_ms(TRY(duration_of(value)));
  return {};
}

Result<void> set_retry_on(const toml::node& value, JobDraft& draft) {
  const toml::array* const list = value.as_array();
  if (list == nullptr) return unexpected();
  for (const toml::node& one : *list) draft.job.spec.add_retry_on(TRY(count_of(one, 1, 255)));
  return {};
}

Result<void> set_cleanup(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_cleanup(TRY(text_of(value)));
  return {};
}

Result<void> set_requires(const toml::node& value, JobDraft& draft) {
  std::vector<std::string> tags = TRY(words_of(value));
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  for (const std::string& tag : tags) {
    if (!is_visible(tag, kTagMax)) return unexpected();
    draft.job.spec.mutable_requires_()->add_tags(tag);
  }
  return {};
}

Result<void> set_cpus(const toml::node& value, JobDraft& draft) {
  draft.job.spec.mutable_requires_()->set_cpus(TRY(count_of(value, 1)));
  return {};
}

Result<void> set_mem(const toml::node& value, JobDraft& draft) {
  draft.job.spec.mutable_requires_()->set_mem_bytes(TRY(size_of(value)));
  return {};
}

Result<void> set_gpus(const toml::node& value, JobDraft& draft) {
  draft.job.spec.mutable_requires_()->set_gpus(TRY(count_of(value, 0)));
  return {};
}

Result<void> set_priority(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_priority(TRY(count_of(value, 0, kPriorityMax)));
  return {};
}

Result<void> set_after(const toml::node& value, JobDraft& draft) {
  draft.after = TRY(words_of(value));
  return {};
}

Result<void> set_delivery(const toml::node& value, JobDraft& draft) {
  const std::string text = TRY(text_of(value));
  if (text != "once" && text != "at-most-once" && text != "relaxed") return unexpected();
  draft.job.spec.set_delivery(text == "once"      ? model::DELIVERY_ONCE
                              : text == "relaxed" ? model::DELIVERY_RELAXED
                                                  : model::DELIVERY_AT_MOST_ONCE);
  return {};
}

Result<void> set_output_max(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_output_max(TRY(size_of(value)));
  return {};
}

Result<void> set_memory_max(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_memory_max(TRY(size_of(value)));
  return {};
}

Result<void> set_file_max(const toml::node& value, JobDraft& draft) {
  draft.job.spec.set_file_max(TRY(size_of(value)));
  return {};
}

Result<void> set_total(const toml::node& value, JobDraft& draft) {
  if (const auto whole = value.value_exact<int64_t>(); whole && *whole >= 1) {
    draft.iterations.iterations = static_cast<uint64_t>(*whole);
    return {};
  }
  const auto number = value.value_exact<double>();
  if (!number || !(*number >= 1)) return unexpected();
  draft.iterations.iterations = TRY(whole_iterations(*number));
  return {};
}

Result<void> set_partitions(const toml::node& value, JobDraft& draft) {
  draft.iterations.partitions = TRY(count_of(value, 1, kPartitionsMax));
  return {};
}

Result<void> set_partitions_max(const toml::node& value, JobDraft& draft) {
  draft.iterations.partitions_max = TRY(count_of(value, 1, kPartitionsMax));
  return {};
}

Result<void> set_span(const toml::node& value, JobDraft& draft) {
  draft.iterations.span = Millis(TRY(duration_of(value)));
  return {};
}

Result<void> set_finish_by(const toml::node& value, JobDraft& draft) {
  const std::string text = TRY(text_of(value));
  draft.job.spec.set_finish_by_ms(TRY(parse_deadline(text, draft.now)).time_since_epoch().count());
  return {};
}

constexpr std::array<Key, 34> kJobKeys = {{
    {"name", "a text of letters, digits, dots, dashes and underscores, at most 64", set_name},
    {"command", "a line for the shell, like \"gzip -9 {}\"", set_command},
    {"argv", "a list of words, the program first, like [\"gzip\", \"-9\", \"{}\"]", set_argv},
    {"array", "a text like \"0-999\"", set_array},
    {"values", "a list of texts and numbers", set_values},
    {"lines", "the name of a file with a value on each line", set_lines},
    {"csv", "the name of a CSV file whose first line has the names", set_csv},
    {"json", "the name of a file with a JSON object on each line", set_json},
    {"colsep", "a character or a regular expression", set_colsep},
    {"env", "a table like { SEED = \"1\" }", set_env},
    {"cwd", "the path of a folder, from the root, or \"task\"", set_cwd},
    {"stdin", "a text", set_stdin},
    {"timeout", "a duration like \"5m\"", set_timeout},
    {"retries", "a number of 0 to 1000", set_retries},
    {"backoff", "a duration like \"10s\"", set_backoff},
    {"losses", "a number of 2 to 1000000, or \"unlimited\"", set_losses},
    {"keep", "a duration like \"30d\", or \"forever\"", set_keep},
    {"retry_on", "a list of exit codes, each of 1 to 255", set_retry_on},
    {"cleanup", "a line for the shell", set_cleanup},
    {"requires", "a list of tags, each of 1 to 64 visible characters", set_requires},
    {"cpus", "a number of 1 to 1000000", set_cpus},
    {"mem", "a size like \"4G\"", set_mem},
    {"gpus", "a number of 0 to 1000000", set_gpus},
    {"priority", "a number of 0 to 9", set_priority},
    {"after", "a list of names of jobs above, or of ids", set_after},
    {"delivery", "\"once\", \"at-most-once\" or \"relaxed\"", set_delivery},
    {"output_max", "a size like \"64M\"", set_output_max},
    {"memory_max", "a size like \"4G\"", set_memory_max},
    {"file_max", "a size like \"1G\"", set_file_max},
    {"iterations", "a number of 1 on, like 1000000 or 1e6", set_total},
    {"partitions", "a number of 1 to 1000", set_partitions},
    {"partitions_max", "a number of 1 to 1000", set_partitions_max},
    {"span", "a duration like \"1s\"", set_span},
    {"finish_by", "a time like \"25m\", \"17:00\" or \"2030-01-31 17:00\"", set_finish_by},
}};

}  // namespace

Result<void> set_key(std::string_view name, const toml::node& value, JobDraft& draft) {
  std::vector<std::string_view> names;
  for (const Key& key : kJobKeys) {
    names.push_back(key.name);
    if (key.name != name) continue;
    const Result<void> set = key.set(value, draft);
    if (set.ok()) return {};
    const std::string& why = set.error().what;
    return Error{Code::invalid, why.empty() ? fmt::format("{} must be {}", name, key.expected)
                                            : fmt::format("{}: {}", name, why)};
  }
  const std::string_view meant = nearest(name, names);
  return Error{Code::invalid, meant.empty() ? fmt::format("a job has no key {}: its keys are {}",
                                                          quote(name), fmt::join(names, ", "))
                                            : fmt::format("a job has no key {}: did you mean {}?",
                                                          quote(name), meant)};
}

}  // namespace dunlin
