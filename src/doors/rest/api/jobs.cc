// /api/v1/jobs: submitting, listing, explaining, cancelling and retrying jobs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/env_posix.h"
#include "base/names.h"
#include "doors/rest/api/api.h"
#include "doors/rest/api/calls.h"
#include "doors/rest/bodies/job_body.h"
#include "doors/rest/bodies/json_body.h"
#include "model/iterations/iterations.h"
#include "model/jobs/steer.h"
#include "model/jobs/submit.h"
#include "model/owned.h"
#include "model/rows.h"
#include "model/views/explain.h"
#include "model/views/iterating.h"
#include "model/views/json.h"
#include "model/views/list_jobs.h"
#include "spec/read_back.h"
#include "spec/schema.h"
#include "wire/token_text.h"

namespace dunlin::rest {
namespace {

using nlohmann::ordered_json;

// The key may stand in the header, in the body, or in both if it is the same.
Result<void> set_key(const Call& call, SubmitOptions& options) {
  const std::string* header = call.head().header("idempotency-key");
  if (header == nullptr) return {};
  if (!is_name(*header)) {
    return Error{
        Code::invalid,
        fmt::format("the Idempotency-Key {} is not 1 to 64 characters of A-Z a-z 0-9 . _ -",
                    quote(*header))};
  }
  if (!options.key.empty() && options.key != *header) {
    return Error{Code::invalid, "the Idempotency-Key and the key in the body differ: send one"};
  }
  options.key = *header;
  return {};
}

Result<void> post_job(Call& call, Store& store) {
  TRY(need_submit(store));
  const auto body = TRY(read_object(call));
  if (!body) return {};
  Random random(random_seed());
  const std::string bound = owner_in_token(call.bearer().value_or(""));
  Submission draft =
      TRY(read_submission(*body, owned_job_id(make_job_id(random, call.now()), bound), call.now()));
  draft.spec.set_owner(TRY(
      choose_owner(bound, body->contains("owner") ? draft.spec.owner() : "", draft.spec.owner())));
  TRY(set_key(call, draft.options));
  if (draft.by_slots) TRY(fit_to_slots(store.table(), call.now(), draft.spec));
  const Submitted submitted = TRY(submit(store, draft.spec, draft.options));
  if (submitted.existed) draft.spec = TRY(read_job(store.table(), submitted.id)).record.spec();
  return call.reply({.status = submitted.existed ? 200 : 201,
                     .headers = {{"content-type", "application/json"},
                                 {"location", fmt::format("{}/jobs/{}", call.match().family->prefix,
                                                          submitted.id)}},
                     .body = json_text(submitted_json(submitted, draft.spec)) + "\n",
                     .length = {}});
}

Result<void> list_jobs(Call& call, Store& store) {
  const std::string* state = call.query("state");
  const std::string* owner = call.query("owner");
  const std::string* name = call.query("name");
  const std::string* after = call.query("after");
  const auto max = static_cast<size_t>(call.number("max", kPageDefault));
  const auto wanted = [&](const Listed& one) {
    return (state == nullptr || *state == state_word(one.standing.state)) &&
           (owner == nullptr || *owner == one.job.spec().owner()) &&
           (name == nullptr || *name == one.job.spec().name());
  };
  const auto jobs =
      TRY(newest_jobs(store.table(), call.now(), max, wanted, after == nullptr ? "" : *after));
  ordered_json reply;
  reply["jobs"] = ordered_json::array();
  for (const Listed& one : jobs) {
    const auto counts = read_counts(store.table(), one.job, one.standing);
    if (!counts.ok() && is_passed_over(counts.error())) continue;
    reply["jobs"].push_back(job_json(one.job, one.standing, TRY(counts)));
  }
  if (jobs.size() == max) reply["next"] = jobs.back().job.id();
  return reply_json(call, 200, reply);
}

Result<void> get_job(Call& call, Store& store) {
  const Progress progress = TRY(read_progress(store, call.path("id"), call.now()));
  ordered_json reply = TRY(status_json(store.table(), progress, call.now()));
  reply["spec"] = spec::spec_json(progress.job);
  return reply_json(call, 200, reply);
}

Result<void> explain(Call& call, Store& store) {
  return reply_json(call, 200,
                    explained_json(TRY(explain_job(store, call.path("id"), "", call.now()))));
}

Result<void> cancel(Call& call, Store& store) {
  TRY(need_submit(store));
  const std::string& id = call.path("id");
  TRY(read_job(store.table(), id));
  const auto before = TRY(cancel_job(store, id, to_us(call.now())));
  return reply_json(call, 200, cancelled_json(id, before));
}

Result<void> retry(Call& call, Store& store) {
  TRY(need_submit(store));
  const model::Job job = TRY(read_job(store.table(), call.path("id"))).record;
  const Retried retried = TRY(retry_failed(store, job.id(), to_us(call.now())));
  return reply_json(call, 200, retried_json(job, retried));
}

Parameter filter(std::string_view name, std::string_view summary) {
  return {.name = name, .least = 1, .most = 64, .summary = summary};
}

}  // namespace

Result<void> need_submit(Store& store) {
  // Nothing is changed here; but a token that may not submit may not even ask.
  TRY(store.queue().renew("reply.rest", {}, Millis(0)));
  return {};
}

Result<void> need_worker(Store& store) {
  TRY(store.queue().renew("rest", {}, Millis(0)));
  return {};
}

void add_job_routes(std::vector<Route>& routes) {
  routes.push_back(
      {.method = "POST",
       .pattern = "/jobs",
       .summary = "Submit a job; submitting again with the same key returns the existing job",
       .parameters = {{.name = "Idempotency-Key",
                       .in = In::header,
                       .least = 1,
                       .most = 64,
                       .summary = "The client's name for this submission, of A-Z a-z "
                                  "0-9 . _ -"}},
       .scope = "submit",
       .body_schema = spec::job_schema(),
       .reply_schema = R"({"$ref":"#/components/schemas/Submitted"})",
       .handler = post_job,
       .statuses = "201 200"});
  routes.push_back({.method = "GET",
                    .pattern = "/jobs",
                    .summary = "The jobs, newest first",
                    .parameters = {kMax,
                                   filter("after", "The id of the last job of the page before"),
                                   {.name = "state",
                                    .summary = "Only those",
                                    .choices = "waiting|open|done|failed|cancelled|skipped"},
                                   filter("owner", "Only theirs"),
                                   filter("name", "Only jobs with this name")},
                    .scope = "read",
                    .reply_schema = R"({"$ref":"#/components/schemas/Jobs"})",
                    .handler = list_jobs});
  routes.push_back({.method = "GET",
                    .pattern = "/jobs/{id}",
                    .summary = "The progress of a job",
                    .parameters = {kJobId},
                    .scope = "read",
                    .reply_schema = R"({"$ref":"#/components/schemas/Progress"})",
                    .handler = get_job});
  routes.push_back({.method = "GET",
                    .pattern = "/jobs/{id}/explain",
                    .summary = "Why a job is not making progress",
                    .parameters = {kJobId},
                    .scope = "read",
                    .reply_schema = R"({"$ref":"#/components/schemas/Explained"})",
                    .handler = explain});
  routes.push_back(
      {.method = "POST",
       .pattern = "/jobs/{id}/cancel",
       .summary = "Cancel a job: its running tasks stop within a second, and no more start",
       .parameters = {kJobId},
       .scope = "submit",
       .reply_schema = R"({"$ref":"#/components/schemas/Cancelled"})",
       .handler = cancel});
  routes.push_back({.method = "POST",
                    .pattern = "/jobs/{id}/retry",
                    .summary = "Run the failed tasks of a job that has ended again",
                    .parameters = {kJobId},
                    .scope = "submit",
                    .reply_schema = R"({"$ref":"#/components/schemas/Retried"})",
                    .handler = retry});
}

}  // namespace dunlin::rest
