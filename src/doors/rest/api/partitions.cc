// Iterations for partitions whose programs cannot use descriptor 3 (docs/ITERATIVE.md).

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "doors/rest/api/api.h"
#include "doors/rest/api/calls.h"
#include "doors/rest/bodies/json_body.h"
#include "model/iterations/ledgers.h"
#include "model/jobs/progress.h"
#include "model/keys.h"
#include "model/rows.h"

namespace dunlin::rest {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

Error conflict(std::string what) { return {Code::conflict, std::move(what)}; }

constexpr Parameter kPartition = numbered("partition");

// {"attempt": 1, COUNT: 0}
struct Asked {
  uint32_t attempt = 0;
  uint64_t count = 0;
};
Result<Asked> read_asked(const json& body, std::string_view count) {
  const auto number = [&](std::string_view name, uint64_t least,
                          uint64_t most) -> Result<uint64_t> {
    const auto found = body.find(name);
    if (found != body.end() && found->is_number_unsigned()) {
      const auto value = found->get<uint64_t>();
      if (value >= least && value <= most) return value;
    }
    return Error{Code::invalid, fmt::format("{} must be a number of {} to {}", name, least, most)};
  };
  for (const auto& [name, value] : body.items()) {
    if (name == "attempt" || name == count) continue;
    return Error{Code::invalid,
                 fmt::format("there is no {} here: send attempt and {}", quote(name), count)};
  }
  return Asked{static_cast<uint32_t>(TRY(number("attempt", 1, UINT32_MAX))),
               TRY(number(count, 0, balance::kIterationsMax))};
}

// The partition of the path, of a job that is open.
Result<PartitionAttempt> find_partition(const Call& call, Table& table, uint32_t attempt) {
  const model::Job job = TRY(read_job(table, call.path("id"))).record;
  if (!job.spec().has_iterations()) {
    return conflict(fmt::format("job {} has no iterations", job.id()));
  }
  const uint64_t partition = number_in_path(call, kPartition.name);
  if (partition >= job.spec().tasks()) {
    return Error{Code::not_found,
                 fmt::format("there is no partition {}: the job has the partitions 0 to {}",
                             partition, job.spec().tasks() - 1)};
  }
  const JobState state = TRY(read_standings(table, {job.id()})).front().state;
  if (has_ended(state)) return conflict(fmt::format("job {} is {}", job.id(), state_word(state)));
  return PartitionAttempt{iterative_job(job.id(), job.spec()), partition, attempt};
}

Error given_up() {
  return conflict(
      "the partition was silent for too long, and other partitions have its iterations");
}

Error not_given(uint64_t said, uint64_t given) {
  return conflict(fmt::format("the partition was given {} iterations, not {}", given, said));
}

Result<void> post_next(Call& call, Store& store) {
  TRY(need_worker(store));
  const auto body = TRY(read_object(call));
  if (!body) return {};
  const Asked asked = TRY(read_asked(*body, "had"));
  Table& table = store.table();
  PartitionAttempt who = TRY(find_partition(call, table, asked.attempt));
  who.had = asked.count;
  const std::string worker = TRY(worker_of(table, who));
  const bool leaving =
      TRY(read_record<model::WorkerInfo>(table, kWorkers, worker)).record.draining();
  ServiceCache& cache = call.setting().cache;
  const std::unique_lock lock = cache.take_turns(who.job.id);
  const Looker looker{cache.ledger_clock(who.job.id), call.setting().clock};
  const balance::Turn turn = TRY(next_iterations(table, who, looker, leaving));
  if (turn.code != balance::Code::ok) {
    const Place place = TRY(find_place(table, who));
    return place.here && place.given == 0 ? given_up() : not_given(who.had, place.given);
  }
  ordered_json reply;
  if (turn.span) {
    reply["first"] = turn.span->first;
    reply["count"] = turn.span->size();
  } else if (turn.wait) {
    reply["wait_ms"] = kAskAgain.count();
  } else {
    reply["end"] = true;
  }
  return reply_json(call, 200, reply);
}

Result<void> post_leave(Call& call, Store& store) {
  TRY(need_worker(store));
  const auto body = TRY(read_object(call));
  if (!body) return {};
  const Asked asked = TRY(read_asked(*body, "done"));
  Table& table = store.table();
  const PartitionAttempt who = TRY(find_partition(call, table, asked.attempt));
  TRY(worker_of(table, who));
  ServiceCache& cache = call.setting().cache;
  const std::unique_lock lock = cache.take_turns(who.job.id);
  const Place place = TRY(find_place(table, who));
  if (!place.here)
    return conflict("the partition cannot leave, because it has not asked for iterations yet");
  // One that has left may say so again.
  if (place.ended ? asked.count != place.given : asked.count > place.given) {
    return not_given(asked.count, place.given);
  }
  if (!place.ended) {
    const Looker looker{cache.ledger_clock(who.job.id), call.setting().clock};
    const Left left = TRY(leave(table, who, asked.count, looker));
    if (left == Left::alone) {
      return conflict("nobody else is there to do the rest: go on, or fail and be started again");
    }
    if (left != Left::yes) return given_up();
  }
  return reply_json(call, 200, {{"end", true}});
}

constexpr std::string_view kNextBody = R"({"type":"object","properties":{
    "attempt":{"type":"integer","minimum":1,"maximum":4294967295,"examples":[1],
      "description":"DUNLIN_ATTEMPT of the partition"},
    "had":{"type":"integer","minimum":0,"maximum":4611686018427387904,"examples":[0],
      "description":"How many iterations it was given so far: all of them are done"}},
  "required":["attempt","had"],"additionalProperties":false})";

constexpr std::string_view kLeaveBody = R"({"type":"object","properties":{
    "attempt":{"type":"integer","minimum":1,"maximum":4294967295,"examples":[1],
      "description":"DUNLIN_ATTEMPT of the partition"},
    "done":{"type":"integer","minimum":0,"maximum":4611686018427387904,"examples":[0],
      "description":"How many it has done of those that it was given; others do the rest"}},
  "required":["attempt","done"],"additionalProperties":false})";

}  // namespace

void add_partition_routes(std::vector<Route>& routes) {
  routes.push_back(
      {.method = "POST",
       .pattern = "/jobs/{id}/partitions/{partition}/next",
       .summary = "The next iterations for a partition; the same question gets the same answer",
       .parameters = {kJobId, kPartition},
       .scope = "worker",
       .body_schema = kNextBody,
       .reply_schema = R"({"$ref":"#/components/schemas/Turn"})",
       .handler = post_next});
  routes.push_back({.method = "POST",
                    .pattern = "/jobs/{id}/partitions/{partition}/leave",
                    .summary = "End a partition with what it has done; others do the rest",
                    .parameters = {kJobId, kPartition},
                    .scope = "worker",
                    .body_schema = kLeaveBody,
                    .reply_schema = R"({"$ref":"#/components/schemas/Turn"})",
                    .handler = post_leave});
}

}  // namespace dunlin::rest
