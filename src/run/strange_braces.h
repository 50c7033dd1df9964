// Braces in a command that GNU parallel would fill in and Dunlin does not. Pure; from any thread.
#pragma once

#include <string>

#include "model/records.pb.h"

namespace dunlin::run {

// A sentence about the first of {-1}, {= CODE =}, and {3} of two sources; empty if there is none.
// They stay as they are, because braces also belong to shells, to awk and to regular expressions.
std::string strange_braces(const model::Command& command, const model::Inputs& inputs);

}  // namespace dunlin::run
