// From the bytes of a file, as they come, to its lines or to the rows of its CSV. Pure; from one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dunlin::sources {

// Lines, or whatever else ends with a certain byte. The last one may lack it.
class LineSplitter {
 public:
  // `line` counts from 1.
  using Take = std::function<Result<void>(std::string_view text, uint64_t line)>;

  LineSplitter(char end, size_t line_max, Take take)
      : end_(end), line_max_(line_max), take_(std::move(take)) {}

  Result<void> feed(std::string_view bytes);
  Result<void> finish();

 private:
  Result<void> keep(std::string_view piece);
  Result<void> hand_out();

  const char end_;
  const size_t line_max_;
  const Take take_;
  std::string rest_;
  uint64_t lines_ = 0;
};

// Rows as RFC 4180 has them: fields in double quotes may hold separators, line ends, and quotes,
// which are doubled. Empty lines are no rows.
class CsvSplitter {
 public:
  // `line` is that on which the row begins, counted from 1.
  using Take = std::function<Result<void>(const std::vector<std::string>& fields, uint64_t line)>;

  CsvSplitter(char separator, size_t row_max, Take take)
      : separator_(separator), row_max_(row_max), take_(std::move(take)) {}

  Result<void> feed(std::string_view bytes);
  Result<void> finish();  // `invalid` if a quote is still open.

 private:
  enum class At { start, plain, quoted, closed };

  Result<void> step(char c);
  void end_field();
  Result<void> end_row();

  const char separator_;
  const size_t row_max_;
  const Take take_;
  At at_ = At::start;  // Of a field.
  std::vector<std::string> fields_;
  std::string field_;
  size_t row_bytes_ = 0;
  uint64_t line_ = 1;
  uint64_t row_line_ = 1;
};

}  // namespace dunlin::sources
