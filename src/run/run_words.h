// The words of `dunlin run` that its parser would take for something else. Pure.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

namespace dunlin::run {

// Takes what follows a -- in front of the command out of `words`, with the --; and the colon of
// GNU parallel's `--header :`. `words` are those after `run`.
std::optional<std::vector<std::string>> cut_run_words(const CLI::App& run,
                                                      std::vector<std::string>& words);

// What is wrong with the value of -j and of -n; empty if the parser is to judge.
std::string why_no_jobs(const std::string& text);
std::string why_no_max_args(const std::string& text);

}  // namespace dunlin::run
