// `dunlin retry`: runs the failed tasks of a job again.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "base/text.h"
#include "client/jobs/find_job.h"
#include "client/jobs/job_verbs.h"
#include "model/jobs/steer.h"
#include "model/jobs/submit.h"
#include "model/views/json.h"

namespace dunlin::client {

Result<int> run(const RetryVerb& verb, const VerbEnv& env) {
  const model::Job job = TRY(find_job(env.store.table(), verb.job, env.clock.wall()));
  const Retried retried = TRY(retry_failed(env.store, job.id(), to_us(env.clock.wall())));
  if (env.form == cli::Form::json) {
    TRY(cli::print(cli::json_line(retried_json(job, retried))));
  } else if (env.form == cli::Form::quiet) {
    TRY(cli::print(fmt::format("{}\n", retried.tasks)));
  } else if (retried.tasks == 0) {
    TRY(cli::print(fmt::format("no task of job {} failed\n", job.id())));
  } else {
    TRY(cli::print(
        fmt::format("queued {} of job {} again\n", count_of(retried.tasks, "task"), job.id())));
  }
  return kExitDone;
}

}  // namespace dunlin::client
