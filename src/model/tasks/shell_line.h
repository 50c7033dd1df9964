// Lines that need no shell: words and spaces only, and a program that is none of the shell's own.
// Pure; from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/tasks/placeholders.h"

namespace dunlin {

// The line's words; none if only a shell knows what it means. A value never needs quoting then, as
// it becomes (a part of) one word. `columns_max`: how many values {} may stand for.
std::vector<Pattern> direct_words(const Pattern& line, size_t columns_max);

// The same for a line without placeholders.
std::vector<std::string> direct_words(std::string_view line);

// Means something else to a shell than the program of this name.
bool is_shell_word(std::string_view word);

}  // namespace dunlin
