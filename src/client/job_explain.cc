#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "client/find_job.h"
#include "client/job_verbs.h"
#include "client/job_words.h"
#include "model/json.h"
#include "model/release.h"
#include "model/submit.h"
#include "model/workers.h"

namespace dunlin {
namespace {

using nlohmann::ordered_json;

Result<std::string> explain_waiting(const model::Job& job, Table& table) {
  const std::vector<std::string> others(job.spec().after().begin(), job.spec().after().end());
  const std::vector<Standing> standings = TRY(read_standings(table, others));
  std::string out = fmt::format("job {} waits for {}\n", job.id(), count_of(others.size(), "job"));
  for (size_t i = 0; i < others.size(); ++i) {
    const Standing& standing = standings[i];
    out +=
        fmt::format("  {} {}\n", others[i],
                    has_ended(standing.state) ? ending_words(standing)
                                              : fmt::format("is {}", state_word(standing.state)));
  }
  return out;
}

Result<std::string> words_about(const VerbEnv& env, const Progress& progress) {
  const model::Job& job = progress.job;
  if (has_ended(progress.standing.state)) {
    return fmt::format("job {} {}\n", job.id(), ending_words(progress.standing));
  }
  Table& table = env.store.table();
  if (progress.standing.state == JobState::waiting) return explain_waiting(job, table);
  Scene scene{.progress = progress, .workers = TRY(read_workers(table)), .at = env.at};
  scene.ready = TRY(env.store.queue().depth(job.queue())).ready;
  return explain_open(scene, env.clock.wall());
}

}  // namespace

Result<std::string> explain_text(const VerbEnv& env, const std::string& id) {
  return words_about(env, TRY(read_progress(env.store, id, env.clock.wall())));
}

Result<int> run(const ExplainVerb& verb, const VerbEnv& env) {
  const WallTime now = env.clock.wall();
  const model::Job job = TRY(find_job(env.store.table(), verb.job, now));
  // Does what may have been left undone; a token that only reads may not, which is fine.
  (void)release_if_ready(env.store, job.id(), to_us(now)).ok();
  const Progress progress = TRY(read_progress(env.store, job.id(), now));
  std::string text = TRY(words_about(env, progress));
  if (env.form == Form::json) {
    ordered_json object = json_object();
    object["job"] = job.id();
    object["state"] = state_word(progress.standing.state);
    object["text"] = text;
    text = json_line(object);
  }
  if (env.form == Form::quiet) text = fmt::format("{}\n", state_word(progress.standing.state));
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
                                        env.at.empty() ? "" : " --at " + env.at)
                          : columns.text();
  }
  TRY(print(out));
  return kExitDone;
}

}  // namespace dunlin
