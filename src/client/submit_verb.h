// `dunlin submit`: from the words of the command line to a job in the store, and with --wait to its
// last result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "client/job_verbs.h"
#include "client/sources.h"
#include "model/keys.h"
#include "model/progress.h"
#include "model/records.pb.h"
#include "model/results.h"

namespace dunlin {

// What the command line said.
struct SubmitVerb {
  std::vector<std::string> words = {};  // After --.
  std::string job_file = {};
  std::string array = {};
  std::string lines = {};  // A file, or - for standard input.
  std::string json_lines = {};
  std::string colsep = {};
  bool csv = false;
  bool header = false;
  bool no_quote = false;

  std::string name = {};
  std::string owner = {};
  std::string key = {};
  uint32_t priority = kPriorityDefault;
  std::vector<std::string> tags = {};
  uint32_t cpus = 0;
  uint32_t gpus = 0;
  std::string mem = {};
  std::vector<std::string> env = {};  // NAME=VALUE, or NAME to copy ours.
  std::string cwd = {};
  std::string stdin_file = {};
  std::string timeout = {};
  std::optional<uint32_t> retries = {};
  std::string losses = {};
  std::string keep = {};
  std::string backoff = {};
  std::string retry_on = {};  // 1,2,100-120
  std::string cleanup = {};
  bool at_most_once = false;
  bool relaxed = false;
  bool wait = false;
  bool dry_run = false;
  std::vector<std::string> after = {};
  std::string output_max = {};
  std::string memory_max = {};
  std::string file_max = {};

  uint32_t partitions = 0;
  uint32_t partitions_max = 0;
  std::string iterations = {};
  std::string span = {};
  std::string finish_by = {};
};

// The spec that the options make, but for the command and its inputs, and what needs the store.
Result<model::Spec> spec_of(const SubmitVerb& verb);

// The exit codes "1,2,100-120" as numbers.
Result<std::vector<uint32_t>> parse_codes(std::string_view text);

// The values that a task takes of the inputs, before they are stored.
Result<std::vector<std::string>> values_of(const Gathered& gathered, uint64_t task);

// Calls `take` with each outcome of the job as it comes, and returns how the job ended. Replies are
// for who submitted the job; others look at its pages.
Result<Standing> follow_job(const VerbEnv& env, const model::Job& job, bool ours,
                            const ResultFollower::Take& take);

Result<int> run(const SubmitVerb& verb, const VerbEnv& env);

// What can be done without a store.
Result<int> dry_run(const SubmitVerb& verb);

}  // namespace dunlin
