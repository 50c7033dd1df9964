// `dunlin wait`: until jobs have ended.
#include "base/wait.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/exit.h"
#include "base/text.h"
#include "client/jobs/find_job.h"
#include "client/jobs/job_verbs.h"
#include "model/jobs/progress.h"
#include "model/jobs/release.h"
#include "model/jobs/submit.h"
#include "model/rows.h"
#include "model/views/explain.h"
#include "model/views/json.h"

namespace dunlin::client {
namespace {

using nlohmann::ordered_json;

constexpr Millis kLookFirst = Millis(20);
constexpr Millis kLookLast = Millis(500);
constexpr Millis kReleaseEvery = Millis(5000);

Result<void> print_end(const std::string& id, const Standing& standing, cli::Form form) {
  if (form == cli::Form::json) {
    ordered_json object = json_object();
    object["job"] = id;
    object["state"] = state_word(standing.state);
    object["ok"] = standing.end.ok();
    object["failed"] = standing.end.failed();
    object["ended_us"] = standing.end.ended_us();
    return cli::print(cli::json_line(object));
  }
  if (form == cli::Form::quiet) return {};
  return cli::print(fmt::format("job {} {}\n", id, ending_words(standing)));
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

}  // namespace dunlin::client
