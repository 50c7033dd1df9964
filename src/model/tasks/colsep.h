// Splits a value into columns at a separator: a character, or a POSIX extended regular expression
// in which \t, \n and \s may be used. Whoever wrote the expression may be hostile: compiling and
// matching take little memory, and time in proportion to the text. From one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace dunlin {

// Between the columns that we have split already, as those of CSV.
inline constexpr char kColumnEnd = '\x1f';

class Colsep {
 public:
  Colsep();
  Colsep(Colsep&&) noexcept;
  Colsep& operator=(Colsep&&) noexcept;
  ~Colsep();

  // `invalid` if it is no regular expression, refers back to a group, or would take too much
  // memory. Nothing is split at an empty one.
  static Result<Colsep> compile(const std::string& separator);

  bool empty() const { return !regex_ && literal_.empty(); }

  // Views into `value`.
  void split(const std::string& value, std::vector<std::string_view>& columns) const;

 private:
  std::string literal_;
  std::unique_ptr<re2::RE2> regex_;  // If it is not a literal.
};

}  // namespace dunlin
