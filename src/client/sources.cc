#include "client/sources.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/names.h"
#include "client/array.h"
#include "client/input.h"
#include "client/splitters.h"
#include "model/colsep.h"
#include "model/expand.h"

namespace dunlin {
namespace {

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

// Where a value comes from, for errors.
struct Origin {
  std::string file;  // Empty: the command line.
  uint64_t line = 0;

  std::string shown() const {
    return file.empty() ? fmt::format("value {}", line)
                        : fmt::format("{}:{}", shown_name(file), line);
  }
};

// Reads one source: takes off its header, groups and checks its values.
class SourceReader {
 public:
  SourceReader(const SourceOptions& options, const Colsep& colsep)
      : options_(options), colsep_(colsep), header_due_(options.header) {}

  Result<SourceWriter::Finished> read(const SourceText& text, std::string blob_name) {
    TRY(text.file.empty() ? read_given(text) : read_file(text.file));
    if (header_due_) {
      return invalid(fmt::format("{} is empty, but its first value should be a header",
                                 text.file.empty() ? "an input source" : shown_name(text.file)));
    }
    if (grouped_ > 0) TRY(writer_.add(group_));
    return std::move(writer_).finish(std::move(blob_name), text.linked);
  }

  const std::vector<std::string>& columns() const { return columns_; }

 private:
  Result<void> read_given(const SourceText& text) {
    uint64_t number = 0;
    for (const std::string& value : text.values) {
      const Origin origin{"", ++number};
      if (!options_.csv) {
        TRY(take(value, origin));
        continue;
      }
      CsvSplitter row(csv_separator(), kInputValueMax,
                      [&](const auto& fields, uint64_t) { return take_row(fields, origin); });
      TRY(row.feed(value));
      TRY(row.finish());
    }
    return {};
  }

  Result<void> read_file(const std::string& file) {
    if (options_.csv) {
      CsvSplitter rows(csv_separator(), kInputValueMax, [&](const auto& fields, uint64_t line) {
        return take_row(fields, {file, line});
      });
      return feed(rows, file);
    }
    LineSplitter lines(options_.null ? '\0' : '\n', kInputValueMax,
                       [&](std::string_view text, uint64_t line) {
                         return take(std::string(text), {file, line});
                       });
    return feed(lines, file);
  }

  template <typename Splitter>
  static Result<void> feed(Splitter& splitter, const std::string& file) {
    Result<void> refused;
    const auto take = [&](std::string_view piece) { return refused = splitter.feed(piece); };
    const Result<void> read = read_pieces(file, take);
    if (read.ok()) refused = splitter.finish();
    if (!refused.ok() && refused.error().what.rfind(shown_name(file), 0) != 0) {
      return Error{refused.error().code,
                   fmt::format("{}: {}", shown_name(file), refused.error().what)};
    }
    if (!read.ok()) return read;
    return refused;
  }

  char csv_separator() const { return options_.colsep.empty() ? ',' : options_.colsep[0]; }

  Result<void> take_row(const std::vector<std::string>& fields, const Origin& origin) {
    std::string value;
    for (const std::string& field : fields) {
      if (field.find(kColumnEnd) != field.npos) {
        return invalid(
            fmt::format("{} has the control character 0x1f in a field: remove it", origin.shown()));
      }
      if (&field != fields.data()) value += kColumnEnd;
      value += field;
    }
    if (!columns_.empty() && fields.size() != columns_.size()) {
      return invalid(fmt::format("{} has {} fields, but the header has {}", origin.shown(),
                                 fields.size(), columns_.size()));
    }
    return take(value, origin);
  }

  Result<void> take(const std::string& value, const Origin& origin) {
    if (value.find('\0') != value.npos) {
      return invalid(
          fmt::format("{} has a NUL byte, which no command can get: use --null if NUL "
                      "bytes separate the values",
                      origin.shown()));
    }
    if (options_.skip_empty && value.empty()) return {};
    if (header_due_) return take_header(value, origin);
    if (!options_.json_lines.empty()) return take_object(value, origin);
    if (options_.max_args <= 1) return add(value, origin);
    if (value.find(kColumnEnd) != value.npos) {
      return invalid(
          fmt::format("{} has the control character 0x1f: remove it, or leave out "
                      "--max-args",
                      origin.shown()));
    }
    if (grouped_ > 0) group_ += kColumnEnd;
    group_ += value;
    if (++grouped_ < options_.max_args) return {};
    TRY(add(group_, origin));
    group_.clear();
    grouped_ = 0;
    return {};
  }

  Result<void> take_header(const std::string& value, const Origin& origin) {
    header_due_ = false;
    std::vector<std::string_view> names;
    colsep_.split(value, names);
    for (const std::string_view name : names) {
      if (name.empty() || std::find(columns_.begin(), columns_.end(), name) != columns_.end()) {
        return invalid(fmt::format("{} is a header in which the name {} is {}", origin.shown(),
                                   quote(name), name.empty() ? "empty" : "given twice"));
      }
      columns_.emplace_back(name);
    }
    return {};
  }

  Result<void> take_object(const std::string& value, const Origin& origin) {
    if (value.find_first_not_of(" \t\r") == value.npos) return {};
    const auto object = parse_task_object(value);
    if (!object.ok()) {
      return invalid(fmt::format("{}: {}", origin.shown(), object.error().what));
    }
    if (options_.words.empty() && object.value().argv.empty() && object.value().command.empty()) {
      return invalid(
          fmt::format("{}: the object has neither \"argv\" nor \"command\", and the job "
                      "has no command",
                      origin.shown()));
    }
    return add(value, origin);
  }

  Result<void> add(std::string_view value, const Origin& origin) {
    const Result<void> added = writer_.add(value);
    if (added.ok()) return {};
    return invalid(fmt::format("{}: {}", origin.shown(), added.error().what));
  }

  const SourceOptions& options_;
  const Colsep& colsep_;
  bool header_due_;
  SourceWriter writer_;
  std::vector<std::string> columns_;
  std::string group_;  // Values of the task that is not complete yet.
  uint64_t grouped_ = 0;
};

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
                               options.header || !options.json_lines.empty())) {
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
  gathered.inputs.set_json(!options.json_lines.empty());
  const Colsep colsep = TRY(Colsep::compile(gathered.inputs.colsep()));
  for (size_t i = 0; i < sources.size(); ++i) {
    SourceReader reader(options, colsep);
    auto finished = TRY(reader.read(sources[i], fmt::format("{}{}", blob_prefix, i + 1)));
    for (const std::string& name : reader.columns()) gathered.inputs.add_columns(name);
    gathered.add(std::move(finished));
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

}  // namespace dunlin
