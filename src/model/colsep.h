// Splits a value into columns at a separator: a character, or a POSIX extended regular expression
// in which \t, \n and \s may be used. From one thread at a time.
#pragma once

#include <memory>
#include <regex.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dunlin {

// Between the columns that we have split already, as those of CSV.
inline constexpr char kColumnEnd = '\x1f';

class Colsep {
 public:
  // `invalid` if it is no regular expression. Nothing is split at an empty one.
  static Result<Colsep> compile(const std::string& separator);

  bool empty() const { return !regex_ && literal_.empty(); }

  // Views into `value`, which must be followed by a NUL.
  void split(const std::string& value, std::vector<std::string_view>& columns) const;

 private:
  struct Free {
    void operator()(regex_t* regex) const {
      ::regfree(regex);
      std::default_delete<regex_t>()(regex);
    }
  };

  std::string literal_;
  std::unique_ptr<regex_t, Free> regex_;  // If it is not a literal.
};

}  // namespace dunlin
