// `dunlin explain` and `dunlin pool`: why a job makes no progress, and which workers there are.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "base/printable.h"
#include "client/find_job.h"
#include "client/job_verbs.h"
#include "model/explain.h"
#include "model/json.h"
#include "model/release.h"
#include "model/workers.h"

namespace dunlin {

Result<int> run(const ExplainVerb& verb, const VerbEnv& env) {
  const WallTime now = env.clock.wall();
  const model::Job job = TRY(find_job(env.store.table(), verb.job, now));
  // Does what may have been left undone; a token that only reads may not, which is fine.
  (void)release_if_ready(env.store, job.id(), to_us(now)).ok();
  const Explained explained = TRY(explain_job(env.store, job.id(), env.at, now));
  std::string text = explained.text;
  if (env.form == Form::json) text = json_line(explained_json(explained));
  if (env.form == Form::quiet) {
    text = fmt::format("{}\n", state_word(explained.progress.standing.state));
  }
  TRY(print(text));
  return kExitDone;
}

Result<int> run(const PoolVerb& /*verb*/, const VerbEnv& env) {
  const WallTime now = env.clock.wall();
  Columns columns({{"WORKER"},
                   {"HOST"},
                   {"STATE"},
                   {"BUSY", true},
                   {"LOAD", true},
                   {"DONE", true},
                   {"FAILED", true},
                   {"SEEN"},
                   {"TAGS"}});
  std::string out;
  const auto workers = TRY(read_workers(env.store.table()));
  for (const model::WorkerInfo& worker : workers) {
    const std::string_view state = state_word(worker, now);
    std::string tags;
    for (const std::string& tag : worker.tags()) tags += (tags.empty() ? "" : " ") + tag;
    const double seen_s =
        static_cast<double>(now.time_since_epoch().count() - worker.seen_ms()) / 1000;
    if (env.form == Form::json) {
      out += json_line(worker_json(worker, now));
    } else if (env.form == Form::quiet) {
      if (state != "offline") out += worker.id() + '\n';
    } else {
      columns.add({worker.id(), worker.host(), std::string(state),
                   fmt::format("{}/{}", worker.busy(), worker.slots()),
                   fmt::format("{:.1f}", worker.load()), std::to_string(worker.done()),
                   std::to_string(worker.failed()), ago(seen_s), tags});
    }
  }
  if (env.form == Form::plain) {
    out = columns.empty() ? fmt::format("there are no workers: start one with `dunlin worker{}`\n",
                                        env.at.empty() ? "" : " --at " + printable_url(env.at))
                          : columns.text();
  }
  TRY(print(out));
  return kExitDone;
}

}  // namespace dunlin
