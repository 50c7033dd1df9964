#include "model/tasks/expand.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"
#include "model/keys.h"
#include "model/tasks/colsep.h"
#include "model/tasks/shell_line.h"
#include "model/tasks/submit_folder.h"

namespace dunlin {
namespace {

using What = Placeholder::What;

constexpr size_t kColumnsUnknown = SIZE_MAX;

std::vector<std::string> shell(std::string line) { return {"/bin/sh", "-c", std::move(line)}; }

std::vector<std::string> run_line(std::string line) {
  std::vector<std::string> words = direct_words(line);
  return words.empty() ? shell(std::move(line)) : words;
}

int64_t number_of(const model::Inputs& inputs, uint64_t task) {
  if (inputs.sources_size() > 0) return static_cast<int64_t>(task + 1);
  const auto step = static_cast<uint64_t>(inputs.step() == 0 ? 1 : inputs.step());
  return static_cast<int64_t>(static_cast<uint64_t>(inputs.first()) + task * step);
}

bool is_all(const Pattern& word) { return word.size() == 1 && word[0].what == What::all; }

}  // namespace

struct Template::Parts {
  enum class Kind { none, words, line, argument };

  Kind kind = Kind::none;
  std::vector<Pattern> words;
  Pattern line;
  bool no_quote = false;
  model::Inputs inputs;  // Without the values.
  size_t sources = 0;
  Colsep colsep;
  Expanded common;  // What is the same for all tasks.

  void take_command(const model::Command& command);
  size_t fill_words(const Filling& filling, Expanded& out) const;
  Result<void> fill_in(const Filling& filling, Expanded& out) const;
  Result<void> add_own(const TaskObject& object, const Filling& filling, Expanded& out) const;
};

void Template::Parts::take_command(const model::Command& command) {
  const bool values = sources > 0 && !inputs.listed();
  const Pattern value{{.what = What::all}};
  if (command.argv_size() > 0) {
    kind = Kind::words;
    for (const std::string& word : command.argv()) words.push_back(parse_pattern(word, inputs));
    if (values && std::none_of(words.begin(), words.end(), has_placeholder)) words.push_back(value);
  } else if (!command.line().empty()) {
    line = parse_pattern(command.line(), inputs);
    if (values && !has_placeholder(line)) {
      line.back().text += ' ';
      line.push_back(value[0]);
    }
    no_quote = command.no_quote() && has_placeholder(line);
    const size_t columns = colsep.empty() ? sources : kColumnsUnknown;
    if (!no_quote) words = direct_words(line, columns);
    kind = words.empty() ? Kind::line : Kind::words;
  } else if (!command.function().empty() || !command.builtin().empty()) {
    kind = Kind::argument;
    line = value;
  }
}

// Returns their size; stops when it is too large.
size_t Template::Parts::fill_words(const Filling& filling, Expanded& out) const {
  size_t size = 0;
  out.argv.reserve(words.size());
  for (const Pattern& word : words) {
    if (is_all(word)) {
      for (const std::string_view column : filling.columns) {
        size += out.argv.emplace_back(cut_path(column, word[0].cut)).size();
      }
    } else {
      fill(word, filling, Quoting::none, out.argv.emplace_back());
      size += out.argv.back().size();
    }
    if (size > kFilledMax) break;
  }
  return size;
}

Result<void> Template::Parts::fill_in(const Filling& filling, Expanded& out) const {
  size_t size = 0;
  if (kind == Kind::words) {
    size = fill_words(filling, out);
  } else if (kind == Kind::line) {
    std::string text;
    fill(line, filling, no_quote ? Quoting::none : Quoting::shell, text);
    size = text.size();
    out.argv = no_quote ? run_line(std::move(text)) : shell(std::move(text));
  } else if (kind == Kind::argument) {
    fill(line, filling, Quoting::none, out.argument);
  } else {
    return Error{Code::invalid,
                 "the task has neither \"argv\" nor \"command\", and the job has no command"};
  }
  if (size <= kFilledMax) return {};
  return Error{Code::invalid, fmt::format("the task's command has more than {} bytes: pass long "
                                          "values in a file or on standard input",
                                          kFilledMax)};
}

namespace {

// The task's own folder.
Result<void> enter(const std::string& folder, Expanded& out) {
  if (folder == kTaskFolder) {
    out.cwd.clear();
  } else if (folder.starts_with('/') || submit_folder(folder)) {
    out.cwd = folder;
  } else if (submit_folder(out.cwd)) {
    out.below = folder;
  } else if (!out.cwd.empty()) {
    out.cwd += '/' + folder;
  } else {
    return check_task_folder(folder);
  }
  return {};
}

}  // namespace

Result<void> Template::Parts::add_own(const TaskObject& object, const Filling& filling,
                                      Expanded& out) const {
  out.env.insert(out.env.end(), object.env.begin(), object.env.end());
  if (object.cwd) TRY(enter(*object.cwd, out));
  if (object.stdin_bytes) out.stdin_bytes = *object.stdin_bytes;
  if (!object.argv.empty()) {
    out.argv = object.argv;
  } else if (!object.command.empty()) {
    out.argv = run_line(object.command);
  } else {
    return fill_in(filling, out);
  }
  return {};
}

std::vector<uint64_t> source_indices(const model::Inputs& inputs, uint64_t task) {
  std::vector<uint64_t> indices(static_cast<size_t>(inputs.sources_size()));
  for (int first = inputs.sources_size(), end = first; first > 0;) {
    --first;
    const model::Source& source = inputs.sources(first);
    if (source.linked() && first > 0) continue;
    const uint64_t count = std::max<uint64_t>(source.count(), 1);
    for (int i = first; i < end; ++i) indices[static_cast<size_t>(i)] = task % count;
    task /= count;
    end = first;
  }
  return indices;
}

Result<uint64_t> count_tasks(const model::Inputs& inputs) {
  CHECK(inputs.sources_size() > 0);
  uint64_t tasks = 1;
  uint64_t count = 0;  // Of the last source that is not linked.
  bool too_many = false;
  for (int i = 0; i < inputs.sources_size(); ++i) {
    const model::Source& source = inputs.sources(i);
    if (source.linked() && i > 0) {
      if (source.count() == count) continue;
      return Error{Code::invalid,
                   fmt::format("input source {} has {} values, but it is linked to one that has "
                               "{}: give both the same number",
                               i + 1, source.count(), count)};
    }
    count = source.count();
    if (count == 0) return uint64_t{0};
    too_many = too_many || count > kTasksMax / tasks;
    if (!too_many) tasks *= count;
  }
  if (!too_many) return tasks;
  return Error{
      Code::invalid,
      fmt::format("the input sources have more than {} combinations: split the job into several",
                  kTasksMax)};
}

Template::Template(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::compile(const model::Spec& spec) {
  auto parts = std::make_unique<Parts>();
  parts->inputs = spec.inputs();
  for (model::Source& source : *parts->inputs.mutable_sources()) source.clear_inline_();
  parts->sources = static_cast<size_t>(spec.inputs().sources_size());
  parts->colsep = TRY(Colsep::compile(spec.inputs().colsep()));
  parts->take_command(spec.command());
  if (parts->kind == Parts::Kind::none && !spec.inputs().json()) {
    return Error{Code::invalid, "the job has no command: give one"};
  }
  for (const model::Variable& variable : spec.env()) {
    parts->common.env.emplace_back(variable.name(), variable.value());
  }
  parts->common.cwd = spec.cwd();
  parts->common.stdin_bytes = spec.stdin();
  return Template(std::move(parts));
}

Result<Expanded> Template::expand(uint64_t task, const std::vector<std::string>& values,
                                  uint32_t slot) const {
  CHECK(values.size() == parts_->sources);
  Expanded out = parts_->common;
  Filling filling{.number = number_of(parts_->inputs, task), .slot = slot};
  std::string number;
  if (values.empty() && !parts_->inputs.single()) {
    number = std::to_string(filling.number);
    filling.columns.push_back(number);
  }
  for (const std::string& value : values) {
    if (parts_->colsep.empty()) {
      filling.columns.push_back(value);
    } else {
      parts_->colsep.split(value, filling.columns);
    }
  }
  if (!parts_->inputs.json() || values.empty()) {
    TRY(parts_->fill_in(filling, out));
    return out;
  }
  const TaskObject object = TRY(parse_task_object(values.back()));
  filling.object = &object;
  TRY(parts_->add_own(object, filling, out));
  return out;
}

Result<Expanded> expand(const model::Spec& spec, uint64_t task,
                        const std::vector<std::string>& values) {
  const Template compiled = TRY(Template::compile(spec));
  return compiled.expand(task, values);
}

std::string shown_command(const Expanded& expanded) {
  const std::vector<std::string>& argv = expanded.argv;
  if (argv.empty()) return expanded.argument;
  if (argv.size() == 3 && argv[0] == "/bin/sh" && argv[1] == "-c") return argv[2];
  std::string out;
  for (const std::string& word : argv) {
    if (!out.empty()) out += ' ';
    append_quoted(out, word);
    if (out == word && is_shell_word(word)) out = fmt::format("'{}'", word);
  }
  return out;
}

}  // namespace dunlin
