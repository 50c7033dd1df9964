#include "sources/source_reader.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/names.h"
#include "model/tasks/submit_folder.h"
#include "model/tasks/task_object.h"
#include "sources/input.h"
#include "sources/splitters.h"

namespace dunlin::sources {
namespace {

Error invalid(std::string what) { return {Code::invalid, std::move(what)}; }

// Where a value comes from, for errors.
struct Origin {
  std::string_view file;  // Empty: the command line.
  uint64_t line = 0;

  std::string shown() const {
    return file.empty() ? fmt::format("value {}", line)
                        : fmt::format("{}:{}", shown_name(std::string(file)), line);
  }
};

// Reads one source: takes off its header, groups and checks its values.
class SourceReader {
 public:
  SourceReader(const SourceOptions& options, const Colsep& colsep)
      : options_(options), colsep_(colsep), header_due_(options.header) {}

  Result<ReadSource> read(const SourceText& text, std::string blob_name) {
    TRY(text.file.empty() ? read_given(text) : read_file(text.file));
    if (header_due_) {
      return invalid(fmt::format("{} is empty, but should begin with a header",
                                 text.file.empty() ? "an input source" : shown_name(text.file)));
    }
    if (grouped_ > 0) TRY(writer_.add(group_));
    return ReadSource{std::move(writer_).finish(std::move(blob_name), text.linked),
                      std::move(columns_)};
  }

 private:
  Result<void> read_given(const SourceText& text) {
    uint64_t number = 0;
    for (const std::string& value : text.lent != nullptr ? *text.lent : text.values) {
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
    Result<void> read = read_pieces(file, take);
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
      if (field.find(kColumnEnd) != std::string_view::npos) {
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
    if (!options_.any_bytes && value.find('\0') != std::string_view::npos) {
      return invalid(
          fmt::format("{} has a NUL byte, which a command cannot take: use --null if NUL bytes "
                      "separate the values",
                      origin.shown()));
    }
    if (options_.skip_empty && value.empty()) return {};
    if (header_due_) return take_header(value, origin);
    if (options_.has_objects()) return take_object(value, origin);
    if (options_.max_args <= 1) return add(value, origin);
    if (value.find(kColumnEnd) != std::string_view::npos) {
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
    if (value.find_first_not_of(" \t\r") == std::string_view::npos) return {};
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
    if (const auto& folder = object.value().cwd; folder && options_.fresh_folder) {
      const auto whole = check_task_folder(*folder);
      if (!whole.ok()) return invalid(fmt::format("{}: {}", origin.shown(), whole.error().what));
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

}  // namespace

Result<ReadSource> read_source(const SourceOptions& options, const Colsep& colsep,
                               const SourceText& text, std::string blob_name) {
  return SourceReader(options, colsep).read(text, std::move(blob_name));
}

}  // namespace dunlin::sources
