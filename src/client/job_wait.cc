// `dunlin wait`, `dunlin cancel` and `dunlin retry`.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/exit.h"
#include "base/text.h"
#include "base/wait.h"
#include "client/find_job.h"
#include "client/job_verbs.h"
#include "model/explain.h"
#include "model/json.h"
#include "model/progress.h"
#include "model/release.h"
#include "model/rows.h"
#include "model/steer.h"
#include "model/submit.h"

namespace dunlin {
namespace {

using nlohmann::ordered_json;

constexpr Millis kLookFirst = Millis(20);
constexpr Millis kLookLast = Millis(500);
constexpr Millis kReleaseEvery = Millis(5000);

Result<void> print_end(const std::string& id, const Standing& standing, Form form) {
  if (form == Form::json) {
    ordered_json object = json_object();
    object["job"] = id;
    object["state"] = state_word(standing.state);
    object["ok"] = standing.end.ok();
    object["failed"] = standing.end.failed();
    object["ended_us"] = standing.end.ended_us();
    return print(json_line(object));
  }
  if (form == Form::quiet) return {};
  return print(fmt::format("job {} {}\n", id, ending_words(standing)));
}

}  // namespace

Result<int> run(const WaitVerb& verb, const VerbEnv& env) {
  std::optional<Millis> timeout;
  if (!verb.timeout.empty()) timeout = TRY(parse_duration(verb.timeout));
  std::vector<std::string> open;
  for (const model::Job& job : TRY(find_jobs(env.store.table(), verb.jobs, env.clock.wall())))
    open.push_back(job.id());
  const Instant begun = env.clock.now();
  Instant released = begun - kReleaseEvery;
  Millis pause = kLookFirst;
  bool all_well = true;
  while (true) {
    const std::vector<Standing> standings = TRY(read_standings(env.store.table(), open));
    const bool release = env.clock.now() - released >= kReleaseEvery;
    if (release) released = env.clock.now();
    std::vector<std::string> still;
    for (size_t i = 0; i < open.size(); ++i) {
      const bool ended = has_ended(standings[i].state);
      if (ended) TRY(print_end(open[i], standings[i], env.form));
      all_well = all_well && (!ended || standings[i].state == JobState::done);
      if (ended) continue;
      still.push_back(open[i]);
      if (release) TRY(read_job(env.store.table(), open[i]));  // It may have been removed.
      // Should whoever had to start it have died, or a reader's token not allow it, nothing is
      // lost.
      if (release && standings[i].state == JobState::waiting) {
        (void)release_if_ready(env.store, open[i], to_us(env.clock.wall())).ok();
      }
    }
    open = std::move(still);
    if (open.empty()) return all_well ? kExitDone : kExitFailed;
    const Instant now = env.clock.now();
    if (timeout && now - begun >= *timeout) {
      return Error{Code::conflict,
                   fmt::format("job {} has not ended after {}: `dunlin explain {}` says why",
                               open.front(), verb.timeout, open.front())};
    }
    wait_until(timeout ? std::min(now + pause, begun + *timeout) : now + pause, env.clock);
    pause = std::min(pause * 3 / 2, kLookLast);
  }
}

Result<int> run(const CancelVerb& verb, const VerbEnv& env) {
  for (const model::Job& job : TRY(find_jobs(env.store.table(), verb.jobs, env.clock.wall()))) {
    const auto before = TRY(cancel_job(env.store, job.id(), to_us(env.clock.wall())));
    if (env.form == Form::json) {
      TRY(print(json_line(cancelled_json(job.id(), before))));
    } else if (env.form == Form::plain) {
      TRY(print(
          before ? fmt::format("job {} has already ended: it {}\n", job.id(), ending_words(*before))
                 : fmt::format("cancelled job {}\n", job.id())));
    }
  }
  return kExitDone;
}

Result<int> run(const RetryVerb& verb, const VerbEnv& env) {
  const model::Job job = TRY(find_job(env.store.table(), verb.job, env.clock.wall()));
  const Retried retried = TRY(retry_failed(env.store, job.id(), to_us(env.clock.wall())));
  if (env.form == Form::json) {
    TRY(print(json_line(retried_json(job, retried))));
  } else if (env.form == Form::quiet) {
    TRY(print(fmt::format("{}\n", retried.tasks)));
  } else if (retried.tasks == 0) {
    TRY(print(fmt::format("no task of job {} failed\n", job.id())));
  } else {
    TRY(print(
        fmt::format("queued {} of job {} again\n", count_of(retried.tasks, "task"), job.id())));
  }
  return kExitDone;
}

}  // namespace dunlin
