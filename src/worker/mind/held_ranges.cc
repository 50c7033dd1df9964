#include "worker/mind/held_ranges.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/check.h"

namespace dunlin::worker {

bool Held::is_done(uint64_t settles) const {
  return phase_ == Phase::ready && !isolate && next_ == last_ &&
         settled + settles == last_ - first_ && bits.empty();
}

HeldRanges::HeldRanges(Millis hold, Asks& asks, Jobs& jobs, Tasks& tasks, Routes& routes)
    : hold_(hold), asks_(asks), jobs_(jobs), tasks_(tasks), routes_(routes) {}

// The only place where bounds and phases change, so that the sum is always right.
void HeldRanges::change(Held& held, uint64_t next, uint64_t last, Phase phase) {
  CHECK(held.first_ <= next && next <= last);
  unstarted_ -= held.unstarted();
  held.next_ = next;
  held.last_ = last;
  held.phase_ = phase;
  unstarted_ += held.unstarted();
}

Held& HeldRanges::add(const std::string& queue, const Delivery& delivery, Instant valid_until) {
  if (delivery.attempt > 1) {  // It may be our own, whose lease ended before we noticed.
    const auto old = std::ranges::find_if(all_, [&](const auto& one) {
      return one.second.lease.id == delivery.lease.id && one.second.queue == queue;
    });
    if (old != all_.end()) forget(old->first);
  }
  const uint64_t id = ++last_id_;
  Held& held = all_[id];
  held.id = id;
  held.queue = queue;
  held.lease = delivery.lease;
  held.valid_until = valid_until;
  by_lease_[{held.lease.id, held.lease.token}] = id;
  held.received_us = asks_.now().wall_us;
  held.received_at = asks_.now().at;
  return held;
}

void HeldRanges::assign(Held& held, JobView& job, uint64_t last) {
  held.job = Pin(job);
  ++job.held;
  held.first_ = held.next_ = held.range.first();
  held.last_ = std::clamp(last, held.first_, held.range.last());
}

void HeldRanges::assign_nothing(Held& held) {
  held.is_range = false;
  held.job = Pin(nothing_);
  ++nothing_.held;
  look_at(held.id);
}

Held* HeldRanges::find(uint64_t id) {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : &found->second;
}

Held* HeldRanges::find(const Lease& lease) {
  const auto found = by_lease_.find({lease.id, lease.token});
  return found == by_lease_.end() ? nullptr : find(found->second);
}

void HeldRanges::skip_next(Held& held) {
  take_next(held);
  ++held.settled;
}

void HeldRanges::cut_to_job(Held& held) {
  if (!held.job->ready) return;
  const uint64_t last = std::clamp(held.job->spec().tasks(), held.next_, held.last_);
  change(held, held.next_, last, held.phase_);
}

void HeldRanges::shorten(Held& held, uint64_t last) {
  CHECK(held.phase_ == Phase::ready && last >= held.next_ && last <= held.last_);
  if (last - held.first_ >= 2 * kPageTasks) {
    last = std::max(last / kPageTasks * kPageTasks, held.next_);
  }
  if (last == held.last_) return;
  model::Range tail = held.range;
  tail.set_first(last);
  tail.set_last(held.last_);
  // A message that is still held keeps its id: the copy needs another one.
  tail.set_attempt(held.attempt + (last == held.first_ ? 1 : 0));
  tail.set_lost(held.range.alone() ? held.lost : 0);
  tail.set_seen(held.seen);
  // As old as the range, as long as nobody has looked whether its job has ended.
  if (!held.old || held.job->end_read) tail.set_sent_us(asks_.now().wall_us);
  // A spec that we have not read yet is not in it: whoever gets the tail reads the job's row, too.
  if (held.job->ready) embed_spec(tail, held.job->spec());
  change(held, held.next_, last, Phase::splitting);
  std::vector<Write> writes;
  writes.emplace_back(Push{held.queue, {{range_id(tail), tail.SerializeAsString()}}});
  writes.emplace_back(keep(held, last));
  asks_.commit(std::move(writes), [this, id = held.id, sent = asks_.now().at](Answer&& answer) {
    Held* range = find(id);
    if (range == nullptr) return;
    // If not: somebody else has the message. The next renewal would say so, too.
    if (!std::holds_alternative<Committed>(answer)) return forget(id);
    routes_.something_pushed();
    kept(*range, sent);
  });
}

// Stands in every commit that gives tasks of a held range away: it conflicts if the lease is not
// ours any more, and so does a copy of the commit, however late it comes.
Keep HeldRanges::keep(const Held& held, uint64_t last) const {
  model::Note note;
  note.set_last(last);
  return {held.queue, held.lease, held.step_, note.SerializeAsString(), hold_};
}

void HeldRanges::kept(Held& held, Instant sent) {
  ++held.step_;
  make_ready(held);
  held.valid_until = std::max(held.valid_until, sent + hold_);
  look_at(held.id);
}

void HeldRanges::not_committed(Held& held) {
  make_ready(held);
  look_at(held.id);
}

void HeldRanges::look_at_all_of(const JobView& job) {
  for (const auto& [id, held] : all_) {
    if (held.job.get() == &job) look_at(id);
  }
}

// Leases are kept by the agent, however long a task runs. Those that are lost belong to somebody
// else now: their tasks are stopped.
void HeldRanges::renew_all() {
  std::map<std::string, std::vector<Lease>> by_queue;
  for (const auto& [id, held] : all_) by_queue[held.queue].push_back(held.lease);
  for (auto& [queue, leases] : by_queue) {
    for (size_t from = 0; from < leases.size(); from += kBatchMax) {
      const size_t count = std::min(kBatchMax, leases.size() - from);
      const auto begin = leases.begin() + static_cast<std::ptrdiff_t>(from);
      renew(queue, {begin, begin + static_cast<std::ptrdiff_t>(count)}, [] {});
    }
  }
}

void HeldRanges::keep_renewing() {
  asks_.later(hold_ / 3, [this] {
    renew_all();
    keep_renewing();
  });
}

void HeldRanges::renew_in_doubt() {
  if (renewing_ == 0) renew_all();
}

void HeldRanges::renew(const std::string& queue, std::vector<Lease> leases,
                       std::function<void()> then) {
  ++renewing_;
  Renew request{queue, leases, hold_};
  asks_.ask(std::move(request), [this, leases = std::move(leases), until = asks_.now().at + hold_,
                                 then = std::move(then)](Answer&& answer) {
    --renewing_;
    if (const auto* lost = std::get_if<Lost>(&answer)) {
      for (const Lease& lease : leases) {
        Held* held = find(lease);
        if (held == nullptr) continue;
        held->valid_until = until;
        look_at(held->id);  // What waited for this goes on.
      }
      for (const Lease& lease : lost->leases) lose(lease);
    }
    then();
  });
}

bool HeldRanges::in_doubt(const Held& held) {
  if (asks_.now().at < held.valid_until) return false;
  renew_in_doubt();
  return true;
}

void HeldRanges::lose(const Lease& lease) {
  const Held* held = find(lease);
  // One that is being finished may be gone because of that: the answer to the commit will tell.
  if (held != nullptr && !held->is_finishing()) forget(held->id);
}

void HeldRanges::forget(uint64_t id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  Held& held = found->second;
  abandon(held);
  --held.job->held;
  by_lease_.erase({held.lease.id, held.lease.token});
  all_.erase(found);
  to_look_at_.erase(id);
}

void HeldRanges::abandon(Held& held) {
  tasks_.drop_of(held.id);
  change(held, held.last_, held.last_, held.phase_);
  for (auto& [number, view] : held.job->pages) view.drop_of(held.id);
}

void HeldRanges::forget_pages(const Held& held) {
  auto& pages = held.job->pages;
  for (auto at = pages.lower_bound(page_of(held.first_)); at != pages.end(); ++at) {
    if (at->first * kPageTasks >= held.last_) break;
    at->second.known = false;
    ++at->second.era;
  }
}

void HeldRanges::open_again(JobView& job, uint32_t round) {
  job.round = round;
  job.ended = job.released = false;
  job.end_read = job.end_there = false;
  job.nodes.clear();
  job.full.clear();
  for (auto& [number, view] : job.pages) {
    view.known = false;
    ++view.era;
  }
  for (auto& [id, held] : all_) {
    if (held.job.get() != &job) continue;
    abandon(held);
    look_at(id);
  }
}

void HeldRanges::end(JobView& job) {
  job.end_there = true;
  if (std::exchange(job.ended, true)) return;
  jobs_.remember_end(job);
  for (auto& [id, held] : all_) {
    if (held.job.get() != &job) continue;
    abandon(held);
    look_at(id);
  }
}

void HeldRanges::see_damage() { bad_until_ = asks_.now().at + 2 * kBadRowWait; }

bool HeldRanges::is_stuck(const Held& held) const {
  if (asks_.now().at >= bad_until_) return false;
  if (!held.job->ready) return held.job->damaged;
  const auto page = held.job->pages.find(page_of(held.next_));
  return page != held.job->pages.end() && page->second.bad;
}

uint64_t HeldRanges::stuck_tasks() const {
  uint64_t tasks = 0;
  if (asks_.now().at >= bad_until_) return tasks;
  for (const auto& [id, held] : all_) {
    if (held.unstarted() > 0 && is_stuck(held)) tasks += held.unstarted();
  }
  return tasks;
}

void HeldRanges::forget_stuck() {
  std::set<uint64_t> stuck;
  for (const auto& [job, view] : jobs_.all()) {
    for (const auto& [number, page] : view->pages) {
      if (!page.bad) continue;
      for (const auto& one : page.outcomes) stuck.insert(one.held);
      for (const auto& one : page.moves) stuck.insert(one.held);
      for (const auto& one : page.claims) stuck.insert(one.held);
    }
  }
  for (const uint64_t id : stuck) forget(id);
}

std::string HeldRanges::describe() const {
  constexpr std::array<const char*, 4> kWords{"resting", "ready", "splitting", "finishing"};
  std::string text;
  for (const auto& [id, held] : all_) {
    text += fmt::format("  {}: [{}, {}) next={} settled={} attempt={} lost={} bits={} {}{}{}{}\n",
                        held.lease.id, held.first_, held.last_, held.next_, held.settled,
                        held.attempt, held.lost, held.bits.size(),
                        kWords.at(static_cast<size_t>(held.phase_)), held.seen ? " seen" : "",
                        held.isolate ? " isolate" : "", held.job->ended ? " ended" : "");
  }
  return text;
}

void HeldRanges::check() const {
  uint64_t unstarted = 0;
  std::map<const JobView*, uint64_t> by_job;
  for (const auto& [id, held] : all_) {
    CHECK(held.id == id && id <= last_id_);
    CHECK(held.first_ <= held.next_ && held.next_ <= held.last_);
    unstarted += held.unstarted();
    ++by_job[held.job.get()];
    const auto known = by_lease_.find({held.lease.id, held.lease.token});
    CHECK(known != by_lease_.end() && known->second == id);
    CHECK((held.job.get() == &nothing_) == !held.is_range);
    if (!held.is_range || held.is_over()) {
      CHECK(held.next_ == held.first_ || held.next_ == held.last_);
      continue;
    }
    CHECK(held.settled <= held.next_ - held.first_);
    for (const uint64_t page : held.bits) CHECK(held.job->full.contains(page));
  }
  CHECK(unstarted == unstarted_);
  CHECK(by_lease_.size() == all_.size());
  for (const auto& [job, view] : jobs_.all()) CHECK(view->held == by_job[view.get()]);
  CHECK(nothing_.held == by_job[&nothing_]);
  CHECK(asks_.open_of<Renew>() >= renewing_);
}

}  // namespace dunlin::worker
