// `dunlin list`: jobs by state, owner and name.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "base/names.h"
#include "client/jobs/job_verbs.h"
#include "client/jobs/job_words.h"
#include "model/jobs/progress.h"
#include "model/rows.h"
#include "model/views/json.h"
#include "model/views/list_jobs.h"

namespace dunlin::client {

Result<int> run(const ListVerb& verb, const VerbEnv& env) {
  if (!verb.state.empty() && !is_job_state(verb.state)) {
    return Error{
        Code::invalid,
        fmt::format(
            "{} is not a state of jobs: use waiting, open, done, failed, cancelled or skipped",
            quote(verb.state))};
  }
  const WallTime now = env.clock.wall();
  const auto wanted = [&](const Listed& one) {
    return (verb.state.empty() || verb.state == state_word(one.standing.state)) &&
           (verb.owner.empty() || verb.owner == one.job.spec().owner()) &&
           (verb.name.empty() || verb.name == one.job.spec().name());
  };
  cli::Columns columns({{"JOB"},
                        {"NAME"},
                        {"OWNER"},
                        {"STATE"},
                        {"TASKS", true},
                        {"OK", true},
                        {"FAILED", true},
                        {"CREATED"}});
  std::string out;
  for (const Listed& one : TRY(newest_jobs(env.store.table(), now, verb.max, wanted))) {
    if (env.form == cli::Form::quiet) {
      out += one.job.id() + '\n';
      continue;
    }
    const auto counted = read_counts(env.store.table(), one.job, one.standing);
    if (!counted.ok() && is_passed_over(counted.error())) continue;
    const Counts counts = TRY(counted);
    if (env.form == cli::Form::json) {
      out += cli::json_line(job_json(one.job, one.standing, counts));
    } else {
      columns.add({one.job.id(), one.job.spec().name(), one.job.spec().owner(),
                   std::string(state_word(one.standing.state)),
                   std::to_string(one.job.spec().tasks()), std::to_string(counts.ok),
                   std::to_string(counts.failed), age(one.job.spec().created_us(), now)});
    }
  }
  TRY(cli::print(columns.empty() ? out : columns.text()));
  return kExitDone;
}

}  // namespace dunlin::client
