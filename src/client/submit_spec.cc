#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"
#include "base/who.h"
#include "client/submit_verb.h"
#include "model/expand.h"
#include "model/inputs.h"
#include "model/submit.h"
#include "model/submit_folder.h"

namespace dunlin {
namespace {

constexpr uint32_t kExitMax = 255;

Result<void> add_variable(const std::string& text, model::Spec& spec) {
  const size_t equals = text.find('=');
  model::Variable& variable = *spec.add_env();
  variable.set_name(text.substr(0, equals));
  if (equals != std::string::npos) {
    variable.set_value(text.substr(equals + 1));
    return {};
  }
  const char* value = std::getenv(text.c_str());
  if (value == nullptr) {
    return Error{Code::invalid, fmt::format("the variable {} is not set here: write --env "
                                            "NAME=VALUE",
                                            quote(text))};
  }
  variable.set_value(value);
  return {};
}

Result<uint64_t> milliseconds(const std::string& text) {
  return text.empty() ? uint64_t{0} : static_cast<uint64_t>(TRY(parse_duration(text)).count());
}

Result<uint64_t> bytes_of(const std::string& text) {
  return text.empty() ? Result<uint64_t>(uint64_t{0}) : parse_size(text);
}

// Spec.cwd of --cwd.
Result<std::string> folder_of(const std::string& cwd) {
  if (cwd.empty()) return cwd_from(".");
  std::error_code failed;
  if (cwd == kTaskFolder) {
    if (!std::filesystem::is_directory(cwd, failed)) return std::string();
    return Error{Code::invalid,
                 "--cwd task is a fresh folder for each task, but there is a folder "
                 "task here: write --cwd ./task for that one"};
  }
  std::string path = whole_path(cwd);
  if (path.empty())
    return Error{Code::invalid, "the current folder is gone: give --cwd a whole path"};
  return path;
}

// What stands in a source that is not stored yet.
Result<std::string> value_at(const model::Source& source, std::string_view blob, uint64_t index) {
  std::string_view bytes = source.inline_();
  const uint64_t group = index / kValuesPerIndex;
  uint64_t first = 0;
  if (!source.blob().empty()) {
    const Slice offsets = index_slice(source, group);
    const Slice slice = TRY(group_slice(source, group, blob.substr(offsets.offset, offsets.size)));
    bytes = blob.substr(slice.offset, slice.size);
    first = group * kValuesPerIndex;
  }
  const std::vector<std::string> values = TRY(read_values(bytes));
  CHECK(index - first < values.size());
  return values[index - first];
}

}  // namespace

Result<std::vector<uint32_t>> parse_codes(std::string_view text) {
  std::vector<uint32_t> codes;
  const auto refuse = [&] {
    return Error{Code::invalid, fmt::format("the exit codes {} are not of 1 to {}: write them like "
                                            "1,2,100-120",
                                            quote(text), kExitMax)};
  };
  std::string_view rest = text;
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    const size_t dash = std::min(item.find('-'), item.size());
    const auto first = parse_number("the exit code", item.substr(0, dash));
    const auto last =
        dash == item.size() ? first : parse_number("the exit code", item.substr(dash + 1));
    if (!first.ok() || !last.ok()) return refuse();
    if (first.value() < 1 || first.value() > last.value() || last.value() > kExitMax) {
      return refuse();
    }
    for (uint64_t code = first.value(); code <= last.value(); ++code) {
      codes.push_back(static_cast<uint32_t>(code));
    }
    if (comma == rest.size()) return codes;
    rest.remove_prefix(comma + 1);
  }
}

Result<model::Spec> spec_of(const SubmitVerb& verb) {
  if (verb.at_most_once && verb.relaxed) {
    return Error{Code::invalid, "--at-most-once and --relaxed contradict each other: give one"};
  }
  model::Spec spec;
  spec.set_name(verb.name);
  spec.set_owner(verb.owner.empty() ? user_name() : verb.owner);
  spec.set_priority(verb.priority);
  model::Requirements& needs = *spec.mutable_requires_();
  for (const std::string& tag : verb.tags) needs.add_tags(tag);
  needs.set_cpus(verb.cpus);
  needs.set_mem_bytes(TRY(bytes_of(verb.mem)));
  needs.set_gpus(verb.gpus);
  if (verb.at_most_once) spec.set_delivery(model::DELIVERY_AT_MOST_ONCE);
  if (verb.relaxed) spec.set_delivery(model::DELIVERY_RELAXED);
  for (const std::string& text : verb.env) TRY(add_variable(text, spec));
  spec.set_cwd(TRY(folder_of(verb.cwd)));
  spec.set_timeout_ms(TRY(milliseconds(verb.timeout)));
  spec.set_retries(verb.retries.value_or(0));
  if (!verb.losses.empty()) spec.set_losses(TRY(parse_losses(verb.losses)));
  if (!verb.keep.empty()) spec.set_keep_ms(TRY(parse_keep(verb.keep)));
  spec.set_backoff_ms(TRY(milliseconds(verb.backoff)));
  if (!verb.retry_on.empty()) {
    for (const uint32_t code : TRY(parse_codes(verb.retry_on))) spec.add_retry_on(code);
  }
  spec.set_cleanup(verb.cleanup);
  spec.set_output_max(TRY(bytes_of(verb.output_max)));
  spec.set_memory_max(TRY(bytes_of(verb.memory_max)));
  spec.set_file_max(TRY(bytes_of(verb.file_max)));
  return spec;
}

Result<std::vector<std::string>> values_of(const Gathered& gathered, uint64_t task) {
  std::vector<std::string> values;
  const std::vector<uint64_t> indices = source_indices(gathered.inputs, task);
  for (size_t i = 0; i < indices.size(); ++i) {
    const model::Source& source = gathered.inputs.sources(static_cast<int>(i));
    std::string_view blob;
    for (const Gathered::Blob& one : gathered.blobs) {
      if (one.name == source.blob()) blob = one.bytes;
    }
    values.push_back(TRY(value_at(source, blob, indices[i])));
  }
  return values;
}

}  // namespace dunlin
