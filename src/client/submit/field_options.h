// Options of a command line that describe a job: one for each field that the entrance has, with the
// help of the table. One thread, while the command line is read.
#pragma once

#include <CLI/App.hpp>

#include "spec/words.h"

namespace dunlin::client {

// REQUIRES: `said` outlives the parsing.
void add_field_options(CLI::App& command, spec::Entrance entrance, spec::Words& said);

}  // namespace dunlin::client
