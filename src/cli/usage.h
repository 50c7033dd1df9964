// What is wrong with a command line, in one line with the next step. Pure.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace dunlin::cli {

// Of what the parser threw.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// Of an option that `dunlin run` does not have; tells users of GNU parallel what it has instead.
std::string unknown_run_option(const CLI::App& run, const std::string& option);

// Of `help VERB...`; empty if there is such a verb, or it is no such line.
std::string help_error(const CLI::App& app, const std::vector<std::string>& words);

// The words `help VERB...` and `VERB --version` as the parser takes them.
std::vector<std::string> plain_words(std::vector<std::string> words);

}  // namespace dunlin::cli
