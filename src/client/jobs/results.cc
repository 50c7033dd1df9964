// `dunlin results`: how tasks ended, and what they wrote in brief.
#include "model/jobs/results.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/exit.h"
#include "base/names.h"
#include "base/text.h"
#include "base/wait.h"
#include "client/jobs/find_job.h"
#include "client/jobs/job_verbs.h"
#include "client/jobs/result_lines.h"
#include "model/keys.h"
#include "model/rows.h"

namespace dunlin::client {
namespace {

constexpr Millis kLookEvery = Millis(200);

// As they come, until the job ends.
Result<void> follow(const VerbEnv& env, const model::Job& job, const TaskSpan& span,
                    bool failed_only, ResultPrinter& printer, CutOutputs& cut) {
  ResultFollower follower(job.id(), job.spec().tasks());
  const auto take = [&](const TaskResult& result) -> Result<void> {
    if (result.task < span.first || result.task >= span.last) return {};
    if (failed_only && result.outcome.state() == model::STATE_OK) return {};
    cut.add(job, result);
    return printer.add(result);
  };
  while (true) {
    // Its end first: what is there after it is all there will be.
    const Standing standing = TRY(read_standings(env.store.table(), {job.id()})).front();
    TRY(follower.look(env.store.table(), take));
    TRY(printer.flush());
    if (has_ended(standing.state) || follower.complete()) return {};
    wait_until(env.clock.now() + kLookEvery, env.clock);
  }
}

}  // namespace

Result<int> run(const ResultsVerb& verb, const VerbEnv& env) {
  Table& table = env.store.table();
  const model::Job job = TRY(find_job(table, verb.job, env.clock.wall()));
  const TaskSpan span = TRY(parse_tasks(verb.tasks, job.spec().tasks()));
  ResultPrinter printer(env.store, job, env.form);
  CutOutputs cut(env.form == cli::Form::quiet   ? 0
                 : env.form == cli::Form::plain ? cli::kCellMax
                                                : SIZE_MAX);
  if (verb.follow) {
    TRY(follow(env, job, span, verb.failed, printer, cut));
    cut.say();
    return cut.any() ? kExitCut : kExitDone;
  }
  // Tasks without an outcome are shown if the user asks for them.
  const bool show_missing = !verb.tasks.empty() && !verb.failed;
  const Standing standing = TRY(read_standings(table, {job.id()})).front();
  const std::string_view missing = has_ended(standing.state) ? "cancelled" : "waiting";
  ResultReader reader(table, job.id(), span.first, span.last);
  uint64_t next = span.first;
  while (true) {
    const std::optional<TaskResult> result = TRY(reader.next());
    const uint64_t until = result ? result->task : span.last;
    for (; show_missing && next < until; ++next) TRY(printer.add_missing(next, missing));
    if (!result) break;
    next = result->task + 1;
    if (verb.failed && result->outcome.state() == model::STATE_OK) continue;
    cut.add(job, *result);
    TRY(printer.add(*result));
  }
  TRY(printer.flush());
  cut.say();
  return cut.any() ? kExitCut : kExitDone;
}

}  // namespace dunlin::client
