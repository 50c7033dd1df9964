#include "bench/bench_client.h"

#include <fmt/format.h>
#include <utility>

#include "backends/open.h"
#include "base/env_posix.h"
#include "bench/hub_process.h"
#include "model/keys.h"
#include "model/rows.h"
#include "model/submit.h"
#include "worker/stamps.h"

namespace dunlin::bench {
namespace {

constexpr size_t kRepliesPerPull = 256;
constexpr Millis kHold = Millis(60'000);
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
      hub_(dynamic_cast<HubStore*>(store_.get())),
      random_(random_seed()),
      name_(make_job_id(random_, posix_clock().wall())) {}

Result<std::unique_ptr<BenchClient>> BenchClient::connect(const std::string& url,
                                                          const std::string& token_file) {
  return std::make_unique<BenchClient>(
      TRY(open_store(url, {.token_file = token_file, .make = false})));
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

std::vector<Write> BenchClient::take_finishes() {
  if (read_.empty()) return {};
  return {Finish{"reply." + name_, std::exchange(read_, {})}};
}

uint64_t BenchClient::post_job(const std::string& id, model::Spec&& spec) {
  model::Job job;
  job.set_id(id);
  job.set_queue(queue_of(route_of(spec)));
  *job.mutable_spec() = std::move(spec);
  job.mutable_spec()->set_reply("reply." + name_);
  job.mutable_spec()->set_created_us(wall_us());
  std::vector<Write> writes = take_finishes();
  writes.emplace_back(Put{std::string(kJobs), id, job.SerializeAsString(), 0});
  writes.emplace_back(Push{job.queue(), first_messages(job, job.spec().created_us())});
  return post(Commit{random_.next(), std::move(writes)});
}

uint64_t BenchClient::post_pull(Millis wait) {
  return post(Pull{.queue = "reply." + name_, .max = kRepliesPerPull, .hold = kHold, .wait = wait});
}

Result<void> BenchClient::await_commit(uint64_t id) {
  const Answer answer = await(id);
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  return {};
}

Result<std::vector<model::Reply>> BenchClient::await_replies(uint64_t id) {
  const Answer answer = await(id);
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  std::vector<model::Reply> replies;
  for (const dunlin::Delivery& delivery : std::get<Deliveries>(answer).deliveries) {
    read_.push_back(delivery.lease);
    if (!replies.emplace_back().ParseFromString(delivery.body)) {
      return Error{Code::corrupt, fmt::format("the reply {} cannot be read", delivery.lease.id)};
    }
  }
  return replies;
}

Result<void> BenchClient::submit(const std::string& id, WorkJob job) {
  TRY(validate_spec(job.spec));
  for (const NamedBlob& blob : job.blobs) {
    TRY(store_->blobs().put(blob.name, blob.size, blob.source));
  }
  return await_commit(post_job(id, std::move(job.spec)));
}

Result<std::vector<model::Reply>> BenchClient::replies(Millis wait) {
  std::vector<Write> finishes = take_finishes();
  if (finishes.empty()) return await_replies(post_pull(wait));
  const uint64_t finished = post(Commit{0, std::move(finishes)});
  const uint64_t pulled = post_pull(wait);
  TRY(await_commit(finished));
  return await_replies(pulled);
}

Result<model::Reply> BenchClient::round_trip(const std::string& id, model::Spec spec) {
  const uint64_t submitted = post_job(id, std::move(spec));
  const uint64_t pulled = post_pull(kPatience);
  TRY(await_commit(submitted));
  std::vector<model::Reply> replies = TRY(await_replies(pulled));
  if (replies.size() != 1 || replies[0].job() != id) {
    return Error{Code::unavailable, fmt::format("{} replies came back for the one task of job {}",
                                                replies.size(), id)};
  }
  return std::move(replies[0]);
}

void Tally::expect(const std::string& job, uint64_t tasks) {
  seen_[job].resize(tasks);
  expected_ += tasks;
}

Result<void> Tally::add(const model::Reply& reply) {
  for (const auto& part : reply.parts()) {
    for (const model::Outcome& outcome : part.outcomes().outcomes()) {
      TRY(add(reply.job(), part.page() * kPageTasks + outcome.offset(), outcome));
    }
  }
  return {};
}

Result<void> Tally::add(const std::string& job, uint64_t task, const model::Outcome& outcome) {
  const auto found = seen_.find(job);
  if (found == seen_.end() || task >= found->second.size()) {
    return Error{Code::invalid, fmt::format("task {} of job {} was not asked for", task, job)};
  }
  if (outcome.state() != model::STATE_OK) {
    return Error{Code::invalid,
                 fmt::format("task {} of job {} did not end well: {}", task, job, outcome.why())};
  }
  std::vector<bool>::reference seen = found->second[task];
  ++(seen ? repeated_ : counted_);
  seen = true;
  return {};
}

}  // namespace dunlin::bench
