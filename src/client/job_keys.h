// The keys of a job in a job file: what each expects, and what it sets. Only for
// client/job_file.cc.
#pragma once

// Without this the parser throws.
#define TOML_EXCEPTIONS 0
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "base/result.h"
#include "client/job_file.h"
#include "client/sources.h"
#include "model/iterations.h"

namespace dunlin {

// A job as far as it was read.
struct JobDraft {
  FileJob job;
  SourceOptions options;
  std::vector<SourceText> sources;
  std::vector<std::string> after;
  std::vector<std::string_view> input_keys;    // Which of array, values, lines, csv, json.
  std::vector<std::string_view> command_keys;  // Which of command, argv.
  IterationOptions iterations;
  std::string folder;  // Of the job file, with its slash.
  WallTime now;        // From which deadlines count.
};

// `invalid` names the key and what it expects, or the nearest key that there is.
Result<void> set_key(std::string_view key, const toml::node& value, JobDraft& draft);

}  // namespace dunlin
