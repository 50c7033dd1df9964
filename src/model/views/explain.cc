#include "model/views/explain.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "model/views/json.h"
#include "model/workers.h"

namespace dunlin {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return text;
}

std::string start_one(const Scene& scene) {
  std::string line = "dunlin worker";
  if (!scene.at.empty()) line += " --at " + printable_url(scene.at);
  for (const std::string& tag : scene.progress.job.spec().requires_().tags()) {
    line += " --tag " + tag;
  }
  return line;
}

std::string no_match(const Scene& scene, const std::vector<const model::WorkerInfo*>& online) {
  const model::Spec& spec = scene.progress.job.spec();
  const auto* nearest = *std::ranges::min_element(
      online, {}, [&](const auto* worker) { return missing_for(spec, *worker).size(); });
  return fmt::format(
      "no worker that is online can run it ({} checked)\nthe nearest is {} on {}, which lacks "
      "{}\nstart one that has it: `{}`\n",
      online.size(), nearest->id(), nearest->host(), joined(missing_for(spec, *nearest)),
      start_one(scene));
}

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

}  // namespace

std::string ending_words(const Standing& standing) {
  const model::End& end = standing.end;
  const std::string counts =
      end.failed() == 0 ? fmt::format("{} ok", count_of(end.ok(), "task"))
                        : fmt::format("{} ok, {} failed", count_of(end.ok(), "task"), end.failed());
  switch (standing.state) {
    case JobState::done:
      return "is done: " + counts;
    case JobState::failed:
      return "has failed: " + counts;
    case JobState::cancelled:
      return end.ok() + end.failed() == 0 ? "was cancelled" : "was cancelled: " + counts;
    case JobState::skipped:
    case JobState::waiting:  // Not ended: the caller does not ask.
    case JobState::open:
      break;
  }
  return "was skipped: " + end.why();
}

std::string explain_open(const Scene& scene, WallTime now) {
  const Progress& progress = scene.progress;
  const model::Spec& spec = progress.job.spec();
  const uint64_t ended = progress.counts.ok + progress.counts.failed;
  std::string out = fmt::format("job {} is open, with {} of {} ended\n", progress.job.id(), ended,
                                count_of(spec.tasks(), "task"));
  std::vector<const model::WorkerInfo*> online;
  std::vector<const model::WorkerInfo*> able;
  for (const model::WorkerInfo& worker : scene.workers) {
    if (!is_online(worker, now)) continue;
    online.push_back(&worker);
    if (missing_for(spec, worker).empty() && !worker.draining()) able.push_back(&worker);
  }
  if (online.empty()) {
    return out + fmt::format("no worker is online: start one with `{}`\n", start_one(scene));
  }
  if (able.empty()) {
    const bool drains = std::ranges::any_of(
        online, [&](const auto* worker) { return missing_for(spec, *worker).empty(); });
    if (!drains) return out + no_match(scene, online);
    return out + fmt::format("the workers that could run it are leaving: start another with `{}`\n",
                             start_one(scene));
  }
  uint64_t slots = 0;
  uint64_t busy = 0;
  for (const auto* worker : able) {
    slots += worker->slots();
    busy += worker->busy();
  }
  out += fmt::format("{} can run it, with {} of {} busy\n", count_of(able.size(), "worker"), busy,
                     count_of(slots, "slot"));
  if (busy >= slots && ended == 0) {
    out += fmt::format(
        "all are busy: {} in its queue, which it shares with jobs of the same "
        "owner, priority and requirements\n",
        scene.ready == 1 ? "1 message is" : fmt::format("{} messages are", scene.ready));
  } else if (progress.rate > 0) {
    out += fmt::format("it runs: {:.{}f} tasks/s", progress.rate, progress.rate < 100 ? 1 : 0);
    if (progress.eta_s) out += fmt::format(", {} to go", human_time(*progress.eta_s));
    out += '\n';
  } else if (scene.ready == 0) {
    out += "its tasks are with workers\n";
  }
  if (progress.moved > 0) {
    const bool one = progress.moved == 1;
    out += fmt::format("{} {} tried again on {} own, after a failure or the loss of a worker\n",
                       count_of(progress.moved, "task"), one ? "is" : "are", one ? "its" : "their");
  }
  return out;
}

Result<Explained> explain_job(Store& store, const std::string& id, const std::string& at,
                              WallTime now) {
  Explained explained{.progress = TRY(read_progress(store, id, now))};
  const Progress& progress = explained.progress;
  const model::Job& job = progress.job;
  if (has_ended(progress.standing.state)) {
    explained.text = fmt::format("job {} {}\n", job.id(), ending_words(progress.standing));
  } else if (progress.standing.state == JobState::waiting) {
    explained.text = TRY(explain_waiting(job, store.table()));
  } else {
    Scene scene{.progress = progress, .workers = TRY(read_workers(store.table())), .at = at};
    scene.ready = TRY(store.queue().depth(job.queue())).ready;
    explained.text = explain_open(scene, now);
  }
  return explained;
}

nlohmann::ordered_json explained_json(const Explained& explained) {
  nlohmann::ordered_json object = json_object();
  object["job"] = explained.progress.job.id();
  object["state"] = state_word(explained.progress.standing.state);
  object["text"] = explained.text;
  return object;
}

}  // namespace dunlin
