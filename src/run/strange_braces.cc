#include "run/strange_braces.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "base/text.h"
#include "model/tasks/placeholders.h"

namespace dunlin::run {
namespace {

bool is_column(std::string_view inside) {
  const size_t digits = std::min(inside.find_first_not_of("0123456789"), inside.size());
  return digits > 0 && inside.find_first_not_of("./", digits) == std::string_view::npos;
}

std::string sentence(std::string_view braces, std::string_view why) {
  return fmt::format("{} in the command is not a placeholder and stays as it is: {}", braces, why);
}

std::string look_at(std::string_view text, const model::Inputs& inputs) {
  for (size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) return "";
    if (open > 0 && text[open - 1] == '$') continue;  // The shell's.
    const std::string_view braces = text.substr(open, close - open + 1);
    const std::string_view inside = braces.substr(1, braces.size() - 2);
    if (inside.starts_with('-') && is_column(inside.substr(1))) {
      return sentence(braces, "values are counted from the first, as {1}");
    }
    if (inside.starts_with("= ")) return sentence(braces, "Perl expressions are not supported");
    if (!is_column(inside) || has_placeholder(parse_pattern(braces, inputs))) continue;
    const auto sources = static_cast<uint64_t>(std::max(inputs.sources_size(), 1));
    return sentence(braces, inside.starts_with('0')
                                ? "values are counted from {1}"
                                : fmt::format("the job has {}", count_of(sources, "source")));
  }
  return "";
}

}  // namespace

std::string strange_braces(const model::Command& command, const model::Inputs& inputs) {
  if (inputs.single()) return "";
  std::string said = look_at(command.line(), inputs);
  for (const std::string& word : command.argv()) {
    if (said.empty()) said = look_at(word, inputs);
  }
  return said;
}

}  // namespace dunlin::run
