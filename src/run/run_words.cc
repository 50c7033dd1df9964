#include "run/run_words.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "base/names.h"

namespace dunlin::run {
namespace {

enum class Kind { none, alone, takes_next };

Kind kind_of(const CLI::App& run, const std::string& name, bool has_value) {
  const CLI::Option* option = run.get_option_no_throw(name);
  if (option == nullptr) return Kind::none;
  return option->get_expected_max() == 0 || has_value ? Kind::alone : Kind::takes_next;
}

// Of a word that begins with a dash.
Kind kind_of(const CLI::App& run, const std::string& word) {
  if (word.starts_with("--")) {
    const size_t equals = word.find('=');
    return kind_of(run, word.substr(0, equals), equals != std::string::npos);
  }
  for (size_t i = 1; i < word.size(); ++i) {  // -kj4
    const Kind kind = kind_of(run, std::string("-") + word[i], false);
    if (kind == Kind::takes_next) return i + 1 < word.size() ? Kind::alone : kind;
    if (kind == Kind::none) return kind;
  }
  return word.size() > 1 ? Kind::alone : Kind::none;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<std::vector<std::string>> cut_run_words(const CLI::App& run,
                                                      std::vector<std::string>& words) {
  size_t at = 0;
  while (at < words.size() && words[at].starts_with('-')) {
    const auto mark = words.begin() + static_cast<std::ptrdiff_t>(at);
    if (words[at] == "--") {
      std::vector<std::string> cut(mark + 1, words.end());
      words.erase(mark, words.end());
      return cut;
    }
    const Kind kind = kind_of(run, words[at]);
    if (kind == Kind::none) break;
    if (words[at] == "--header" && at + 1 < words.size() && words[at + 1] == ":") {
      words.erase(mark + 1);
    }
    at += kind == Kind::takes_next ? 2 : 1;
  }
  return std::nullopt;
}

std::string why_no_jobs(const std::string& text) {
  if (is_number(text)) return "";
  return fmt::format(
      "{} is not a number of tasks: write how many to run at once, as in -j 4 (default: the number "
      "of cores)",
      quote(text));
}

std::string why_no_max_args(const std::string& text) {
  if (is_number(text) && text.find_first_not_of('0') != std::string::npos) return "";
  return fmt::format("{} is not a number of values for each task: write 1 or more", quote(text));
}

}  // namespace dunlin::run
