#include "sources/sources.h"

#include <algorithm>
#include <fmt/format.h>

#include "model/tasks/colsep.h"
#include "model/tasks/expand.h"
#include "sources/array.h"
#include "sources/source_reader.h"

namespace dunlin::sources {
namespace {

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

Result<void> check_options(const SourceOptions& options, const std::vector<SourceText>& sources) {
  const auto reads_stdin = [](const SourceText& source) { return source.file == "-"; };
  if (std::count_if(sources.begin(), sources.end(), reads_stdin) > 1) {
    return invalid("standard input (-) can be only one of the input sources");
  }
  if (!options.array.empty() && (!sources.empty() || !options.json_lines.empty())) {
    return invalid(
        "a job takes its values from --array or from input sources: leave one of them "
        "out");
  }
  if (!options.json_lines.empty() && sources.size() > 1) {
    return invalid("a job takes its tasks from JSON lines or from other sources: leave one out");
  }
  if (options.max_args > 1 && (sources.size() > 1 || !options.colsep.empty() || options.csv ||
                               options.header || options.has_objects())) {
    return invalid(
        "--max-args works with one source of plain values: leave out --colsep, --csv "
        "and --header, and the other sources");
  }
  if (options.csv && (options.colsep.size() > 1 || options.null || options.colsep == "\"")) {
    return invalid(
        "--csv reads lines whose fields are separated by one character: leave out "
        "--null, and give --colsep one character");
  }
  return {};
}

Result<Gathered> gather_array(std::string_view text, const std::string& blob_prefix) {
  Gathered gathered;
  const NumberList numbers = TRY(parse_array(text));
  gathered.tasks = numbers.count;
  if (numbers.listed.empty()) {
    gathered.inputs.set_first(numbers.first);
    gathered.inputs.set_step(numbers.step);
    return gathered;
  }
  SourceWriter writer;
  for (const int64_t number : numbers.listed) TRY(writer.add(std::to_string(number)));
  gathered.inputs.set_listed(true);
  gathered.add(std::move(writer).finish(blob_prefix + "1", false));
  return gathered;
}

// How the values were joined, or are to be split.
std::string stored_colsep(const SourceOptions& options) {
  return options.csv || options.max_args > 1 ? std::string(1, kColumnEnd) : options.colsep;
}

}  // namespace

void Gathered::add(SourceWriter::Finished finished) {
  if (!finished.blob.empty()) {
    blobs.push_back({finished.source.blob(), std::move(finished.blob)});
  }
  *inputs.add_sources() = std::move(finished.source);
}

Result<SplitWords> split_words(const std::vector<std::string>& words) {
  SplitWords split;
  auto word = words.begin();
  const auto is_mark = [](const std::string& text) {
    return text == ":::" || text == ":::+" || text == "::::" || text == "::::+";
  };
  while (word != words.end() && !is_mark(*word)) split.command.push_back(*word++);
  while (word != words.end()) {
    const std::string& mark = *word++;
    const auto end = std::find_if(word, words.end(), is_mark);
    const bool linked = mark.ends_with('+');
    if (linked && split.sources.empty()) {
      return invalid(
          fmt::format("{} links its values to the source before it, but there is none: "
                      "begin with ::: or ::::",
                      mark));
    }
    if (!mark.starts_with("::::")) {
      split.sources.push_back({{word, end}, "", linked});
    } else if (word == end) {
      return invalid(fmt::format("{} needs the name of a file after it", mark));
    }
    for (; word != end; ++word) {
      if (!mark.starts_with("::::")) continue;
      if (word->empty()) return invalid(fmt::format("{} has an empty file name after it", mark));
      split.sources.push_back({{}, *word, linked});
    }
  }
  return split;
}

Result<Gathered> gather_inputs(const SourceOptions& options, std::vector<SourceText> sources,
                               const std::string& blob_prefix) {
  Gathered gathered;
  if (!options.json_lines.empty()) sources.push_back({{}, options.json_lines, false});
  TRY(check_options(options, sources));
  if (!options.array.empty()) {
    return gather_array(options.array, blob_prefix);
  }
  if (sources.empty() && options.use_stdin) sources.push_back({{}, "-", false});
  if (sources.empty()) {
    gathered.inputs.set_single(true);
    gathered.tasks = 1;
    return gathered;
  }
  gathered.inputs.set_colsep(stored_colsep(options));
  gathered.inputs.set_json(options.has_objects());
  const Colsep colsep = TRY(Colsep::compile(gathered.inputs.colsep()));
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string blob_name =
        blob_prefix + (options.blob_name.empty() ? std::to_string(i + 1) : options.blob_name);
    ReadSource read = TRY(read_source(options, colsep, sources[i], blob_name));
    for (const std::string& name : read.columns) gathered.inputs.add_columns(name);
    gathered.add(std::move(read.finished));
  }
  gathered.tasks = TRY(count_tasks(gathered.inputs));
  return gathered;
}

Result<Gathered> gather(const SourceOptions& options, const std::string& blob_prefix) {
  SplitWords split = TRY(split_words(options.words));
  SourceOptions known = options;
  known.words = split.command;
  if (!split.command.empty() && split.command[0].empty()) {
    return invalid("the command is empty: write what is to be run");
  }
  for (const std::string& file : options.arg_files) {
    split.sources.insert(split.sources.begin() + (&file - options.arg_files.data()),
                         SourceText{{}, file, false});
  }
  const bool from_values = !split.sources.empty() || options.use_stdin;
  const bool has_command = !split.command.empty() || !options.json_lines.empty();
  if (!has_command && (!from_values || !options.array.empty())) {
    return invalid("there is no command: write what is to be run");
  }
  Gathered gathered = TRY(gather_inputs(known, std::move(split.sources), blob_prefix));
  if (split.command.size() == 1 || (options.no_quote && !split.command.empty())) {
    gathered.command.set_line(fmt::format("{}", fmt::join(split.command, " ")));
    gathered.command.set_no_quote(options.no_quote);
  } else if (split.command.size() > 1) {
    for (std::string& word : split.command) gathered.command.add_argv(std::move(word));
  } else if (!has_command) {
    gathered.command.set_line("{}");
    gathered.command.set_no_quote(true);
  }
  return gathered;
}

}  // namespace dunlin::sources
