// Text with placeholders, read once and filled in for each task. Pure; from any thread.
//
//   {}  the value; with several values or columns all of them, with spaces between
//   {N} value N, or column N with a colsep; N counts from 1
//   {name}  the column or the field of that name
//   {#} the task's number: that of the array, or counted from 1
//   {%} the slot's number, counted from 1
//
// After the name: `.` without its extension, `/` without its folder, `//` its folder alone, `/.`
// without both. What is not a placeholder of this job stays as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/records.pb.h"
#include "model/tasks/task_object.h"

namespace dunlin {

// What is filled in: the same for all texts of a task.
struct Filling {
  std::vector<std::string_view> columns{};
  const TaskObject* object = nullptr;  // Of a JSON input.
  int64_t number = 0;
  uint32_t slot = 1;
};

struct Placeholder {
  enum class What : uint8_t { text, all, column, field, number, slot };
  enum class Cut : uint8_t { none, extension, folder, name, both };

  What what = What::text;
  Cut cut = Cut::none;
  size_t column = 0;   // From 0.
  std::string text{};  // Of `text`, or the name of a field.
};

using Pattern = std::vector<Placeholder>;

Pattern parse_pattern(std::string_view text, const model::Inputs& inputs);
bool has_placeholder(const Pattern& pattern);

inline constexpr size_t kFilledMax = 2 << 20;  // Bytes; no system starts a longer command.

enum class Quoting { none, shell };
// Appends, and stops soon after kFilledMax bytes. A column that is not there is empty.
void fill(const Pattern& pattern, const Filling& filling, Quoting quoting, std::string& out);

// One column as the placeholder cuts it.
std::string_view cut_path(std::string_view value, Placeholder::Cut cut);

// In single quotes if it needs them, for a POSIX shell.
std::string shell_quote(std::string_view text);
void append_quoted(std::string& out, std::string_view text);

}  // namespace dunlin
