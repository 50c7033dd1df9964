// `dunlin cancel`: what has not ended of jobs never will.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "client/jobs/find_job.h"
#include "client/jobs/job_verbs.h"
#include "model/jobs/steer.h"
#include "model/jobs/submit.h"
#include "model/views/explain.h"
#include "model/views/json.h"

namespace dunlin::client {

Result<int> run(const CancelVerb& verb, const VerbEnv& env) {
  for (const model::Job& job : TRY(find_jobs(env.store.table(), verb.jobs, env.clock.wall()))) {
    const auto before = TRY(cancel_job(env.store, job.id(), to_us(env.clock.wall())));
    if (env.form == cli::Form::json) {
      TRY(cli::print(cli::json_line(cancelled_json(job.id(), before))));
    } else if (env.form == cli::Form::plain) {
      TRY(cli::print(
          before ? fmt::format("job {} has already ended: it {}\n", job.id(), ending_words(*before))
                 : fmt::format("cancelled job {}\n", job.id())));
    }
  }
  return kExitDone;
}

}  // namespace dunlin::client
