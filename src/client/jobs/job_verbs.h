// What people do with jobs: look at them, wait for them, steer them. Each verb is what the command
// line said; run() prints what was found and returns the exit code, or the error that ended it.
//
// A job is named as client/jobs/find_job.h says. Calls block as the store does; one thread, as the
// store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "cli/output.h"
#include "store/request_store.h"

namespace dunlin::client {

// Where a verb finds what it needs.
struct VerbEnv {
  RequestStore& store;
  const Clock& clock;
  cli::Form form = cli::Form::plain;
  std::string at = {};     // The store's URL, for hints.
  std::string owner = {};  // That the token is bound to; empty: to nobody.
};

struct StatusVerb {
  std::string job = {};  // Empty: the newest jobs.
};
struct ListVerb {
  std::string state = {};  // Empty: any.
  std::string owner = {};
  std::string name = {};
  uint64_t max = 50;
};
struct ResultsVerb {
  std::string job = {};
  std::string tasks = {};  // N or A-B; empty: all.
  bool failed = false;     // Only those that are not ok.
  bool follow = false;     // As they come, until the job ends.
};
struct LogsVerb {
  std::string job = {};
  uint64_t task = 0;
  bool err = false;
};
struct WaitVerb {
  std::vector<std::string> jobs = {};
  std::string timeout = {};  // Empty: none.
};
struct CancelVerb {
  std::vector<std::string> jobs = {};
};
struct RetryVerb {
  std::string job = {};
  bool failed = false;  // Said for clarity: it is all that a retry does.
};
struct ExplainVerb {
  std::string job = {};
};
struct PoolVerb {};
struct RemoveVerb {
  std::vector<std::string> jobs = {};
  bool ended = false;                      // Instead of jobs: all that have ended,
  std::optional<std::string> before = {};  // so long ago,
  std::optional<std::string> owner = {};   // and are theirs.
  bool dry_run = false;
};
struct HistoryVerb {};

Result<int> run(const StatusVerb& verb, const VerbEnv& env);
Result<int> run(const ListVerb& verb, const VerbEnv& env);
Result<int> run(const ResultsVerb& verb, const VerbEnv& env);
Result<int> run(const LogsVerb& verb, const VerbEnv& env);
Result<int> run(const WaitVerb& verb, const VerbEnv& env);
Result<int> run(const CancelVerb& verb, const VerbEnv& env);
Result<int> run(const RetryVerb& verb, const VerbEnv& env);
Result<int> run(const ExplainVerb& verb, const VerbEnv& env);
Result<int> run(const PoolVerb& verb, const VerbEnv& env);
Result<int> run(const RemoveVerb& verb, const VerbEnv& env);
Result<int> run(const HistoryVerb& verb, const VerbEnv& env);

}  // namespace dunlin::client
