// /api/v1/jobs/{id}/results and /tasks: how tasks have ended, and what they have written.
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "doors/rest/api/api.h"
#include "doors/rest/api/calls.h"
#include "doors/rest/bodies/json_body.h"
#include "model/jobs/results.h"
#include "model/keys.h"
#include "model/rows.h"
#include "model/views/json.h"

namespace dunlin::rest {
namespace {

constexpr Parameter kTask = numbered("task");
constexpr size_t kPageBytes = 4 << 20;        // After which a page of results ends.
constexpr uint64_t kTasksLookedAt = 100'000;  // For a page of those that failed.

Result<void> get_results(Call& call, Store& store) {
  const model::Job job = TRY(read_job(store.table(), call.path("id"))).record;
  const std::string* failed = call.query("failed");
  const bool failed_only = failed != nullptr && *failed == "true";
  const auto max = static_cast<size_t>(call.number("max", kPageDefault));
  const auto first = static_cast<uint64_t>(call.number("after", -1) + 1);
  const uint64_t tasks = job.spec().tasks();
  const uint64_t last = std::min(tasks, first + kTasksLookedAt);
  // As text, which is what it takes whatever the outcomes say of themselves.
  std::string reply = R"({"results":[)";
  size_t results = 0;
  std::optional<uint64_t> next;
  if (first < last) {
    ResultReader reader(store.table(), job.id(), first, last);
    while (!next) {
      const std::optional<TaskResult> result = TRY(reader.next());
      if (!result) break;
      if (failed_only && result->outcome.state() == model::STATE_OK) continue;
      if (results++ > 0) reply += ',';
      reply += json_text(TRY(result_json(store, job, *result)));
      TRY(call.take_memory(2 * reply.size()));
      if (results >= max || reply.size() >= kPageBytes) next = result->task;
    }
    if (!next && last < tasks) next = last - 1;
  }
  reply += ']';
  if (next && *next + 1 < tasks) reply += fmt::format(R"(,"next":{})", *next);
  return call.reply(200, "application/json", reply + "}\n");
}

struct Task {
  model::Job job = {};
  uint64_t number = 0;
  std::optional<TaskResult> result = {};
};
Result<Task> find_task(Call& call, Store& store) {
  Task task{.job = TRY(read_job(store.table(), call.path("id"))).record,
            .number = number_in_path(call, "task")};
  if (task.number >= task.job.spec().tasks()) {
    return Error{Code::not_found, fmt::format("there is no task {}: the job has the tasks 0 to {}",
                                              task.number, task.job.spec().tasks() - 1)};
  }
  ResultReader reader(store.table(), task.job.id(), task.number, task.number + 1);
  task.result = TRY(reader.next());
  return task;
}

Result<void> get_task(Call& call, Store& store) {
  const Task task = TRY(find_task(call, store));
  if (task.result) {
    return reply_json(call, 200, TRY(result_json(store, task.job, *task.result)));
  }
  const Standing standing = TRY(read_standings(store.table(), {task.job.id()})).front();
  const std::string_view state = has_ended(standing.state) ? "cancelled" : "waiting";
  return reply_json(call, 200, missing_json(task.job.id(), task.number, state));
}

Result<void> send_output(Call& call, Store& store, std::string_view which) {
  const Task task = TRY(find_task(call, store));
  if (!task.result) {
    return Error{Code::not_found,
                 fmt::format("task {} of job {} has no outcome yet", task.number, task.job.id())};
  }
  const model::Outcome& outcome = task.result->outcome;
  const model::Output& output = which == "err" ? outcome.err() : outcome.out();
  const uint64_t size =
      output.where() == model::Output::HERE ? output.bytes().size() : output.size();
  // Whether it is still there is known when the first bytes of it are.
  const auto begin = [&] {
    return call.begin(
        200, {{"content-type", "application/octet-stream"}, {"x-content-type-options", "nosniff"}},
        size);
  };
  const auto send = [&](std::string_view part) -> Result<void> {
    if (!call.begun()) TRY(begin());
    return call.send(part);
  };
  TRY(read_output(store, task.job.id(), task.number, outcome, which, send));
  if (!call.begun()) TRY(begin());
  return call.end();
}

Result<void> get_stdout(Call& call, Store& store) { return send_output(call, store, "out"); }
Result<void> get_stderr(Call& call, Store& store) { return send_output(call, store, "err"); }

}  // namespace

uint64_t number_in_path(const Call& call, std::string_view name) {
  const std::string& text = call.path(name);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void add_task_routes(std::vector<Route>& routes) {
  routes.push_back(
      {.method = "GET",
       .pattern = "/jobs/{id}/results",
       .summary = "The outcomes of a job's tasks, in their order; a page may be short",
       .parameters = {kJobId,
                      kMax,
                      {.name = "after",
                       .type = Type::number,
                       .least = 0,
                       .most = static_cast<int64_t>(kTasksMax),
                       .summary = "next, of the page before"},
                      {.name = "failed", .type = Type::flag, .summary = "Only those not ok"}},
       .scope = "read",
       .reply_schema = R"({"$ref":"#/components/schemas/Results"})",
       .handler = get_results});
  routes.push_back({.method = "GET",
                    .pattern = "/jobs/{id}/tasks/{task}",
                    .summary = "The outcome of a task",
                    .parameters = {kJobId, kTask},
                    .scope = "read",
                    .reply_schema = R"({"$ref":"#/components/schemas/Result"})",
                    .handler = get_task});
  for (const bool err : {false, true}) {
    routes.push_back(
        {.method = "GET",
         .pattern = err ? "/jobs/{id}/tasks/{task}/stderr" : "/jobs/{id}/tasks/{task}/stdout",
         .summary = err ? "What the task wrote to its standard error"
                        : "What the task wrote to its standard output",
         .parameters = {kJobId, kTask},
         .scope = "read",
         .handler = err ? get_stderr : get_stdout,
         .reply_type = "application/octet-stream"});
  }
}

}  // namespace dunlin::rest
