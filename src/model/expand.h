// From a job and a task's number to what is run: fills in placeholders as GNU parallel does. Pure;
// from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"

namespace dunlin {

// What one attempt runs.
struct Expanded {
  std::vector<std::string> argv;  // Empty if the job is a function or a builtin.
  std::string argument;           // For those.
  std::vector<std::pair<std::string, std::string>> env;  // The job's, then the task's own.
  std::string cwd;                                       // Empty: a fresh private folder.
  std::string stdin_bytes;
};

// Which value of each source the task takes: indices into the sources, in order. Empty for an
// array.
std::vector<uint64_t> source_indices(const model::Inputs& inputs, uint64_t task);

// How many tasks the inputs make. `invalid` if more than kTasksMax, or linked sources differ.
Result<uint64_t> count_tasks(const model::Inputs& inputs);

// REQUIRES: `values` has one value for each source, those of source_indices(). A shell line without
// any character that is special to a shell is split at its spaces and run without one.
Result<Expanded> expand(const model::Spec& spec, uint64_t task,
                        const std::vector<std::string>& values);

// The command of a task as a line that a person could paste into a shell (for --dry-run, joblog,
// status).
std::string shown_command(const Expanded& expanded);

// In single quotes if it needs them, for a POSIX shell.
std::string shell_quote(std::string_view text);

}  // namespace dunlin
