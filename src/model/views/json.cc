#include "model/views/json.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/enum_table.h"
#include "base/text.h"
#include "model/keys.h"
#include "model/workers.h"

namespace dunlin {

using nlohmann::ordered_json;

namespace {

// By model::Blame; nobody is to blame for what went well.
constexpr std::array<std::string_view, 4> kBlames = {"", "task", "worker", "store"};
static_assert(kBlames.size() == model::Blame_ARRAYSIZE);

std::string_view blame_word(model::Blame blame) { return entry_of(kBlames, blame); }

}  // namespace

ordered_json json_object() { return {{"v", 1}}; }

void add_bytes(ordered_json& object, const std::string& name, std::string_view bytes) {
  if (is_utf8(bytes)) {
    object[name] = bytes;
  } else {
    object[name + "_base64"] = to_base64(bytes);
  }
}

std::string json_text(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json submitted_json(const Submitted& submitted, const model::Spec& spec) {
  ordered_json object = json_object();
  object["job"] = submitted.id;
  object["name"] = spec.name();
  object["tasks"] = spec.tasks();
  object["existed"] = submitted.existed;
  return object;
}

ordered_json job_json(const model::Job& job, const Standing& standing, const Counts& counts) {
  ordered_json object = json_object();
  object["job"] = job.id();
  object["name"] = job.spec().name();
  object["owner"] = job.spec().owner();
  object["state"] = state_word(standing.state);
  object["tasks"] = job.spec().tasks();
  object["ok"] = counts.ok;
  object["failed"] = counts.failed;
  object["waiting"] = job.spec().tasks() - counts.ok - counts.failed;
  object["created_us"] = job.spec().created_us();
  if (has_ended(standing.state)) object["ended_us"] = standing.end.ended_us();
  if (!standing.end.why().empty()) object["why"] = standing.end.why();
  return object;
}

ordered_json progress_json(const Progress& progress) {
  ordered_json object = job_json(progress.job, progress.standing, progress.counts);
  object["rate"] = progress.rate;
  if (progress.eta_s) object["eta_s"] = *progress.eta_s;
  object["failures"] = ordered_json::array();
  for (const Failure& failure : progress.failures) {
    object["failures"].push_back(ordered_json{{"why", failure.why}, {"count", failure.count}});
  }
  return object;
}

ordered_json cancelled_json(const std::string& job, const std::optional<Standing>& before) {
  ordered_json object = json_object();
  object["job"] = job;
  object["cancelled"] = !before.has_value();
  object["state"] = state_word(before ? before->state : JobState::cancelled);
  return object;
}

ordered_json retried_json(const model::Job& job, const Retried& retried) {
  ordered_json object = json_object();
  object["job"] = job.id();
  object["retried"] = retried.tasks;
  object["round"] = retried.tasks > 0 ? retried.round : job.round();
  return object;
}

Result<ordered_json> result_json(Store& store, const model::Job& job, const TaskResult& result) {
  const model::Outcome& outcome = result.outcome;
  ordered_json object = missing_json(job.id(), result.task, state_word(outcome.state()));
  object["exit"] = outcome.exit();
  if (outcome.signal() != 0) object["signal"] = outcome.signal();
  object["attempt"] = outcome.attempt();
  if (outcome.blame() != model::BLAME_NOBODY) object["blame"] = blame_word(outcome.blame());
  // One that is ok may have a reason, too: its cleanup failed, or its output could not be stored.
  if (outcome.state() != model::STATE_OK || !outcome.why().empty()) {
    object["why"] = why_of(outcome);
  }
  for (const auto& [name, which, output] :
       {std::tuple("stdout", "out", &outcome.out()), std::tuple("stderr", "err", &outcome.err())}) {
    const std::string key = name;
    if (output->where() == model::Output::BLOB) {  // Too large for a line.
      object[key + "_size"] = output->size();
      object[key + "_blob"] = blob_name(job.id(), result.task, outcome.attempt(), which);
    } else {
      add_bytes(object, key, TRY(whole_output(store, job.id(), result.task, outcome, which)));
    }
    if (output->cut() > 0) object[key + "_cut"] = output->cut();
  }
  if (!outcome.value().empty()) add_bytes(object, "value", outcome.value());
  object["worker"] = result.worker;
  object["created_us"] = job.spec().created_us();
  object["received_us"] = outcome.received_us();
  object["started_us"] = result.started_us();
  object["ended_us"] = result.ended_us();
  object["committed_us"] = result.committed_us;
  return object;
}

ordered_json missing_json(const std::string& job, uint64_t task, std::string_view state) {
  ordered_json object = json_object();
  object["job"] = job;
  object["task"] = task;
  object["state"] = state;
  return object;
}

ordered_json worker_json(const model::WorkerInfo& worker, WallTime now) {
  ordered_json object = json_object();
  object["worker"] = worker.id();
  object["host"] = worker.host();
  object["pid"] = worker.pid();
  object["state"] = state_word(worker, now);
  object["slots"] = worker.slots();
  object["busy"] = worker.busy();
  object["load"] = worker.load();
  object["tags"] = std::vector<std::string>(worker.tags().begin(), worker.tags().end());
  object["mem_bytes"] = worker.mem_bytes();
  object["gpus"] = worker.gpus();
  object["done"] = worker.done();
  object["failed"] = worker.failed();
  object["started_ms"] = worker.started_ms();
  object["seen_ms"] = worker.seen_ms();
  return object;
}

ordered_json blob_json(const BlobInfo& blob) {
  ordered_json object = json_object();
  object["name"] = blob.name;
  object["size"] = blob.size;
  return object;
}

ordered_json depth_json(std::string_view queue, const Depth& depth) {
  ordered_json object = json_object();
  object["queue"] = queue;
  object["ready"] = depth.ready;
  object["leased"] = depth.leased;
  return object;
}

}  // namespace dunlin
