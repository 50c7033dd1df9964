// The receiving thread of a link.
#include <algorithm>
#include <utility>

#include "base/env_posix.h"
#include "base/log.h"
#include "model/keys.h"
#include "model/rows.h"
#include "sdk/convert.h"
#include "sdk/link.h"

namespace dunlin::sdk {
namespace {

constexpr size_t kRepliesPerFinish = 1000;
constexpr Millis kPullWait = Millis(10'000);
constexpr Millis kLookEvery = Millis(1000);
constexpr uint64_t kLooksPerCheck = 30;
constexpr Millis kFarewell = Millis(500);

bool is_final(dunlin::Code code) {
  return code != dunlin::Code::unavailable && code != dunlin::Code::full &&
         code != dunlin::Code::conflict;
}

}  // namespace

void Link::receive() {
  ask_for_replies();
  Instant look_due = posix_clock().now() + kLookEvery;
  while (true) {
    std::vector<NumberedAnswer> answers = async_store_->gather(look_due, waker_.descriptor());
    waker_.calm();
    for (NumberedAnswer& answer : answers) answered(std::move(answer));
    bool now = posix_clock().now() >= look_due;
    {
      const std::lock_guard lock(mutex_);
      if (closing_) break;
      now = std::exchange(look_now_, false) || now;
    }
    if (replies_.unfinished() >= kRepliesPerFinish) finish_replies();
    if (!now) continue;
    finish_replies();
    look();
    if (pull_ == 0) ask_for_replies();
    look_due = posix_clock().now() + kLookEvery;
  }
  // So that the hub need not keep them. If it does not answer, so be it.
  if (replies_.unfinished() == 0) return;
  finish_replies();
  async_store_->gather(posix_clock().now() + kFarewell, -1);
}

void Link::ask_for_replies() {
  pull_ = ++posted_;
  async_store_->post(pull_, replies_.pull(kPullWait));
}

void Link::finish_replies() {
  std::optional<Finish> finish = replies_.finish();
  if (!finish) return;
  async_store_->post(++posted_,
                     Commit{std::max<uint64_t>(nonces_.next(), 1), {std::move(*finish)}});
}

void Link::answered(NumberedAnswer&& answer) {
  // That of a finish does not matter: a reply that comes again is known.
  if (answer.id != pull_) return;
  pull_ = 0;
  if (const auto* error = std::get_if<dunlin::Error>(&answer.answer)) {
    if (is_final(error->code)) give_up(*error);
    return;  // Asked again after the next look.
  }
  const auto* replies = std::get_if<Deliveries>(&answer.answer);
  if (replies == nullptr) return;
  ask_for_replies();  // While we look at these.
  std::vector<std::shared_ptr<Followed>> touched;
  for (const auto& reply : replies_.read(replies->deliveries)) take_reply(reply, touched);
  for (const auto& job : touched) hand_over(*job);
}

std::shared_ptr<Followed> Link::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = jobs_.equal_range(id);
  const auto found = std::find_if(first, last, [](const auto& one) { return one.second->ours; });
  return found == last ? nullptr : found->second;
}

void Link::take_reply(const model::Reply& reply, std::vector<std::shared_ptr<Followed>>& touched) {
  const std::shared_ptr<Followed> job = find(reply.job());
  if (job == nullptr) return;
  job->quiet = false;
  if (job->unfetched.empty()) touched.push_back(job);
  const auto take = [&](const dunlin::TaskResult& result) -> Result<void> {
    job->unfetched.push_back(result);
    return {};
  };
  const auto added = job->follower.add(reply, take);
  if (!added.ok()) log::warning("cannot use a reply job={}: {}", job->id, added.error().what);
}

void Link::look() {
  std::vector<std::shared_ptr<Followed>> quiet;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, job] : jobs_) {
      if (std::exchange(job->quiet, true)) quiet.push_back(job);
    }
  }
  if (quiet.empty()) return;
  std::vector<std::string> ids;
  ids.reserve(quiet.size());
  for (const auto& job : quiet) ids.push_back(job->id);
  const auto standings = call([&](Store& store) { return read_standings(store.table(), ids); });
  if (!standings.ok()) return;  // Again in a second.
  for (size_t i = 0; i < quiet.size(); ++i) look_at(*quiet[i], standings.value()[i]);
  if (++looks_ % kLooksPerCheck == 0) look_for_removed(quiet);
}

// Jobs that were removed before we saw their end.
void Link::look_for_removed(const std::vector<std::shared_ptr<Followed>>& quiet) {
  for (const auto& job : quiet) {
    if (job->ended) continue;
    const auto there = call([&](Store& store) { return read_job(store.table(), job->id); });
    if (there.ok() || there.error().code != dunlin::Code::not_found) continue;
    {
      const std::lock_guard lock(mutex_);
      job->trouble = public_error(there.error());
    }
    job->ended = true;
    hand_over(*job);
  }
}

// Its end was read first: what is there after it is all there will be.
void Link::look_at(Followed& job, const Standing& standing) {
  const bool ended = has_ended(standing.state);
  if (ended || !job.ours) {
    const auto take = [&](const dunlin::TaskResult& result) -> Result<void> {
      job.unfetched.push_back(result);
      return {};
    };
    const auto looked = call([&](Store& store) { return job.follower.look(store.table(), take); });
    if (!looked.ok() && !is_final(looked.error().code)) return;
    if (!looked.ok()) {
      const std::lock_guard lock(mutex_);
      job.trouble = public_error(looked.error());
    }
    job.ended = ended || !looked.ok();
  }
  hand_over(job);
}

// Outputs that are rows are fetched here, all at once, so that a result is whole when it is taken.
Result<std::vector<TaskResult>> Link::fetch(const Followed& job) {
  std::vector<TaskResult> results;
  std::vector<std::string> keys;
  std::vector<std::string TaskResult::*> fields;
  std::vector<size_t> indices;
  for (const dunlin::TaskResult& result : job.unfetched) {
    const model::Outcome& outcome = result.outcome;
    const auto want = [&](const model::Output& output, const char* which,
                          std::string TaskResult::*field) {
      if (output.where() != model::Output::ROW) return;
      keys.push_back(output_key(job.id, result.task, outcome.attempt(), which));
      fields.push_back(field);
      indices.push_back(results.size());
    };
    want(outcome.out(), "out", &TaskResult::output);
    want(outcome.err(), "err", &TaskResult::error_output);
    results.push_back(public_result(result));
  }
  if (keys.empty()) return results;
  std::vector<Row> rows =
      TRY(call([&](Store& store) { return get_rows(store.table(), kOutputs, keys); }));
  for (size_t i = 0; i < rows.size(); ++i) {
    results[indices[i]].*fields[i] = std::move(rows[i].value);
  }
  return results;
}

void Link::hand_over(Followed& job) {
  Result<std::vector<TaskResult>> results = fetch(job);
  if (!results.ok()) {
    job.quiet = true;  // Again after the next look.
    return;
  }
  job.unfetched.clear();
  const bool over = job.ended || job.follower.complete();
  bool unwanted = over;
  {
    const std::lock_guard lock(mutex_);
    for (TaskResult& result : std::move(results).value()) deliver(job, std::move(result));
    if (over) end(job);
    unwanted = unwanted || (!job.has_handle && job.promised.empty());
    changed_.notify_all();
  }
  if (unwanted) forget(job);
}

}  // namespace dunlin::sdk
