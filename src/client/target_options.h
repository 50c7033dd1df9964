// The options that every command which speaks to a store has: which store, and how to print.
#pragma once

#include <CLI/App.hpp>

#include "client/store_verbs.h"

namespace dunlin {

// --at, --token-file, --tls-ca. REQUIRES: `target` outlives the parsing.
void add_store_options(CLI::App& command, StoreTarget& target);
// --json, --quiet.
void add_form_options(CLI::App& command, StoreTarget& target);

}  // namespace dunlin
