// Hostile values, templates and lists of values.
//
//   byte   0: the rest is a stored list; 1: the rest is CSV; else a template and its values
#include <algorithm>

#include "base/check.h"
#include "model/jobs/inputs.h"
#include "model/tasks/expand.h"
#include "model/tasks/shell_line.h"
#include "sources/splitters.h"
#include "tests/fuzz/target.h"

namespace dunlin {
namespace {

using Words = std::vector<std::string>;

void check_list(std::string_view bytes) {
  const auto values = read_values(bytes);
  if (!values.ok()) return;
  SourceWriter writer;
  for (const std::string& value : values.value()) CHECK(writer.add(value).ok());
  const auto written = std::move(writer).finish("blob", false);
  CHECK(written.source.count() == values.value().size());
  if (written.source.blob().empty()) {
    CHECK(read_values(written.source.inline_()).value() == values.value());
    return;
  }
  const uint64_t groups = (written.source.count() + kValuesPerIndex - 1) / kValuesPerIndex;
  for (uint64_t group = 0; group < groups; ++group) {
    const Slice index = index_slice(written.source, group);
    const auto slice =
        group_slice(written.source, group, written.blob.substr(index.offset, index.size));
    const Words part =
        read_values(written.blob.substr(slice.value().offset, slice.value().size)).value();
    CHECK(std::equal(part.begin(), part.end(),
                     values.value().begin() + static_cast<ptrdiff_t>(group * kValuesPerIndex)));
  }
}

// However the file is cut into pieces.
void check_csv(std::string_view text) {
  const auto rows_of = [&](size_t size) {
    Words rows;
    sources::CsvSplitter splitter(',', 1000, [&](const Words& fields, uint64_t line) {
      rows.push_back(std::to_string(line));
      rows.insert(rows.end(), fields.begin(), fields.end());
      return Result<void>();
    });
    Result<void> fed;
    for (size_t at = 0; fed.ok() && at < text.size(); at += size) {
      fed = splitter.feed(text.substr(at, size));
    }
    if (fed.ok()) fed = splitter.finish();
    if (!fed.ok()) rows.push_back(fed.error().what);
    return rows;
  };
  CHECK(rows_of(1) == rows_of(4096));
  CHECK(rows_of(7) == rows_of(4096));
}

// What a shell makes of words, spaces and single quotes.
Words shell_words(std::string_view line) {
  Words words;
  bool quoted = false;
  bool begun = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == ' ' && !quoted) {
      begun = false;
      continue;
    }
    if (!begun) words.emplace_back();
    begun = true;
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == '\\' && !quoted && at + 1 < line.size()) {
      words.back() += line[++at];
    } else {
      words.back() += c;
    }
  }
  CHECK(!quoted);
  return words;
}

void check_template(Input& input) {
  model::Spec spec;
  const uint8_t flags = input.byte();
  model::Inputs& inputs = *spec.mutable_inputs();
  inputs.set_json((flags & 1U) != 0);
  inputs.set_listed((flags & 2U) != 0);
  inputs.set_single((flags & 4U) != 0);
  spec.mutable_command()->set_no_quote((flags & 8U) != 0);
  if ((flags & 16U) != 0) inputs.set_colsep(std::string(input.sized().substr(0, 1)));
  if ((flags & 32U) != 0) inputs.add_columns(std::string(input.sized()));
  const std::string line(input.sized());
  spec.mutable_command()->set_line(line);
  Words values(input.below(3));
  for (std::string& value : values) {
    value = input.sized();
    inputs.add_sources()->set_count(1);
  }
  const auto compiled = Template::compile(spec);
  if (!compiled.ok()) return;
  const auto expanded = compiled.value().expand(input.number(), values);
  if (!expanded.ok()) return;
  CHECK(!expanded.value().argv.empty());
  CHECK(!shown_command(expanded.value()).empty() || spec.command().no_quote());
  CHECK(shell_words(shell_quote(line)) == Words{line});

  // Without a shell a line means what it means with one.
  const Pattern pattern = parse_pattern(line, inputs);
  Filling filling{.columns = {values.begin(), values.end()}};
  const std::vector<Pattern> words = direct_words(pattern, values.size());
  if (words.empty() || inputs.json()) return;
  std::string text;
  fill(pattern, filling, Quoting::shell, text);
  Words direct;
  for (const Pattern& word : words) {
    if (word.size() == 1 && word[0].what == Placeholder::What::all) {
      for (const auto column : filling.columns) direct.emplace_back(cut_path(column, word[0].cut));
    } else {
      fill(word, filling, Quoting::none, direct.emplace_back());
    }
  }
  if (!values.empty()) CHECK(shell_words(text) == direct);
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  all.push_back(
      std::string("\0\x01"
                  "a\0\x03"
                  "b c",
                  8));
  all.push_back("\x01id,name\r\n1,\"a \"\"b\"\"\n\"\n");
  for (const char* line : {"gzip -9 {}", "x {1.} {2/} {#}", "a{3} {name//} {{}} ${HOME}", "x p{}q",
                           "echo {} | wc", "x"}) {
    for (const size_t flags : {0U, 1U, 2U, 4U, 8U, 48U}) {
      Output out;
      out.byte(2).byte(flags);
      if ((flags & 16U) != 0) out.sized(",");
      if ((flags & 32U) != 0) out.sized("name");
      out.sized(line)
          .number(flags % 3 + 1)
          .sized("it's a/b.c,d")
          .sized("{\"name\":\"v\"}")
          .number(5);
      all.push_back(out.bytes());
    }
  }
  return all;
}

}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dunlin;
  Input input(data, size);
  switch (input.byte()) {
    case 0:
      check_list(input.rest());
      break;
    case 1:
      check_csv(input.rest());
      break;
    default:
      check_template(input);
  }
  return 0;
}
