#include "worker/mind/tasks.h"

#include <absl/container/flat_hash_set.h>
#include <algorithm>
#include <utility>

#include "base/check.h"

namespace dunlin::worker {

void Tasks::start(Running&& running, Assignment&& assignment) {
  assignment.ticket = ++last_ticket_;
  assignment.gpus = running.room.gpus();
  running_.emplace(assignment.ticket, std::move(running));
  effects_.start.push_back(std::move(assignment));
}

const Tasks::Running* Tasks::find(uint64_t ticket) const {
  const auto found = running_.find(ticket);
  return found == running_.end() ? nullptr : &found->second;
}

Tasks::Ended Tasks::end(Ending&& ending) {
  const auto found = running_.find(ending.ticket);
  Ended ended{std::move(found->second), std::move(ending)};
  running_.erase(found);
  return ended;
}

std::optional<Tasks::Ended> Tasks::uploaded(uint64_t ticket, const Result<void>& result) {
  const auto found = uploading_.find(ticket);
  if (found == uploading_.end()) return {};
  if (!result.ok()) found->second.trouble = result.error().what;
  if (--found->second.left > 0) return {};
  Uploading done = std::move(found->second);
  uploading_.erase(found);
  model::Outcome& outcome = done.ending.outcome;
  const bool kept = done.trouble.empty();
  for (const auto& [spool, output] : {std::pair(&done.ending.out_spool, outcome.mutable_out()),
                                      {&done.ending.err_spool, outcome.mutable_err()}}) {
    if (spool->empty()) continue;
    output->clear_bytes();
    output->set_where(kept ? model::Output::BLOB : model::Output::HERE);
    if (!kept) output->set_cut(output->cut() + output->size());
  }
  if (!kept) outcome.set_why("its output could not be stored: " + done.trouble);
  return end(std::move(done.ending));
}

void Tasks::drop_of(uint64_t held) {
  std::vector<uint64_t> tickets;
  for (const auto& [ticket, running] : running_) {
    if (running.held == held) tickets.push_back(ticket);
  }
  std::ranges::sort(tickets);
  for (const uint64_t ticket : tickets) {
    effects_.drop.push_back(ticket);
    running_.erase(ticket);
    uploading_.erase(ticket);
  }
}

std::map<uint64_t, std::vector<uint64_t>> Tasks::drop_all() {
  std::map<uint64_t, std::vector<uint64_t>> tasks;
  for (const auto& [ticket, running] : running_) {
    effects_.drop.push_back(ticket);
    tasks[running.held].push_back(running.task);
  }
  std::ranges::sort(effects_.drop);
  for (auto& [held, list] : tasks) std::ranges::sort(list);
  running_.clear();
  uploading_.clear();
  return tasks;
}

Instant Tasks::last_start() const {
  Instant last = running_.begin()->second.since;
  for (const auto& [ticket, running] : running_) last = std::max(last, running.since);
  return last;
}

// A task that was dropped before anybody took it never starts.
Tasks::Effects Tasks::take() {
  if (!effects_.drop.empty() && !effects_.start.empty()) {
    const absl::flat_hash_set<uint64_t> dropped(effects_.drop.begin(), effects_.drop.end());
    std::erase_if(effects_.start,
                  [&](const Assignment& one) { return dropped.contains(one.ticket); });
  }
  return std::exchange(effects_, Effects());
}

void Tasks::check() const {
  for (const auto& [ticket, running] : running_) CHECK(ticket <= last_ticket_);
  for (const auto& [ticket, uploading] : uploading_) {
    CHECK(running_.contains(ticket) && uploading.left > 0);
  }
}

}  // namespace dunlin::worker
