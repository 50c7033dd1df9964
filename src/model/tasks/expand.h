// From a job and a task's number to what is run: fills in placeholders (model/tasks/placeholders.h)
// as GNU parallel does. Pure; from any thread, but one Template from one thread at a time.
//
// A job that has sources and no placeholder gets the value at the end: of its line, or as further
// arguments. In argv an argument that is just {} becomes one argument for each value or column; in
// any other they stand with spaces between. Values that go into a shell line are quoted, unless the
// job says no_quote.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/records.pb.h"
#include "model/tasks/placeholders.h"

namespace dunlin {

// What one attempt runs.
struct Expanded {
  std::vector<std::string> argv;  // Empty if the job is a function or a builtin.
  std::string argument;           // For those.
  std::vector<std::pair<std::string, std::string>> env;  // The job's, then the task's own.
  // As Spec.cwd, but where the task has its own: below the job's folder if that is "/PATH", and
  // then whole; `below` the submitter's folder if the job runs there.
  std::string cwd;
  std::string below;
  std::string stdin_bytes;
};

// Which value of each source the task takes: indices into the sources, in order. Empty for an
// array.
std::vector<uint64_t> source_indices(const model::Inputs& inputs, uint64_t task);

// How many tasks the sources make. `invalid` if more than kTasksMax, or linked sources differ.
// REQUIRES: there is a source; how many tasks an array has stands in its Spec.
Result<uint64_t> count_tasks(const model::Inputs& inputs);

// A job's command, read once for all its tasks.
class Template {
 public:
  // `invalid` if the job has no command, or its colsep is no regular expression.
  static Result<Template> compile(const model::Spec& spec);
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  // REQUIRES: `values` has one value for each source, those of source_indices(). A shell line
  // without any character that is special to a shell is split at its spaces and run without one.
  Result<Expanded> expand(uint64_t task, const std::vector<std::string>& values,
                          uint32_t slot = 1) const;

 private:
  struct Parts;
  explicit Template(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// For a single task.
Result<Expanded> expand(const model::Spec& spec, uint64_t task,
                        const std::vector<std::string>& values);

// The command of a task as a line that a person could paste into a shell (for --dry-run, joblog,
// status).
std::string shown_command(const Expanded& expanded);

}  // namespace dunlin
