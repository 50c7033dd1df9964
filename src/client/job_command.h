// Puts the commands about jobs on the command line: submit, status, list, results, logs, wait,
// cancel, retry, explain, pool, remove, history. The one that was given runs while the line is
// parsed. Main thread.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "cli/target_options.h"
#include "client/jobs/job_verbs.h"
#include "client/submit/submit_verb.h"

namespace dunlin::client {

// What the command line said; only the verb that was given counts.
struct JobOptions {
  cli::Targets targets;
  SubmitVerb submit;
  StatusVerb status;
  ListVerb list;
  ResultsVerb results;
  LogsVerb logs;
  WaitVerb wait;
  CancelVerb cancel;
  RetryVerb retry;
  ExplainVerb explain;
  PoolVerb pool;
  RemoveVerb remove;
  HistoryVerb history;
};

// Adds the subcommands; each leaves its exit code in `exit_code`. REQUIRES: all outlive the
// parsing.
void add_job_commands(CLI::App& app, JobOptions& options, int& exit_code);

// Takes the words after the first "--" of `dunlin submit` off the arguments, as they are: the
// library that parses the rest would look for lists and options in them.
std::vector<std::string> cut_command(int& argc, char** argv);

}  // namespace dunlin::client
