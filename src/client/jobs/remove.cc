// `dunlin remove`: ended jobs leave the store.

#include "retention/remove.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "base/names.h"
#include "base/text.h"
#include "client/jobs/find_job.h"
#include "client/jobs/job_verbs.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/rows.h"
#include "model/views/json.h"

namespace dunlin::client {
namespace {

constexpr size_t kCommitRows = 100;  // What every store takes in one commit.
constexpr size_t kScan = 200;        // Jobs at once.

Error refused(const std::string& job, retention::Verdict verdict) {
  switch (verdict) {
    case retention::Verdict::open:
      return {Code::conflict,
              fmt::format("job {} has not ended: `dunlin wait {}` or `dunlin cancel {}` first", job,
                          job, job)};
    case retention::Verdict::awaited:
      return {
          Code::conflict,
          fmt::format(
              "a job that comes after job {} is still waiting: remove it when that job has started",
              job)};
    case retention::Verdict::busy:
      return {Code::conflict, fmt::format("job {} keeps changing: try again", job)};
    case retention::Verdict::removed:  // Then nothing was refused.
    case retention::Verdict::absent:
      break;
  }
  return {Code::not_found,
          fmt::format("there is no job {}: `dunlin list` shows the jobs that exist", job)};
}

Result<void> say_removed(const std::string& job, const VerbEnv& env, bool dry_run) {
  if (env.form == cli::Form::quiet) return {};
  if (env.form == cli::Form::plain) {
    return cli::print(fmt::format("{} job {}\n", dry_run ? "would remove" : "removed", job));
  }
  nlohmann::ordered_json object = json_object();
  object["job"] = job;
  object["removed"] = !dry_run;
  return cli::print(cli::json_line(object));
}

Result<int> remove_named(const RemoveVerb& verb, const VerbEnv& env) {
  retention::Remover remover(env.store, {.commit_rows = kCommitRows});
  std::vector<std::string> ids;
  for (const model::Job& job : TRY(find_jobs(env.store.table(), verb.jobs, env.clock.wall()))) {
    if (std::ranges::find(ids, job.id()) == ids.end()) ids.push_back(job.id());
  }
  std::vector<retention::Candidate> jobs = TRY(remover.read(ids));
  for (const retention::Candidate& one : jobs) {
    if (one.end.version == 0) return refused(one.job.record.id(), retention::Verdict::open);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const retention::Verdict verdict =
        verb.dry_run ? retention::Verdict::removed
                     : TRY(remover.remove(std::span(jobs).subspan(i, 1), env.clock.wall())).front();
    if (verdict != retention::Verdict::removed) return refused(ids[i], verdict);
    TRY(say_removed(ids[i], env, verb.dry_run));
  }
  return kExitDone;
}

// Without --before all that have ended, also by a clock that is ahead.
bool is_wanted(const retention::Candidate& one, const RemoveVerb& verb, int64_t until_us) {
  return one.job.version != 0 && one.job.record.gone_us() == 0 && one.end.version != 0 &&
         (!verb.before || one.end.record.ended_us() <= until_us) &&
         (!verb.owner || one.job.record.spec().owner() == *verb.owner);
}

Result<int> remove_ended(const RemoveVerb& verb, const VerbEnv& env) {
  if (verb.owner && !is_name(*verb.owner)) {
    return Error{Code::invalid,
                 fmt::format("--owner {} cannot be the name of an owner", quote(*verb.owner))};
  }
  if (verb.before && !parse_duration(*verb.before).ok()) {
    return Error{Code::invalid, fmt::format("--before {} is not a duration: write 12h or 30d",
                                            quote(*verb.before))};
  }
  const Millis age = verb.before ? TRY(parse_duration(*verb.before)) : Millis(0);
  const WallTime until = env.clock.wall() - age;
  retention::Remover remover(env.store, {.commit_rows = kCommitRows});
  const std::string last = job_id_prefix(until + Millis(1));
  std::string after;
  uint64_t wanted = 0;  // Of a dry run.
  uint64_t removed = 0;
  uint64_t left = 0;
  while (true) {
    std::vector<Row> rows = TRY(env.store.table().scan(kJobs, "", after, kScan));
    if (verb.before) {
      std::erase_if(rows, [&](const Row& row) { return row.key >= last; });
    }
    if (rows.empty()) break;
    after = rows.back().key;
    std::vector<std::string> ids;
    for (const Row& row : rows) ids.push_back(row.key);
    std::vector<retention::Candidate> jobs = TRY(remover.read(ids));
    std::erase_if(
        jobs, [&](const retention::Candidate& one) { return !is_wanted(one, verb, to_us(until)); });
    if (verb.dry_run) {
      for (const retention::Candidate& one : jobs) TRY(say_removed(one.job.record.id(), env, true));
      wanted += jobs.size();
      continue;
    }
    for (const retention::Verdict verdict : TRY(remover.remove(jobs, env.clock.wall()))) {
      if (verdict == retention::Verdict::removed) ++removed;
      if (verdict == retention::Verdict::awaited || verdict == retention::Verdict::busy) ++left;
    }
  }
  if (verb.dry_run) {
    if (env.form == cli::Form::quiet) TRY(cli::print(fmt::format("{}\n", wanted)));
    return kExitDone;
  }
  if (env.form == cli::Form::json) {
    nlohmann::ordered_json object = json_object();
    object["removed"] = removed;
    object["left"] = left;
    TRY(cli::print(cli::json_line(object)));
  } else {
    TRY(cli::print(env.form == cli::Form::quiet
                       ? fmt::format("{}\n", removed)
                       : fmt::format("removed {}\n", count_of(removed, "job"))));
  }
  if (left > 0 && env.form == cli::Form::plain) {
    cli::complain(
        fmt::format("{} could not be removed, because other jobs wait for them: try again later",
                    count_of(left, "job")));
  }
  return kExitDone;
}

}  // namespace

Result<int> run(const RemoveVerb& verb, const VerbEnv& env) {
  const bool filtered = verb.before || verb.owner;
  if (verb.ended && !verb.jobs.empty()) {
    return Error{Code::invalid, "give either --ended or the names of jobs, not both"};
  }
  if (verb.ended) return remove_ended(verb, env);
  if (filtered) {
    return Error{Code::invalid, "--before and --owner go with --ended"};
  }
  if (verb.jobs.empty()) {
    return Error{Code::invalid,
                 "name the jobs to remove, or remove all that ended a while ago with `dunlin "
                 "remove --ended --before 30d`"};
  }
  return remove_named(verb, env);
}

}  // namespace dunlin::client
