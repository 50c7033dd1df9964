// What a command prints on standard output: aligned columns for people, the essential value alone
// when quiet, or one JSON object a line, whose names are stable (docs/CLI.md).
//
// Printing blocks while the reader does not read; one thread at a time. The functions that make
// text are pure.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "model/views/json.h"

namespace dunlin::cli {

enum class Form { plain, quiet, json };

// Cells under heads. A column of numbers is aligned to the right; the last one is not padded.
class Columns {
 public:
  struct Head {
    std::string name;
    bool number = false;
  };

  explicit Columns(std::vector<Head> heads) : heads_(std::move(heads)) {}

  void add(std::vector<std::string> cells);  // REQUIRES: as many as heads.
  bool empty() const { return rows_.empty(); }
  std::string text() const;  // With the heads.

 private:
  std::vector<Head> heads_;
  std::vector<std::vector<std::string>> rows_;
};

inline constexpr size_t kCellMax = 160;  // Characters of a value in a column.

// Escaped, and cut to what fits in a cell: then it ends with the full size.
std::string cell(std::string_view bytes);

std::string json_line(const nlohmann::ordered_json& object);

std::string ago(double seconds);  // "just now", "5m10s ago".

// All of it, at once. A reader that went away ends the process as it does any other (SIGPIPE).
Result<void> print(std::string_view bytes);

// A line on standard error that is not an error: "dunlin: " and the text.
void complain(std::string_view text);

}  // namespace dunlin::cli
