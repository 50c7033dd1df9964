#include "bench/bench_client.h"

#include <fmt/format.h>
#include <utility>

#include "base/env_posix.h"
#include "bench/hub_process.h"
#include "model/jobs/submit.h"
#include "model/keys.h"
#include "model/rows.h"
#include "stores/open.h"
#include "worker/process/stamps.h"

namespace dunlin::bench {
namespace {

constexpr Millis kPatience = Millis(20'000);

}  // namespace

Result<void> put_route(Store& store) {
  const model::Route route = route_of(TRY(make_job({}, {}, "id", 0, 1)).spec);
  const auto put =
      store.table().put(kRoutes, {queue_of(route), route.SerializeAsString(), kAnyVersion});
  return put.ok() ? Result<void>() : put.error();
}

BenchClient::BenchClient(std::unique_ptr<RequestStore> store)
    : store_(std::move(store)),
      hub_(dynamic_cast<stores::HubStore*>(store_.get())),
      random_(random_seed()),
      name_(make_job_id(random_, posix_clock().wall())),
      replies_("reply." + name_) {}

Result<std::unique_ptr<BenchClient>> BenchClient::connect(const std::string& url,
                                                          const std::string& token_file) {
  return std::make_unique<BenchClient>(
      TRY(stores::open_store(url, {.token_file = token_file, .make = false})));
}

uint64_t BenchClient::post(Request&& request) {
  if (hub_ != nullptr) return hub_->post(std::move(request));
  const uint64_t id = answers_.size() + 1;
  answers_.emplace(id, store_->ask(std::move(request)));
  return id;
}

Answer BenchClient::await(uint64_t id) {
  if (hub_ != nullptr) return hub_->await(id);
  return std::move(answers_.extract(id).mapped());
}

std::string BenchClient::next_id() { return fmt::format("{}.{}", name_, ++made_); }

std::optional<uint64_t> BenchClient::post_finish() {
  std::optional<Finish> finish = replies_.finish();
  if (!finish) return std::nullopt;
  return post(Commit{0, {std::move(*finish)}});
}

Result<void> BenchClient::await_commit(uint64_t id) {
  const Answer answer = await(id);
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  return {};
}

Result<std::vector<model::Reply>> BenchClient::await_replies(uint64_t id) {
  const Answer answer = await(id);
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  return replies_.read(std::get<Deliveries>(answer).deliveries);
}

Result<void> BenchClient::submit(const std::string& id, WorkJob job) {
  job.spec.set_reply(replies_.name());
  job.spec.set_created_us(worker::wall_us());
  const SubmitOptions options = {
      .id = id, .blobs = std::move(job.blobs), .fresh = true, .route_known = true};
  TRY(dunlin::submit(*store_, std::move(job.spec), options));
  return {};
}

Result<std::vector<model::Reply>> BenchClient::replies(Millis wait) {
  const std::optional<uint64_t> finished = post_finish();
  const uint64_t pulled = post_pull(wait);
  if (finished) TRY(await_commit(*finished));
  return await_replies(pulled);
}

Result<model::Reply> BenchClient::round_trip(const std::string& id, WorkJob job) {
  // A store that is asked one thing at a time would wait for the reply of a job that is not there.
  std::optional<uint64_t> pulled;
  if (hub_ != nullptr) pulled = post_pull(kPatience);
  TRY(submit(id, std::move(job)));
  if (!pulled) pulled = post_pull(kPatience);
  std::vector<model::Reply> replies = TRY(await_replies(*pulled));
  if (replies.size() != 1 || replies[0].job() != id) {
    return Error{Code::unavailable, fmt::format("{} replies came back for the one task of job {}",
                                                replies.size(), id)};
  }
  return std::move(replies[0]);
}

Result<void> BenchClient::finish() {
  const std::optional<uint64_t> finished = post_finish();
  if (!finished) return {};
  return await_commit(*finished);
}

void Tally::expect(const std::string& job, uint64_t tasks) {
  jobs_.try_emplace(job, tasks, ResultFollower(job, tasks));
  expected_ += tasks;
}

Result<void> Tally::add(const model::Reply& reply) {
  const auto found = jobs_.find(reply.job());
  const uint64_t tasks = found == jobs_.end() ? 0 : found->second.tasks;
  uint64_t outcomes = 0;
  for (const auto& part : reply.parts()) {
    for (const model::Outcome& outcome : part.outcomes().outcomes()) {
      ++outcomes;
      const uint64_t task = part.page() * kPageTasks + outcome.offset();
      if (task < tasks) continue;
      return Error{Code::invalid,
                   fmt::format("task {} of job {} was not asked for", task, reply.job())};
    }
  }
  if (found == jobs_.end()) return {};
  ResultFollower& follower = found->second.follower;
  const uint64_t before = follower.taken();
  TRY(follower.add(reply, [&](const TaskResult& result) -> Result<void> {
    if (result.outcome.state() == model::STATE_OK) return {};
    return Error{Code::invalid, fmt::format("task {} of job {} did not end well: {}", result.task,
                                            reply.job(), result.outcome.why())};
  }));
  counted_ += follower.taken() - before;
  repeated_ += outcomes - (follower.taken() - before);
  return {};
}

}  // namespace dunlin::bench
