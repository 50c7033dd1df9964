// Rows: what a task runs, and from where its value comes.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.h"
#include "model/jobs/inputs.h"
#include "model/tasks/colsep.h"
#include "spec/access.h"

namespace dunlin::spec {
namespace {

constexpr size_t kColsepMax = 1000;

Result<void> set_argv(const Json& value, JobDraft& draft) {
  auto words = TRY(words_of(value));
  if (words.empty() || words[0].empty()) return unexpected();
  for (std::string& word : words) draft.spec.mutable_command()->add_argv(std::move(word));
  return {};
}
Json get_argv(const model::Job& job) {
  const auto& argv = job.spec().command().argv();
  return unless_empty(std::vector<std::string>(argv.begin(), argv.end()));
}

Result<void> set_command(const Json& value, JobDraft& draft) {
  draft.spec.mutable_command()->set_line(TRY(text_of(value)));
  return {};
}
Json get_command(const model::Job& job) { return unless_empty(job.spec().command().line()); }

Result<void> set_no_quote(const Json& value, JobDraft& draft) {
  draft.options.no_quote = TRY(flag_of(value));
  draft.spec.mutable_command()->set_no_quote(draft.options.no_quote);
  return {};
}
Json get_no_quote(const model::Job& job) { return unless_empty(job.spec().command().no_quote()); }

Result<void> set_function(const Json& value, JobDraft& draft) {
  draft.spec.mutable_command()->set_function(TRY(text_of(value)));
  return {};
}
Json get_function(const model::Job& job) { return unless_empty(job.spec().command().function()); }

Result<void> set_builtin(const Json& value, JobDraft& draft) {
  draft.spec.mutable_command()->set_builtin(TRY(text_of(value)));
  return {};
}
Json get_builtin(const model::Job& job) { return unless_empty(job.spec().command().builtin()); }

// The values of the only source, if they are in the job itself.
std::optional<std::vector<std::string>> values_here(const model::Job& job) {
  const model::Inputs& inputs = job.spec().inputs();
  if (inputs.sources_size() != 1 || !inputs.sources(0).blob().empty()) return std::nullopt;
  auto values = read_values(inputs.sources(0).inline_());
  if (!values.ok()) return std::nullopt;
  return std::move(values).value();
}

// {"first":0,"last":9,"step":1}
Result<std::string> text_of_range(const Json& value) {
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
      return Error{Code::invalid,
                   fmt::format("it has no {}: it has first, last and step", quote(name))};
    }
  }
  if (!last) return unexpected();
  return fmt::format("{}-{}:{}", first, *last, step);
}

Result<void> set_array(const Json& value, JobDraft& draft) {
  if (value.is_object()) {
    draft.options.array = TRY(text_of_range(value));
  } else if (value.is_string()) {
    draft.options.array = value.get<std::string>();
  } else {
    return unexpected();
  }
  TRY(sources::parse_array(draft.options.array));
  return {};
}
Json get_array(const model::Job& job) {
  const model::Spec& spec = job.spec();
  const model::Inputs& inputs = spec.inputs();
  if (inputs.listed()) {
    const auto numbers = values_here(job);
    return numbers ? Json(fmt::format("{}", fmt::join(*numbers, ","))) : Json();
  }
  if (inputs.single() || inputs.sources_size() > 0 || spec.tasks() == 0) return {};
  const int64_t step = inputs.step();
  if (inputs.first() < 0 || step < 1) return {};  // Only programs can ask for these.
  const int64_t last = inputs.first() + step * static_cast<int64_t>(spec.tasks() - 1);
  return step == 1 ? fmt::format("{}-{}", inputs.first(), last)
                   : fmt::format("{}-{}:{}", inputs.first(), last, step);
}

Result<void> set_values(const Json& value, JobDraft& draft) {
  auto values = TRY(words_of(value));
  if (values.empty()) {
    return Error{Code::invalid, "the list is empty, so the job would have no task"};
  }
  draft.sources.push_back({std::move(values), "", false});
  return {};
}

// Rows of CSV are stored as their fields, with this between them.
bool has_rows(const model::Inputs& inputs) {
  return !inputs.json() && inputs.colsep() == std::string(1, kColumnEnd);
}

std::string csv_of(const std::string& row) {
  std::string out;
  for (size_t begin = 0; begin <= row.size();) {
    const size_t end = std::min(row.find(kColumnEnd, begin), row.size());
    const std::string_view field = std::string_view(row).substr(begin, end - begin);
    const bool quoted = field.find_first_of(",\"\r\n") != std::string_view::npos;
    if (begin > 0) out += ',';
    if (quoted) out += '"';
    for (const char c : field) out += c == '"' ? std::string(2, c) : std::string(1, c);
    if (quoted) out += '"';
    begin = end + 1;
  }
  return out;
}

// The value that named the columns; none if it cannot be known.
std::optional<std::string> header_of(const model::Inputs& inputs) {
  const std::string& colsep = inputs.colsep();
  const bool plain = colsep.size() == 1 &&
                     std::string_view(".[]()*+?{}|^$\\").find(colsep[0]) == std::string_view::npos;
  if (inputs.columns_size() > 1 && !plain) return std::nullopt;
  return fmt::format("{}", fmt::join(inputs.columns(), colsep));
}

Json get_values(const model::Job& job) {
  const model::Inputs& inputs = job.spec().inputs();
  auto values = inputs.listed() || inputs.json() ? std::nullopt : values_here(job);
  if (!values) return {};
  if (!inputs.columns().empty()) {
    const auto header = header_of(inputs);
    if (!header) return {};
    values->insert(values->begin(), *header);
  }
  if (has_rows(inputs)) std::ranges::transform(*values, values->begin(), csv_of);
  return *values;
}

Result<std::string> path_of(const Json& value, const JobDraft& draft) {
  std::string name = TRY(text_of(value));
  if (draft.entrance != Entrance::job_file) return name;
  if (name == "-") return unexpected();  // Standard input may be the job file itself.
  return name.starts_with('/') ? name : draft.folder + name;
}

Result<void> set_lines(const Json& value, JobDraft& draft) {
  std::string path = TRY(path_of(value, draft));
  if (draft.entrance == Entrance::job_file) {
    draft.sources.push_back({{}, std::move(path), false});
  } else {
    draft.options.arg_files = {std::move(path)};
  }
  return {};
}
Json get_nothing(const model::Job& /*job*/) { return {}; }  // They are values by now.

Result<void> set_json_lines(const Json& value, JobDraft& draft) {
  const bool has_files = (kWithFiles & static_cast<uint8_t>(draft.entrance)) != 0;
  if (value.is_string() && has_files) {
    draft.options.json_lines = TRY(path_of(value, draft));
    return {};
  }
  const auto refuse = [&] {
    return has_files ? unexpected() : Error{Code::invalid, "it must be a list of objects"};
  };
  if (!value.is_array() || value.empty()) return refuse();
  TRY(check_count(value.size(), kListMax));
  std::vector<std::string> objects;
  for (const Json& one : value) {
    if (!one.is_object()) return refuse();
    objects.push_back(one.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  draft.sources.push_back({std::move(objects), "", false});
  draft.options.objects = true;
  return {};
}
Json get_json_lines(const model::Job& job) {
  const auto values = job.spec().inputs().json() ? values_here(job) : std::nullopt;
  if (!values) return {};
  Json objects = Json::array();
  for (const std::string& value : *values) {
    Json object = Json::parse(value, nullptr, false);
    if (object.is_discarded()) return {};
    objects.push_back(std::move(object));
  }
  return objects;
}

// A job file named the file here for as long as others had no name for it.
Result<void> set_csv(const Json& value, JobDraft& draft) {
  if (draft.entrance != Entrance::job_file || !value.is_string()) {
    draft.options.csv = TRY(flag_of(value));
    return {};
  }
  if (!draft.said.try_emplace("lines", "csv").second) {
    return Error{Code::invalid, "give lines, and csv = true"};
  }
  TRY(set_lines(value, draft));
  draft.options.csv = draft.options.header = true;
  return {};
}

Json get_csv(const model::Job& job) { return unless_empty(has_rows(job.spec().inputs())); }

Result<void> set_header(const Json& value, JobDraft& draft) {
  draft.options.header = TRY(flag_of(value));
  return {};
}
Json get_header(const model::Job& job) {
  return unless_empty(!job.spec().inputs().columns().empty());
}

Result<void> set_colsep(const Json& value, JobDraft& draft) {
  draft.options.colsep = TRY(text_of(value, kColsepMax));
  return {};
}
Json get_colsep(const model::Job& job) {
  const std::string& colsep = job.spec().inputs().colsep();
  return colsep.find(kColumnEnd) == std::string::npos ? unless_empty(colsep) : Json();
}

Result<void> set_stdin(const Json& value, JobDraft& draft) {
  if (!value.is_string()) return unexpected();
  draft.stdin_bytes = value.get<std::string>();
  return {};
}
Json get_stdin(const model::Job& job) { return unless_empty(job.spec().stdin()); }

constexpr std::string_view kFlagSchema = R"({"type":"boolean"})";

constexpr JobField kRows[] = {
    {.name = "command",
     .entrances = kIfWritten,
     .help = "Shell line that each task runs",
     .expected = "a line for the shell, like \"gzip -9 {}\"",
     .schema = R"({"type":"string","minLength":1,"maxLength":131072,"examples":["echo {}"]})",
     .access = {set_command, get_command}},
    {.name = "argv",
     .shape = Shape::list,
     .entrances = kIfWritten,
     .help = "Program and arguments that each task runs, without a shell",
     .expected = "a list of words, the program first, like [\"gzip\", \"-9\", \"{}\"]",
     .schema = R"({"type":"array","items":{"type":["string","number"]},"minItems":1,
                   "maxItems":1000000,"examples":[["echo","hello"],["true"]]})",
     .access = {set_argv, get_argv}},
    {.name = "function",
     .entrances = kInSdk,
     .help = "Function of SDK workers that computes each task",
     .expected = "the name of a function",
     .access = {set_function, get_function}},
    {.name = "builtin",
     .entrances = kInSdk,
     .help = "What each task does by itself, for measurements",
     .expected = "\"noop\", or \"sleep\" with the value in milliseconds",
     .access = {set_builtin, get_builtin}},
    {.name = "no_quote",
     .shape = Shape::flag,
     .entrances = kEverywhere,
     .help = "Insert values into the shell line without quoting them",
     .expected = "true or false",
     .schema = kFlagSchema,
     .access = {set_no_quote, get_no_quote}},
    {.name = "array",
     .entrances = kEverywhere,
     .word = "NUMBERS",
     .help = "Run a task for each number: 0-999, 1-10:3, 0,5,7-9",
     .expected = "a text like \"0-999\", or numbers from first (0) to last, each step (1) apart",
     .schema = R"({"type":["object","string"],"properties":{
             "first":{"type":"integer","minimum":0,"maximum":9007199254740991},
             "last":{"type":"integer","minimum":0,"maximum":9007199254740991},
             "step":{"type":"integer","minimum":1,"maximum":9007199254740991}},
           "required":["last"],"additionalProperties":false,
           "examples":[{"last":9},{"first":1,"last":10,"step":3},"0-9:3"]})",
     .access = {set_array, get_array}},
    {.name = "values",
     .shape = Shape::list,
     .entrances = kIfWritten,
     .help = "Run a task for each value of a list",
     .expected = "a list of texts and numbers",
     .schema = R"({"type":"array","items":{"type":["string","number"]},"minItems":1,
                   "maxItems":1000000,"examples":[["a","b"],[1,2,3]]})",
     .access = {set_values, get_values}},
    {.name = "lines",
     .entrances = kWithFiles - static_cast<uint8_t>(Entrance::run),
     .word = "FILE",
     .help = "Run a task for each line of a file",
     .typed = "- for standard input",
     .expected = "the name of a file with a value on each line",
     .access = {set_lines, get_nothing}},
    {.name = "json_lines",
     .entrances = kEverywhere,
     .word = "FILE",
     .help = "Run a task for each JSON object",
     .typed = "a file with one on each line, - for standard input",
     .expected = "the name of a file with a JSON object on each line, or a list of objects",
     .schema = R"({"type":"array","items":{"type":"object"},"minItems":1,"maxItems":1000000,
                   "examples":[[{"argv":["true"]},{"command":"echo $X","env":{"X":"x"}}]]})",
     .access = {set_json_lines, get_json_lines}},
    {.name = "csv",
     .shape = Shape::flag,
     .entrances = kEverywhere,
     .help = "Read values as rows of CSV, whose fields are {1}, {2} and so on",
     .expected = "true or false",
     .schema = kFlagSchema,
     .access = {set_csv, get_csv}},
    {.name = "header",
     .shape = Shape::flag,
     .entrances = kEverywhere,
     .help = "Take the first value as the names of the columns, for {name}",
     .expected = "true or false",
     .schema = kFlagSchema,
     .access = {set_header, get_header}},
    {.name = "colsep",
     .entrances = kEverywhere,
     .word = "REGEX",
     .help = "Split each value at this regular expression into columns {1}, {2} and so on",
     .expected = "a character or a regular expression, of at most 1000 bytes",
     .schema = R"({"type":"string","minLength":1,"maxLength":1000,"examples":[","]})",
     .access = {set_colsep, get_colsep}},
    {.name = "stdin",
     .shape = Shape::contents,
     .word = "FILE",
     .help = "What every task reads from its standard input",
     .typed = "the name of a file, - for yours",
     .expected = "a text",
     .schema = R"({"type":"string"})",
     .access = {set_stdin, get_stdin}},
};

}  // namespace

std::span<const JobField> input_fields() { return kRows; }

}  // namespace dunlin::spec
