// What a command reads: files, and standard input for the name "-". Calls block until the bytes are
// there. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"

namespace dunlin::sources {

// All of it. `invalid` if it cannot be read or has more than `max` bytes.
Result<std::string> read_input(const std::string& file, size_t max);

// Hands out all of it, piece by piece, until `take` refuses one.
Result<void> read_pieces(const std::string& file,
                         const std::function<Result<void>(std::string_view)>& take);

// "standard input" for "-".
std::string shown_name(const std::string& file);

// Splits what comes on a descriptor into lines, as it comes.
class LineReader {
 public:
  // Lines of more than `line_max` bytes are `invalid`.
  LineReader(int descriptor, size_t line_max) : descriptor_(descriptor), line_max_(line_max) {}

  // Up to `max` lines, without their ends. Waits only if there is no whole one; none at the end.
  Result<std::vector<std::string>> next(size_t max);

 private:
  Result<void> read_more();
  // Also the last one, if it has no end. Nothing if more must be read first.
  Result<std::optional<std::string>> take_line();

  const int descriptor_;
  const size_t line_max_;
  std::string rest_;
  size_t from_ = 0;     // In `rest_`: where the next line begins.
  size_t scanned_ = 0;  // In `rest_`: no line ends between from_ and this.
  uint64_t lines_ = 0;
  bool ended_ = false;
};

// Bytes that can be read more than once, as sending a blob needs.
struct Readable {
  std::unique_ptr<File> file;
  uint64_t size = 0;
};

// What is not a plain file is first copied into a temporary one of at most `max` bytes.
Result<Readable> open_input(const std::string& file, uint64_t max);

}  // namespace dunlin::sources
