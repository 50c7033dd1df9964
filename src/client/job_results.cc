// `dunlin results` and `dunlin logs`: what tasks have written and how they ended.
#include <algorithm>
#include <fmt/format.h>

#include "base/exit.h"
#include "base/names.h"
#include "base/text.h"
#include "base/wait.h"
#include "client/find_job.h"
#include "client/job_verbs.h"
#include "client/result_lines.h"
#include "model/keys.h"
#include "model/results.h"
#include "model/rows.h"

namespace dunlin {
namespace {

constexpr Millis kLookEvery = Millis(200);

struct Span {
  uint64_t first = 0;
  uint64_t last = 0;  // Not in it.
};

Result<Span> parse_tasks(const std::string& text, uint64_t tasks) {
  if (text.empty()) return Span{0, tasks};
  const size_t dash = text.find('-');
  const uint64_t first = TRY(parse_number("the task", text.substr(0, dash)));
  const uint64_t last =
      dash == std::string::npos ? first : TRY(parse_number("the task", text.substr(dash + 1)));
  if (first > last) {
    return Error{Code::invalid,
                 fmt::format("the tasks {} end before they begin: write A-B", quote(text))};
  }
  if (last >= tasks) {
    return Error{Code::not_found, fmt::format("there is no task {}: the job has the tasks 0 to {}",
                                              last, tasks - 1)};
  }
  return Span{first, last + 1};
}

// As they come, until the job ends.
Result<void> follow(const VerbEnv& env, const model::Job& job, const Span& span, bool failed_only,
                    ResultPrinter& printer, CutOutputs& cut) {
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
  const Span span = TRY(parse_tasks(verb.tasks, job.spec().tasks()));
  ResultPrinter printer(env.store, job, env.form);
  CutOutputs cut(env.form == Form::quiet ? 0 : env.form == Form::plain ? kCellMax : SIZE_MAX);
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
  TRY(read_output(env.store, job.id(), verb.task, result->outcome, which, print));
  const std::string missing = missing_words(job.spec(), result->outcome, which);
  if (missing.empty()) {
    if (!result->outcome.why().empty()) complain(result->outcome.why());
    return kExitDone;
  }
  complain(missing);
  return kExitCut;
}

}  // namespace dunlin
