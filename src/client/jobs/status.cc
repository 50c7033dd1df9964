// `dunlin status`: how far one job is, or the newest.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "client/jobs/find_job.h"
#include "client/jobs/job_verbs.h"
#include "client/jobs/job_words.h"
#include "model/jobs/progress.h"
#include "model/jobs/submit.h"
#include "model/rows.h"
#include "model/views/iterating.h"
#include "model/views/json.h"
#include "model/views/list_jobs.h"
#include "spec/read_back.h"

namespace dunlin::client {
namespace {

using nlohmann::ordered_json;

constexpr size_t kStatusMax = 50;  // Jobs in `status` without a name.

std::string rate_text(const Progress& progress) {
  std::string text = fmt::format("{:.{}f} tasks/s", progress.rate, progress.rate < 100 ? 1 : 0);
  if (progress.eta_s) text += fmt::format(", {} to go", human_time(*progress.eta_s));
  return text;
}

std::string tasks_text(const Progress& progress) {
  const model::Spec& spec = progress.job.spec();
  const Counts& counts = progress.counts;
  // Of most partitions it is only known that they might have been needed: others count iterations.
  if (spec.has_iterations()) {
    return fmt::format("at most {} partitions, {} failed", spec.tasks(), counts.failed);
  }
  std::string text = fmt::format("{}: {} ok, {} failed", spec.tasks(), counts.ok, counts.failed);
  if (progress.left() == 0) return text;
  const bool ended = has_ended(progress.standing.state);
  return text + fmt::format(", {} {}", progress.left(), ended ? "never ended" : "to go");
}

std::string status_text(const Progress& progress, WallTime now) {
  const model::Spec& spec = progress.job.spec();
  const std::string& id = progress.job.id();
  std::string out =
      fmt::format("job       {}{}\n", id, spec.name().empty() ? "" : " (" + spec.name() + ")");
  const model::End& end = progress.standing.end;
  out += fmt::format("state     {}{}\n", state_word(progress.standing.state),
                     end.why().empty() ? "" : ": " + end.why());
  out += "tasks     " + tasks_text(progress) + '\n';
  if (progress.rate > 0) out += "rate      " + rate_text(progress) + '\n';
  out += fmt::format("created   {} by {}\n", age(spec.created_us(), now), spec.owner());
  if (has_ended(progress.standing.state)) {
    out += fmt::format("ended     {}, after {}\n", age(end.ended_us(), now),
                       human_time(static_cast<double>(end.ended_us() - spec.created_us()) / 1e6));
  }
  if (!progress.failures.empty()) {
    cli::Columns columns({{"COUNT", true}, {"WHY"}});
    for (const Failure& failure : progress.failures) {
      columns.add({std::to_string(failure.count), cli::cell(failure.why)});
    }
    if (progress.failures_left > 0) {
      columns.add({std::to_string(progress.failures_left), "(other reasons)"});
    }
    out += '\n' + columns.text();
    out += fmt::format("\n`dunlin results {} --failed` shows these tasks", id);
    if (progress.standing.state == JobState::failed) {
      out += fmt::format(", `dunlin retry {}` runs them again", id);
    }
    out += '\n';
  }
  return out;
}

// What is known of its iterations and its deadline.
Result<std::string> more_text(const VerbEnv& env, const Progress& progress, WallTime now) {
  const model::Spec& spec = progress.job.spec();
  const bool ended = has_ended(progress.standing.state);
  if (spec.has_iterations()) {
    const Iterating iterating = TRY(read_iterating(env.store.table(), progress.job, now));
    return iterating_text(iterating, spec, now, ended);
  }
  if (spec.finish_by_ms() == 0 || ended) return std::string();
  std::string judged;
  if (progress.eta_s) {
    const double end_ms =
        static_cast<double>(now.time_since_epoch().count()) + *progress.eta_s * 1e3;
    judged =
        end_ms <= static_cast<double>(spec.finish_by_ms()) ? "it will be met" : "it will be missed";
  }
  return "deadline  " + deadline_text(spec.finish_by_ms(), now, judged) + '\n';
}

Result<int> status_of_one(const StatusVerb& verb, const VerbEnv& env) {
  const WallTime now = env.clock.wall();
  const std::string id = TRY(find_job(env.store.table(), verb.job, now)).id();
  const Progress progress = TRY(read_progress(env.store, id, now));
  if (env.form == cli::Form::json) {
    ordered_json object = TRY(status_json(env.store.table(), progress, now));
    object["spec"] = spec::spec_json(progress.job);
    TRY(cli::print(cli::json_line(object)));
  } else if (env.form == cli::Form::quiet) {
    TRY(cli::print(fmt::format("{}\n", state_word(progress.standing.state))));
  } else {
    const std::string more = TRY(more_text(env, progress, now));
    TRY(cli::print(status_text(progress, now) + more));
  }
  return kExitDone;
}

// Reasons and rates only of what is open: those of ended jobs would cost reading all their pages.
Result<Progress> brief_progress(const VerbEnv& env, const Listed& one, WallTime now) {
  if (one.standing.state == JobState::open) {
    return read_progress(env.store, one.job.id(), now);
  }
  return Progress{.job = one.job,
                  .standing = one.standing,
                  .counts = TRY(read_counts(env.store.table(), one.job, one.standing))};
}

}  // namespace

Result<int> run(const StatusVerb& verb, const VerbEnv& env) {
  if (!verb.job.empty()) return status_of_one(verb, env);
  const WallTime now = env.clock.wall();
  const auto jobs =
      TRY(newest_jobs(env.store.table(), now, kStatusMax, [](const Listed&) { return true; }));
  cli::Columns columns({{"JOB"},
                        {"NAME"},
                        {"STATE"},
                        {"TASKS", true},
                        {"OK", true},
                        {"FAILED", true},
                        {"TO GO", true},
                        {"RATE"}});
  std::string out;
  for (const Listed& one : jobs) {
    auto brief = brief_progress(env, one, now);
    if (!brief.ok() && is_passed_over(brief.error())) continue;
    const Progress progress = TRY(std::move(brief));
    if (env.form == cli::Form::json) {
      out += cli::json_line(progress_json(progress));
    } else if (env.form == cli::Form::quiet) {
      out += fmt::format("{}\t{}\n", one.job.id(), state_word(progress.standing.state));
    } else {
      const bool open = progress.standing.state == JobState::open;
      columns.add({one.job.id(), one.job.spec().name(),
                   std::string(state_word(progress.standing.state)),
                   std::to_string(one.job.spec().tasks()), std::to_string(progress.counts.ok),
                   std::to_string(progress.counts.failed),
                   has_ended(progress.standing.state) ? "" : std::to_string(progress.left()),
                   open && progress.rate > 0 ? rate_text(progress) : ""});
    }
  }
  if (env.form == cli::Form::plain) {
    out = columns.empty() ? "there are no jobs\n" : columns.text();
    if (jobs.size() == kStatusMax) out += "older ones: `dunlin list --max 1000`\n";
  }
  TRY(cli::print(out));
  return kExitDone;
}

}  // namespace dunlin::client
