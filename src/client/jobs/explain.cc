// `dunlin explain`: why a job makes no progress.
#include "model/views/explain.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "client/jobs/find_job.h"
#include "client/jobs/job_verbs.h"
#include "model/jobs/release.h"
#include "model/views/json.h"

namespace dunlin::client {

Result<int> run(const ExplainVerb& verb, const VerbEnv& env) {
  const WallTime now = env.clock.wall();
  const model::Job job = TRY(find_job(env.store.table(), verb.job, now));
  // Does what may have been left undone; a token that only reads may not, which is fine.
  (void)release_if_ready(env.store, job.id(), to_us(now)).ok();
  const Explained explained = TRY(explain_job(env.store, job.id(), env.at, now));
  std::string text = explained.text;
  if (env.form == cli::Form::json) text = cli::json_line(explained_json(explained));
  if (env.form == cli::Form::quiet) {
    text = fmt::format("{}\n", state_word(explained.progress.standing.state));
  }
  TRY(cli::print(text));
  return kExitDone;
}

}  // namespace dunlin::client
