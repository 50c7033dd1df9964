#include "cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/text.h"

namespace dunlin::cli {
namespace {

bool starts_character(char byte) { return (static_cast<uint8_t>(byte) & 0xc0U) != 0x80; }

size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, starts_character));
}

void append_cell(std::string& line, std::string_view text, size_t columns, bool right) {
  const size_t blank = columns - std::min(columns, width(text));
  if (right) line.append(blank, ' ');
  line += text;
  if (!right) line.append(blank, ' ');
}

}  // namespace

void Columns::add(std::vector<std::string> cells) {
  CHECK(cells.size() == heads_.size());
  rows_.push_back(std::move(cells));
}

std::string Columns::text() const {
  std::vector<size_t> widths;
  for (const Head& head : heads_) widths.push_back(width(head.name));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  const auto append_line = [&](const auto& text_of) {
    std::string line;
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (i > 0) line += "  ";
      append_cell(line, text_of(i), widths[i], heads_[i].number);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  append_line([&](size_t i) { return std::string_view(heads_[i].name); });
  for (const auto& row : rows_) {
    append_line([&](size_t i) { return std::string_view(row[i]); });
  }
  return out;
}

std::string cell(std::string_view bytes) {
  std::string shown = escape(bytes.substr(0, kCellMax));
  if (bytes.size() <= kCellMax) return shown;
  return fmt::format("{}... ({})", shown, human_size(bytes.size()));
}

std::string json_line(const nlohmann::ordered_json& object) { return json_text(object) + '\n'; }

std::string ago(double seconds) {
  return seconds < 1 ? "just now" : human_time(std::floor(seconds)) + " ago";
}

Result<void> print(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return Error{Code::full,
                   fmt::format("cannot write to standard output: {}", std::strerror(errno))};
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

void complain(std::string_view text) {
  std::fputs(fmt::format("dunlin: {}\n", text).c_str(), stderr);
}

}  // namespace dunlin::cli
