#include "model/tasks/shell_line.h"

#include <algorithm>
#include <array>

namespace dunlin {
namespace {

using What = Placeholder::What;

// Keywords and builtins that are no programs, or differ from them. echo, printf, test, true and so
// on exist as programs too.
constexpr std::array<std::string_view, 52> kShellWords = {
    "!",       ".",     ":",       "[",       "[[",    "alias", "bg",    "break",    "builtin",
    "case",    "cd",    "coproc",  "declare", "do",    "done",  "elif",  "else",     "esac",
    "eval",    "exec",  "exit",    "export",  "fc",    "fg",    "fi",    "for",      "function",
    "getopts", "hash",  "if",      "in",      "jobs",  "local", "read",  "readonly", "return",
    "select",  "set",   "shift",   "source",  "then",  "time",  "times", "trap",     "type",
    "ulimit",  "umask", "unalias", "unset",   "until", "wait",  "while"};
// Others are programs too, but depend on the shell that they are called from.
constexpr std::array<std::string_view, 2> kOfThisShell = {"command", "pwd"};

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view(" _-./,:@%+=").find(c) != std::string_view::npos;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c); });
}

// Splits the text of one part; a word that is begun goes on in the next part.
void add_words(std::string_view text, std::vector<Pattern>& words, bool& begun) {
  while (!text.empty()) {
    if (text.front() == ' ') {
      begun = false;
      text.remove_prefix(1);
      continue;
    }
    const std::string_view word = text.substr(0, text.find(' '));
    if (!begun) words.emplace_back();
    words.back().push_back({.text = std::string(word)});
    begun = true;
    text.remove_prefix(word.size());
  }
}

}  // namespace

bool is_shell_word(std::string_view word) {
  return word.find('=') != std::string_view::npos ||
         std::find(kShellWords.begin(), kShellWords.end(), word) != kShellWords.end() ||
         std::find(kOfThisShell.begin(), kOfThisShell.end(), word) != kOfThisShell.end();
}

std::vector<Pattern> direct_words(const Pattern& line, size_t columns_max) {
  std::vector<Pattern> words;
  bool begun = false;
  for (const Placeholder& part : line) {
    if (part.what == What::text) {
      if (!is_plain(part.text)) return {};
      add_words(part.text, words, begun);
      continue;
    }
    if (!begun) words.emplace_back();
    words.back().push_back(part);
    begun = true;
  }
  if (words.empty() || has_placeholder(words[0]) || is_shell_word(words[0][0].text)) return {};
  for (const Pattern& word : words) {
    const bool all = std::any_of(word.begin(), word.end(),
                                 [](const Placeholder& part) { return part.what == What::all; });
    // A shell would see several words, the first and the last of them longer.
    if (all && word.size() > 1 && columns_max > 1) return {};
  }
  return words;
}

std::vector<std::string> direct_words(std::string_view line) {
  std::vector<std::string> words;
  for (Pattern& word : direct_words(Pattern{{.text = std::string(line)}}, 1)) {
    words.push_back(std::move(word[0].text));
  }
  return words;
}

}  // namespace dunlin
