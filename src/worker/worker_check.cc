// Everything that a worker's mind counts as it goes, counted again from what it is derived from.

#include <algorithm>

#include "base/check.h"
#include "worker/worker.h"

namespace dunlin {

void WorkerMind::check() const {
  check_held();
  check_amounts();
  check_plans();
  check_requests();
}

void WorkerMind::check_held() const {
  uint64_t unstarted = 0;
  std::map<const JobView*, uint64_t> by_plan;
  for (const auto& [id, held] : held_) {
    CHECK(held.id == id && id <= last_held_);
    CHECK(held.first <= held.next && held.next <= held.last);
    CHECK(!(held.resting && held.adopted));
    CHECK(!(held.splitting && held.finishing));
    if (held.adopted) unstarted += held.last - held.next;
    ++by_plan[held.job.get()];
    const auto known = by_lease_.find({held.lease.id, held.lease.token});
    CHECK(known != by_lease_.end() && known->second == id);
    if (held.job.get() == &nothing_ || is_over(held)) {
      CHECK(held.next == held.first || held.next == held.last);
      continue;
    }
    CHECK(held.settled + held.pending == held.next - held.first);
    for (const uint64_t page : held.bits) CHECK(held.job->full.contains(page));
  }
  CHECK(unstarted == unstarted_);
  CHECK(by_lease_.size() == held_.size());
  for (const auto& [id, job] : jobs_.all()) CHECK(job->held == by_plan[job.get()]);
  CHECK(nothing_.held == by_plan[&nothing_]);
}

void WorkerMind::check_amounts() const {
  uint64_t cpus = 0;
  uint64_t mem = 0;
  uint64_t gpus = 0;
  uint64_t heavy = 0;
  for (const auto& [ticket, running] : tasks_.all()) {
    const auto held = held_.find(running.held);
    CHECK(held != held_.end());
    CHECK(held->second.first <= running.task && running.task < held->second.next);
    const model::Requirements& needs = held->second.job->spec().requires_();
    cpus += std::max(needs.cpus(), 1U);
    mem += needs.mem_bytes();
    gpus += needs.gpus();
    heavy += needs.cpus() > 1 || needs.mem_bytes() > 0 || needs.gpus() > 0 ? 1 : 0;
    CHECK(running.room.gpus().size() == needs.gpus());
  }
  CHECK(cpus == room_.cpus_used() && mem == room_.mem_used());
  CHECK(heavy == room_.heavy() && gpus == room_.gpus_used());
  tasks_.check();
}

void WorkerMind::check_plans() const {
  uint64_t claims = sent_ ? sent_->claims.size() : 0;
  std::map<uint64_t, uint64_t> pending;  // By held range.
  const auto count = [&](const auto& list) {
    for (const auto& one : list) ++pending[one.held];
  };
  std::set<std::pair<const JobView*, uint64_t>> dirty;
  for (const auto& [id, job] : jobs_.all()) {
    CHECK(job->id == id);
    uint64_t pins = 0;
    for (const auto& [number, view] : job->pages) {
      CHECK(view.dirty || !view.has_news());
      CHECK(!view.bad || !view.known);
      if (view.dirty) dirty.insert({job.get(), number});
      pins += view.dirty ? 1 : 0;
      claims += view.bad ? 0 : view.claims.size();
      count(view.outcomes);
      count(view.moves);
      count(view.claims);
    }
    pins += (job->climbing ? 1 : 0) + (job->releasing ? 1 : 0);
    if (sent_)
      pins += std::ranges::count_if(
          sent_->pages, [&](const auto& written) { return written.job.get() == job.get(); });
    CHECK(job->pins() >= pins);
  }
  CHECK(claims == room_.claimed());
  CHECK(dirty.size() == dirty_.size());
  for (const auto& [job, number] : dirty_) CHECK(dirty.contains({job.get(), number}));
  for (const auto& [ticket, running] : tasks_.all()) ++pending[running.held];
  if (sent_) {
    CHECK(publishing_);
    count(sent_->outcomes);
    count(sent_->moves);
    count(sent_->claims);
  }
  // A claim that comes too late is dropped, and its task goes on counting until the lease is lost.
  for (const auto& [id, held] : held_) {
    if (held.job.get() != &nothing_ && !is_over(held)) CHECK(pending[id] <= held.pending);
  }
}

void WorkerMind::check_requests() const {
  CHECK(asks_.open_of<Pull>() == pulling_.size());
  CHECK(asks_.open_of<Renew>() >= renewing_);
  CHECK(!asking_ || !pulling_.empty());
  CHECK(recovering_ == 0 || publishing_);
}

}  // namespace dunlin
