// Adds the options that every command has which speaks to a store: which store, and how to print.
// For the main thread, before it parses the command line.
#pragma once

#include <CLI/App.hpp>
#include <deque>

#include "cli/store_target.h"

namespace dunlin::cli {

// One for each command, at a fixed place: the library that parses fills in the environment for all
// commands, those that were not given too, and would overwrite what the given one was told.
using Targets = std::deque<StoreTarget>;

// --at, --token-file, --tls-ca. REQUIRES: `target` outlives the parsing.
void add_store_options(CLI::App& command, StoreTarget& target);
// --json, --quiet.
void add_form_options(CLI::App& command, StoreTarget& target);

}  // namespace dunlin::cli
