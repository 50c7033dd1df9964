// `dunlin pool`: which workers there are.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/exit.h"
#include "base/printable.h"
#include "client/jobs/job_verbs.h"
#include "model/views/json.h"
#include "model/workers.h"

namespace dunlin::client {

Result<int> run(const PoolVerb& /*verb*/, const VerbEnv& env) {
  const WallTime now = env.clock.wall();
  cli::Columns columns({{"WORKER"},
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
    if (env.form == cli::Form::json) {
      out += cli::json_line(worker_json(worker, now));
    } else if (env.form == cli::Form::quiet) {
      if (state != "offline") out += worker.id() + '\n';
    } else {
      columns.add({worker.id(), worker.host(), std::string(state),
                   fmt::format("{}/{}", worker.busy(), worker.slots()),
                   fmt::format("{:.1f}", worker.load()), std::to_string(worker.done()),
                   std::to_string(worker.failed()), cli::ago(seen_s), tags});
    }
  }
  if (env.form == cli::Form::plain) {
    out = columns.empty() ? fmt::format("there are no workers: start one with `dunlin worker{}`\n",
                                        env.at.empty() ? "" : " --at " + printable_url(env.at))
                          : columns.text();
  }
  TRY(cli::print(out));
  return kExitDone;
}

}  // namespace dunlin::client
