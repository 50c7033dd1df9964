// Outcomes into pages, THE commit point; then the ranges are finished.

#include <absl/container/flat_hash_set.h>
#include <algorithm>
#include <bitset>
#include <fmt/format.h>
#include <utility>

#include "base/log.h"
#include "worker/worker.h"

namespace dunlin {
namespace {

constexpr size_t kDraftBytesMax = 4 << 20;
constexpr size_t kDraftWritesMax = 4000;
constexpr size_t kDraftPagesMax = 128;
constexpr size_t kReplyBytesMax = kValueMax - 1024;
constexpr Millis kPublishEvery = Millis(20);  // While more outcomes are on their way.

uint32_t worker_number(model::Page& page, const std::string& id) {
  for (int i = page.workers_size() - 1; i >= 0; --i) {
    if (page.workers(i) == id) return static_cast<uint32_t>(i);
  }
  page.add_workers(id);
  return static_cast<uint32_t>(page.workers_size() - 1);
}

}  // namespace

void WorkerMind::mark_dirty(Plan& plan, uint64_t page) {
  PageView& view = plan.pages[page];
  if (std::exchange(view.dirty, true)) return;
  dirty_.emplace_back(&plan, page);
  ++plan.busy;
}

// One commit is under way at a time; what ends meanwhile goes into the next.
void WorkerMind::publish() {
  if (publishing_ || (dirty_.empty() && to_finish_.empty())) return;
  if (now_.at < publish_after_ && !running_.empty() && dirty_.size() < kDraftPagesMax) {
    if (!std::exchange(publish_planned_, true)) {
      later(publish_after_ - now_.at, [this] { publish_planned_ = false; });
    }
    return;
  }
  Draft draft;
  std::vector<std::pair<Plan*, uint64_t>> left;
  for (const auto& [plan, number] : dirty_) {
    PageView& view = plan->pages[number];
    const bool room = draft.bytes < kDraftBytesMax && draft.writes.size() < kDraftWritesMax &&
                      draft.pages.size() < kDraftPagesMax;
    if (!room || view.asked) {  // It is being read.
      left.emplace_back(plan, number);
      continue;
    }
    draft_page(draft, *plan, number, view);
    view.dirty = false;
    --plan->busy;
    if (view.has_news()) {
      view.dirty = true;
      ++plan->busy;
      left.emplace_back(plan, number);
    }
  }
  dirty_ = std::move(left);
  draft_finishes(draft);
  if (draft.writes.empty()) return;
  publish_after_ = now_.at + kPublishEvery;
  send(std::move(draft));
}

void WorkerMind::draft_page(Draft& draft, Plan& plan, uint64_t number, PageView& view) {
  if (!view.has_news()) return;  // What was pending has been forgotten.
  Draft::Written written{&plan, number, view.page, false};
  std::bitset<kPageTasks> have;
  for (const model::Outcome& outcome : written.page.outcomes()) have.set(outcome.offset());
  model::Reply reply;
  const uint64_t first = number * kPageTasks;
  const uint32_t worker = worker_number(written.page, options_.id);

  Push pushes{plan.queue, {}};
  std::vector<PendingMove> moves = std::exchange(view.moves, {});
  for (PendingMove& move : moves) {
    const uint32_t offset = offset_of(move.range.first());
    const Held& held = held_.at(move.held);
    if (held.splitting) {  // Both change where the range ends: one after the other.
      view.moves.push_back(std::move(move));
      continue;
    }
    ++draft.settles[move.held];
    const bool ours = held.range.alone() || !view.is_moved(offset);
    if (!have.test(offset) && ours) {
      set_bit(*written.page.mutable_moved(), offset);
      pushes.messages.push_back({range_id(move.range), move.range.SerializeAsString()});
      // If somebody else holds the message by now, we conflict. Who gets the message of a single
      // task again must find nothing in it.
      const uint64_t last = held.range.alone() ? held.first : held.last;
      draft.fences.try_emplace(held.id, split_of(held, last));
    }
    draft.moves.push_back(std::move(move));
  }
  const bool only_once = plan.spec.delivery() == model::DELIVERY_AT_MOST_ONCE;
  for (const auto& [offset, id] : view.claims) {
    const Held& held = held_.at(id);
    if (have.test(offset) || (only_once && view.claims_of(offset) > 0)) {
      // Somebody else was first. If there is an outcome already, this one is dropped.
      --claiming_;
      PendingOutcome late = lost_outcome(held, "its worker was lost, and it may start only once");
      late.held = id;
      late.task = first + offset;
      late.outcome.set_offset(offset);
      view.outcomes.push_back(std::move(late));
      continue;
    }
    model::Claim& claim = *written.page.add_claims();
    claim.set_offset(offset);
    claim.set_attempt(held.attempt);
    claim.set_worker(options_.id);
    draft.claims.emplace_back(first + offset, id);
  }
  view.claims.clear();
  size_t taken = 0;
  for (PendingOutcome& pending : view.outcomes) {
    if (draft.bytes >= kDraftBytesMax) break;
    ++taken;
    const uint32_t offset = pending.outcome.offset();
    ++draft.settles[pending.held];
    if (have.test(offset)) {  // A duplicate.
      draft.outcomes.push_back(std::move(pending));
      continue;
    }
    model::Outcome* outcome = written.page.add_outcomes();
    have.set(offset);
    *outcome = pending.outcome;
    outcome->set_worker(worker);
    if (!plan.spec.reply().empty()) *reply.mutable_outcomes()->add_outcomes() = *outcome;
    draft.bytes += 64 + pending.out.size() + pending.err.size();
    for (const auto& [bytes, which] : {std::pair(&pending.out, "out"), {&pending.err, "err"}}) {
      if (bytes->empty()) continue;
      draft.writes.push_back(Put{std::string(kOutputs),
                                 output_key(plan.job, first + offset, outcome->attempt(), which),
                                 *bytes, kAnyVersion});
    }
    pending.is_new = true;
    draft.outcomes.push_back(std::move(pending));
  }
  view.outcomes.erase(view.outcomes.begin(),
                      view.outcomes.begin() + static_cast<std::ptrdiff_t>(taken));
  written.page.set_committed_us(now_.wall_us);
  written.full = is_full(written.page, number, plan.spec.tasks());
  if (!pushes.messages.empty()) draft.writes.push_back(std::move(pushes));
  Put put{std::string(kPages), page_key(plan.job, number), written.page.SerializeAsString(),
          view.version};
  draft.bytes += put.value.size();
  draft.writes.push_back(std::move(put));
  ++plan.busy;
  if (reply.outcomes().outcomes_size() > 0) {
    reply.set_job(plan.job);
    reply.set_page(number);
    for (const std::string& name : written.page.workers()) {
      reply.mutable_outcomes()->add_workers(name);
    }
    reply.mutable_outcomes()->set_committed_us(now_.wall_us);
    std::string body = reply.SerializeAsString();
    draft.bytes += body.size();
    if (body.size() <= kReplyBytesMax) {
      draft.replies.push_back(
          Push{plan.spec.reply(),
               {{fmt::format("{}.{}.{:x}", plan.job, number, random_.next()), std::move(body)}}});
    }
  }
  draft.pages.push_back(std::move(written));
}

bool WorkerMind::is_done(const Held& held, uint64_t settles) const {
  return held.adopted && !held.splitting && !held.finishing && !held.isolate &&
         held.next == held.last && held.settled + settles == held.last - held.first &&
         held.bits.empty();
}

// Ranges that are complete, or will be with this commit, are finished in it; those whose pages must
// first be entered into the tree are not. A job of one page ends here.
void WorkerMind::draft_finishes(Draft& draft) {
  for (Write& reply : draft.replies) draft.writes.push_back(std::move(reply));
  absl::flat_hash_set<const Plan*> wait;
  for (const Draft::Written& written : draft.pages) {
    Plan& plan = *written.plan;
    if (!written.full) continue;
    if (root_level(plan.spec.tasks()) > 0 || plan.marked) {
      wait.insert(&plan);
      continue;
    }
    if (plan.ended || plan.end_there) continue;
    draft_end(draft.writes, plan, counts_of(written.page));
    draft.ends.push_back(&plan);
  }
  std::map<std::string, std::vector<Lease>> leases;
  const auto finish = [&](Held& held) {
    held.finishing = true;
    draft.finished.push_back(held.id);
    leases[held.queue].push_back(held.lease);
    // A finish does not tell whether somebody else has finished the message long ago, so what moves
    // on needs its fence: the split's row is as we left it. If others held the message before us it
    // stays there, for a split or a move of theirs that is still on its way.
    if (held.again > 0) return;
    const bool fenced = draft.fences.erase(held.id) > 0;
    if (fenced || held.split_version != 0) {
      draft.writes.push_back(Erase{std::string(kSplits), held.lease.id, held.split_version});
    }
  };
  for (const auto& [id, count] : draft.settles) {
    Held* held = find(id);
    if (held != nullptr && is_done(*held, count) && !wait.contains(held->plan)) finish(*held);
  }
  size_t room = kDraftWritesMax;
  for (const uint64_t id : std::exchange(to_finish_, {})) {
    Held* held = find(id);
    if (held == nullptr || held->finishing) continue;
    if (room == 0) {
      to_finish_.insert(id);
      continue;
    }
    --room;
    finish(*held);
  }
  for (auto& [id, fence] : draft.fences) {
    held_.at(id).splitting = true;
    draft.writes.push_back(fence);
  }
  for (auto& [queue, list] : leases) draft.writes.push_back(Finish{queue, std::move(list)});
}

void WorkerMind::send(Draft&& draft) {
  publishing_ = true;
  std::vector<Write> writes = std::move(draft.writes);
  commit(std::move(writes), [this, draft = std::move(draft)](Answer&& answer) mutable {
    if (const auto* done = std::get_if<Committed>(&answer)) {
      publishing_ = false;
      published(draft, done->version);
    } else {
      collided(std::move(draft));
    }
  });
}

void WorkerMind::published(Draft& draft, uint64_t version) {
  for (Draft::Written& written : draft.pages) {
    Plan& plan = *written.plan;
    --plan.busy;
    if (written.full && (root_level(plan.spec.tasks()) > 0 || plan.marked)) {
      plan.full.emplace(written.number, counts_of(written.page));
    }
    PageView& view = plan.pages[written.number];
    view.page = std::move(written.page);
    view.version = version;
    view.known = true;
  }
  for (Plan* plan : draft.ends) {
    plan->end_there = true;
    end_plan(*plan);
  }
  for (PendingOutcome& pending : draft.outcomes) {
    ++(pending.outcome.state() == model::STATE_OK ? done_ : failed_);
    Held* held = find(pending.held);
    if (held == nullptr) continue;
    --held->pending;
    ++held->settled;
    const uint64_t page = page_of(pending.task);
    if (held->plan->full.contains(page)) held->bits.insert(page);
    settled_.insert(held->id);
    if (!options_.queue.empty() && pending.is_new) {
      if (!pending.out.empty()) pending.outcome.mutable_out()->set_bytes(std::move(pending.out));
      if (!pending.err.empty()) pending.outcome.mutable_err()->set_bytes(std::move(pending.err));
      effects_.published.push_back({held->plan->job, pending.task, std::move(pending.outcome)});
    }
  }
  if (!draft.moves.empty()) nothing_there_ = false;
  for (const PendingMove& move : draft.moves) {
    Held* held = find(move.held);
    if (held == nullptr) continue;
    --held->pending;
    ++held->settled;
    settled_.insert(held->id);
  }
  for (const auto& [id, fence] : draft.fences) {
    Held* held = find(id);
    if (held == nullptr) continue;
    held->split_version = version;
    held->splitting = false;
    settled_.insert(id);
  }
  for (const uint64_t id : draft.finished) forget(id);
  for (const auto& [task, held] : draft.claims) claimed(task, held);
  for (const Draft::Written& written : draft.pages) {
    const PageView& view = written.plan->pages[written.number];
    const bool idle = !view.has_news() && !view.dirty && !view.asked;
    if (written.full && idle) written.plan->pages.erase(written.number);
    climb(*written.plan);
    tidy(*written.plan);
  }
}

// Somebody else wrote one of the rows, or one of the leases ended. Everything is read again, then
// what is still ours is tried again.
void WorkerMind::collided(Draft&& draft) {
  recovering_ = 1;
  for (const auto& [id, fence] : draft.fences) {
    if (Held* held = find(id)) held->splitting = false;
    settled_.insert(id);
  }
  for (PendingOutcome& pending : draft.outcomes) {
    Held* held = find(pending.held);
    if (held == nullptr) continue;
    pending.is_new = false;
    const uint64_t page = page_of(pending.task);
    held->plan->pages[page].outcomes.push_back(std::move(pending));
    mark_dirty(*held->plan, page);
  }
  std::map<std::string, std::vector<Lease>> leases;
  for (PendingMove& move : draft.moves) {
    Held* held = find(move.held);
    if (held == nullptr) continue;
    leases[held->queue].push_back(held->lease);
    const uint64_t page = page_of(move.range.first());
    held->plan->pages[page].moves.push_back(std::move(move));
    mark_dirty(*held->plan, page);
  }
  for (const auto& [task, id] : draft.claims) {
    Held* held = find(id);
    if (held == nullptr) {
      --claiming_;
      continue;
    }
    held->plan->pages[page_of(task)].claims.emplace_back(offset_of(task), id);
    mark_dirty(*held->plan, page_of(task));
  }
  for (Draft::Written& written : draft.pages) {
    Plan& plan = *written.plan;
    --plan.busy;
    PageView& view = plan.pages[written.number];
    view.known = false;
    ++recovering_;
    read_page(plan, written.number, [this] { recovered(); });
  }
  for (Plan* plan : draft.ends) {
    ++recovering_;
    read_end(*plan, [this] { recovered(); });
  }
  for (const uint64_t id : draft.finished) {
    Held* held = find(id);
    if (held == nullptr) continue;
    held->finishing = false;
    settled_.insert(id);
    leases[held->queue].push_back(held->lease);
  }
  // A former holder that was late may have changed where our range ends: that is void, but its row
  // has another version.
  for (auto& [queue, list] : leases) {
    Get get{std::string(kSplits), {}};
    for (const Lease& lease : list) get.keys.push_back(lease.id);
    ++recovering_;
    ask(std::move(get), [this, list](Answer&& answer) {
      const auto* rows = std::get_if<Rows>(&answer);
      for (size_t i = 0; rows != nullptr && i < rows->rows.size(); ++i) {
        if (Held* held = find(list[i])) held->split_version = rows->rows[i].version;
      }
      recovered();
    });
  }
  for (auto& [queue, list] : leases) {
    ++recovering_;
    renew_leases(queue, std::move(list), [this] { recovered(); });
  }
  recovered();
}

void WorkerMind::recovered() {
  if (--recovering_ == 0) publishing_ = false;
}

void WorkerMind::read_page(Plan& plan, uint64_t number, std::function<void()> then) {
  PageView& view = plan.pages[number];
  if (view.asked && !then) return;
  view.asked = true;
  ask_for(plan, Get{std::string(kPages), {page_key(plan.job, number)}},
          [this, &plan, number, then = std::move(then)](Answer&& answer) {
            auto* rows = std::get_if<Rows>(&answer);
            if (rows != nullptr && !rows->rows.empty()) {
              page_read(plan, number, std::move(rows->rows[0]));
            }
            if (then) then();
          });
}

void WorkerMind::page_read(Plan& plan, uint64_t number, Row&& row) {
  PageView& view = plan.pages[number];
  view.asked = false;
  view.known = !std::exchange(view.outdated, false);
  view.version = row.version;
  view.page.Clear();
  if (row.version != 0 && !view.page.ParseFromString(row.value)) {
    failure_ =
        Error{Code::corrupt, fmt::format("page {} of job {} is not a page", number, plan.job)};
    return;
  }
  // Whoever made it full may have died before it told the tree.
  if (!plan.ready || !is_full(view.page, number, plan.spec.tasks())) return;
  bool ours = false;
  for (auto& [id, held] : held_) {
    const bool inside = held.plan == &plan && held.seen && page_of(held.first) <= number &&
                        held.first < held.last && number <= page_of(held.last - 1);
    if (!inside) continue;
    ours = true;
    held.bits.insert(number);
  }
  if (ours) plan.full.emplace(number, counts_of(view.page));
}

// Ranges of which nothing is left to do.
void WorkerMind::finish_done() {
  for (const uint64_t id : std::exchange(settled_, {})) {
    Held* held = find(id);
    if (held == nullptr) continue;
    if (held->plan == &plan_of_nothing_ || held->plan->ended) {
      close(*held);
      continue;
    }
    if (!held->bits.empty()) {
      climb(*held->plan);
    } else if (is_done(*held, 0) && !owes_release(*held->plan)) {
      to_finish_.insert(id);
    }
  }
}

// Its job has ended: whatever it still held is dropped.
void WorkerMind::close(Held& held) {
  if (held.finishing || held.splitting || held.reading || owes_release(*held.plan)) return;
  to_finish_.insert(held.id);
}

// Forgets what is not needed any more, when nobody looks at it.
void WorkerMind::sweep() {
  for (const std::string& job : std::exchange(untidy_, {})) {
    const auto found = plans_.find(job);
    if (found == plans_.end()) continue;
    const Plan& plan = *found->second;
    if (plan.held > 0 || plan.busy > 0) continue;
    if (plan.keep && *plan.keep > now_.at) {
      later(*plan.keep - now_.at, [this, job] { untidy_.insert(job); });
      continue;
    }
    plans_.erase(found);
  }
}

}  // namespace dunlin
