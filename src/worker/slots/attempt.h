// Makes of one assignment what a slot is to do: a process, a function to call, a pause, or a
// refusal. attempt() starts nothing, and looks at the disk only for the submitter's folder; call()
// takes as long as its function. From any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/iterations/ledgers.h"
#include "worker/process/process.h"
#include "worker/slots/slots.h"

namespace dunlin::worker {

// What tasks inherit of the worker's environment, read once.
struct Surroundings {
  std::vector<std::string> all = {};       // "NAME=VALUE"
  std::vector<std::string> scrubbed = {};  // PATH, HOME, LANG and the like.

  // With the mark of the keeper ("NAME=VALUE").
  static Surroundings ours(const std::string& mark);
};

struct Attempt {
  enum class Kind { refused, sleep, function, process };
  Kind kind = Kind::refused;
  Error refusal = {Code::invalid, ""};
  model::Blame blame = model::BLAME_TASK;  // Of the refusal.
  int64_t sleep_us = 0;
  const TaskFunction* function = nullptr;
  std::string argument = {};
  Command command = {};
  std::string cleanup = {};                        // A shell line.
  std::optional<PartitionAttempt> partition = {};  // If it is one.
  // The submitter's folder, if it runs in a fresh one instead: this worker does not have it, or ...
  std::string elsewhere = {};
  bool is_closed = false;  // ... its tasks may not enter it.
};

// `private_folder` is where it runs unless it says otherwise, and its TMPDIR. `slot` is {%}.
Attempt attempt(Assignment& assignment, const SlotOptions& options, const Surroundings& around,
                const std::string& private_folder, uint32_t slot);

// Calls the function, and takes what it throws for a failure.
void call(const TaskFunction& function, std::string_view argument, model::Outcome& outcome);

}  // namespace dunlin::worker
