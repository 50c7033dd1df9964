#include "model/views/iterating.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/views/json.h"

namespace dunlin {
namespace {

using nlohmann::ordered_json;

ordered_json iterating_json(const Iterating& iterating, bool ended) {
  const balance::Ledger& ledger = iterating.ledger.ledger;
  const balance::Task& task = ledger.task;
  ordered_json object;
  object["total"] = task.iterations;
  object["done"] = task.done();
  if (!ended) {
    object["speed"] = iterating.speed;
    if (iterating.forecast.eta < balance::kEtaUnknown) object["eta_s"] = iterating.forecast.eta;
    object["chance"] = iterating.forecast.chance;
    // After the deadline no number would do.
    const bool late = iterating.forecast.chance <= 0 && iterating.forecast.more_slots == 0;
    if (!late) object["more_slots"] = iterating.forecast.more_slots;
  }
  object["partitions"] = ordered_json::array();
  for (size_t i = 0; i < task.partitions.size(); ++i) {
    const balance::Partition& partition = task.partitions[i];
    const balance::Ledger::Holder& holder = ledger.holders[i];
    ordered_json one;
    one["partition"] = i;
    one["state"] = state_word(partition);
    one["attempt"] = holder.attempt;
    one["done"] = partition.done;
    one["share"] = holder.taken + holder.own.size();
    one["speed"] = speed_of(partition);
    one["spans"] = ordered_json::array();
    for (const balance::Span& span : holder.spans) one["spans"].push_back({span.first, span.last});
    object["partitions"].push_back(std::move(one));
  }
  return object;
}

}  // namespace

double speed_of(const balance::Partition& partition) {
  if (!partition.finished) return partition.speed();
  const std::chrono::duration<double> time = partition.last - partition.init;
  return time.count() > 0 ? static_cast<double>(partition.done) / time.count() : 0;
}

std::string_view state_word(const balance::Partition& partition) {
  if (partition.finished) return "ended";
  return partition.started ? "runs" : "waits";
}

Result<Iterating> read_iterating(Table& table, const model::Job& job, WallTime now) {
  const IterativeJob iterative = iterative_job(job.id(), job.spec());
  Iterating found{.ledger = TRY(read_ledger(table, iterative, now)), .forecast = {}};
  // What it shows; or what has passed since, if our clock agrees with that of who began it.
  found.since = std::max(found.ledger.latest, now - found.ledger.begun);
  const balance::Task& task = found.ledger.ledger.task;
  const Millis left = iterative.finish_by ? *iterative.finish_by - now : balance::kNoDeadline;
  found.forecast = forecast(task, found.since, left);
  for (const balance::Partition& partition : task.partitions) {
    if (task.is_active(partition, found.since)) found.speed += partition.speed();
  }
  return found;
}

Result<ordered_json> status_json(Table& table, const Progress& progress, WallTime now) {
  ordered_json object = progress_json(progress);
  const model::Spec& spec = progress.job.spec();
  if (spec.finish_by_ms() > 0) object["finish_by_us"] = spec.finish_by_ms() * 1000;
  if (spec.has_iterations()) {
    const Iterating iterating = TRY(read_iterating(table, progress.job, now));
    object["iterations"] = iterating_json(iterating, has_ended(progress.standing.state));
  }
  return object;
}

}  // namespace dunlin
