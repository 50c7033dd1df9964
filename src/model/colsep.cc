#include "model/colsep.h"

#include <array>
#include <fmt/format.h>

#include "base/names.h"

namespace dunlin {
namespace {

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

}  // namespace

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
  auto regex = std::make_unique<regex_t>();
  if (const int failed = ::regcomp(regex.get(), pattern.c_str(), REG_EXTENDED); failed != 0) {
    std::array<char, 200> why{};
    ::regerror(failed, regex.get(), why.data(), why.size());
    return Error{Code::invalid, fmt::format("the colsep {} is not a regular expression: {}",
                                            quote(separator), why.data())};
  }
  colsep.regex_.reset(regex.release());
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
  regmatch_t match{};
  size_t column = 0;  // Where it begins.
  size_t from = 0;    // Where to look for its end.
  while (from <= value.size() && ::regexec(regex_.get(), value.c_str() + from, 1, &match,
                                           from == 0 ? 0 : REG_NOTBOL) == 0) {
    const size_t begin = from + static_cast<size_t>(match.rm_so);
    const size_t end = from + static_cast<size_t>(match.rm_eo);
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
