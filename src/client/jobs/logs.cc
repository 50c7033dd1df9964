// `dunlin logs`: all that a task wrote.
#include <fmt/format.h>

#include "base/exit.h"
#include "client/jobs/find_job.h"
#include "client/jobs/job_verbs.h"
#include "client/jobs/result_lines.h"
#include "model/jobs/results.h"

namespace dunlin::client {

Result<int> run(const LogsVerb& verb, const VerbEnv& env) {
  Table& table = env.store.table();
  const model::Job job = TRY(find_job(table, verb.job, env.clock.wall()));
  TRY(parse_tasks(std::to_string(verb.task), job.spec().tasks()));
  ResultReader reader(table, job.id(), verb.task, verb.task + 1);
  const std::optional<TaskResult> result = TRY(reader.next());
  if (!result) {
    return Error{Code::not_found,
                 fmt::format("task {} of job {} has no outcome yet: `dunlin explain {}` says why",
                             verb.task, job.id(), job.id())};
  }
  const std::string_view which = verb.err ? "err" : "out";
  TRY(read_output(env.store, job.id(), verb.task, result->outcome, which, cli::print));
  const std::string missing = missing_words(job.spec(), result->outcome, which);
  if (missing.empty()) {
    if (!result->outcome.why().empty()) cli::complain(result->outcome.why());
    return kExitDone;
  }
  cli::complain(missing);
  return kExitCut;
}

}  // namespace dunlin::client
