#include "model/tasks/colsep.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/names.h"

namespace dunlin {
namespace {

constexpr int64_t kMemoryMax = 1 << 20;  // Of an expression, its matching included.

// Perl's escapes for control characters, which POSIX does not know.
std::string with_controls(const std::string& separator) {
  std::string out;
  for (size_t at = 0; at < separator.size(); ++at) {
    const bool escaped = separator[at] == '\\' && at + 1 < separator.size();
    if (!escaped) {
      out += separator[at];
      continue;
    }
    ++at;
    if (separator[at] == 't') {
      out += '\t';
    } else if (separator[at] == 'n') {
      out += '\n';
    } else {
      out += {'\\', separator[at]};
    }
  }
  return out;
}

bool is_literal(std::string_view separator) {
  return separator.find_first_of("\\^$.[]|()*+?{}") == std::string_view::npos;
}

// Says in RE2's words what a POSIX extended expression means where the two differ.
class Translator {
 public:
  explicit Translator(std::string_view posix) : rest_(posix) {}

  // `invalid` for what RE2 cannot do.
  Result<std::string> run() {
    while (!rest_.empty()) {
      if (rest_.front() == '[') {
        TRY(bracket());
      } else if (rest_.front() == '\\' && rest_.size() > 1) {
        TRY(escape());
      } else if (rest_.starts_with("{,")) {
        take(1);
        out_ += '0';
      } else {
        take(1);
      }
    }
    return std::move(out_);
  }

 private:
  void take(size_t count) {
    out_ += rest_.substr(0, count);
    rest_.remove_prefix(std::min(count, rest_.size()));
  }

  Result<void> escape() {
    const char c = rest_[1];
    if (c >= '1' && c <= '9') {
      return Error{
          Code::invalid,
          fmt::format(
              "\\{} is a back-reference, which separators do not support: write what it stands for",
              c)};
    }
    if (c == '<' || c == '>') {
      out_ += "\\b";
    } else {
      out_ += rest_.substr(0, 2);
    }
    rest_.remove_prefix(2);
    return {};
  }

  // Between brackets a backslash is only a backslash.
  Result<void> bracket() {
    take(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) take(1);
    while (!rest_.empty() && rest_.front() != ']') {
      if (rest_.starts_with("[:")) {
        const size_t end = rest_.find(":]");
        take(end == std::string_view::npos ? rest_.size() : end + 2);
      } else if (rest_.starts_with("[.") || rest_.starts_with("[=")) {
        return Error{Code::invalid, "[. .] and [= =] are not supported: name the characters"};
      } else {
        if (rest_.front() == '\\' || rest_.front() == '[') out_ += '\\';
        take(1);
      }
    }
    take(1);
    return {};
  }

  std::string_view rest_;
  std::string out_;
};

RE2::Options options() {
  RE2::Options options(RE2::Latin1);  // Values need not be UTF-8.
  options.set_posix_syntax(true);
  options.set_longest_match(true);
  options.set_perl_classes(true);
  options.set_word_boundary(true);
  options.set_one_line(true);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_max_mem(kMemoryMax);
  return options;
}

}  // namespace

Colsep::Colsep() = default;
Colsep::Colsep(Colsep&&) noexcept = default;
Colsep& Colsep::operator=(Colsep&&) noexcept = default;
Colsep::~Colsep() = default;

Result<Colsep> Colsep::compile(const std::string& separator) {
  Colsep colsep;
  const std::string pattern = with_controls(separator);
  if (is_literal(pattern) || pattern.size() == 1) {
    colsep.literal_ = pattern;
    return colsep;
  }
  if (pattern.size() == 2 && pattern[0] == '\\' && !is_literal(pattern.substr(1))) {
    colsep.literal_ = pattern.substr(1);
    return colsep;
  }
  const auto wrong = [&separator](std::string_view why) {
    return Error{Code::invalid, fmt::format("the colsep {} is not a regular expression: {}",
                                            quote(separator), why)};
  };
  const Result<std::string> translated = Translator(pattern).run();
  if (!translated.ok()) return wrong(translated.error().what);
  colsep.regex_ = std::make_unique<RE2>(translated.value(), options());
  if (!colsep.regex_->ok()) return wrong(colsep.regex_->error());
  return colsep;
}

void Colsep::split(const std::string& value, std::vector<std::string_view>& columns) const {
  std::string_view rest = value;
  if (!regex_) {
    for (size_t at = 0;
         !literal_.empty() && (at = rest.find(literal_)) != std::string_view::npos;) {
      columns.push_back(rest.substr(0, at));
      rest.remove_prefix(at + literal_.size());
    }
    columns.push_back(rest);
    return;
  }
  size_t column = 0;  // Where it begins.
  size_t from = 0;    // Where to look for its end.
  re2::StringPiece match;
  while (from <= value.size() &&
         regex_->Match(value, from, value.size(), RE2::UNANCHORED, &match, 1)) {
    const size_t begin = static_cast<size_t>(match.data() - value.data());
    const size_t end = begin + match.size();
    from = end;
    if (begin == end) {  // Nothing is no separator: look further.
      ++from;
      continue;
    }
    columns.push_back(rest.substr(column, begin - column));
    column = end;
  }
  columns.push_back(rest.substr(column));
}

}  // namespace dunlin
