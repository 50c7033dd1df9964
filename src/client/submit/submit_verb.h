// `dunlin submit`: from the words of the command line to a job in the store, and with --wait to its
// last result. Calls block as the store and standard output do; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "client/jobs/job_verbs.h"
#include "model/jobs/progress.h"
#include "model/jobs/results.h"
#include "model/records.pb.h"
#include "sources/sources.h"
#include "spec/words.h"

namespace dunlin::client {

// What the command line said.
struct SubmitVerb {
  std::vector<std::string> words = {};  // After --.
  std::string job_file = {};
  spec::Words said = {};  // The options that describe the job.
  bool wait = false;
  bool dry_run = false;
};

// `invalid` says what is wrong with the options. Reads no inputs.
Result<void> check_options(const SubmitVerb& verb);

// The values that a task takes of the inputs, before they are stored.
Result<std::vector<std::string>> values_of(const sources::Gathered& gathered, uint64_t task);

// Calls `take` with each outcome of the job as it comes, and returns how the job ended. Replies are
// for who submitted the job; others look at its pages.
Result<Standing> follow_job(const VerbEnv& env, const model::Job& job, bool ours,
                            const ResultFollower::Take& take);

Result<int> run(const SubmitVerb& verb, const VerbEnv& env);

// What can be done without a store.
Result<int> dry_run(const SubmitVerb& verb);

}  // namespace dunlin::client
