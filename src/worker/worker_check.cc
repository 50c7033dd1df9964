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
  std::map<const Plan*, uint64_t> by_plan;
  for (const auto& [id, held] : held_) {
    CHECK(held.id == id && id <= last_held_);
    CHECK(held.first <= held.next && held.next <= held.last);
    CHECK(!(held.resting && held.adopted));
    CHECK(!(held.splitting && held.finishing));
    if (held.adopted) unstarted += held.last - held.next;
    ++by_plan[held.plan];
    const auto known = by_lease_.find({held.lease.id, held.lease.token});
    CHECK(known != by_lease_.end() && known->second == id);
    if (held.plan == &plan_of_nothing_ || is_over(held)) {
      CHECK(held.next == held.first || held.next == held.last);
      continue;
    }
    CHECK(held.settled + held.pending == held.next - held.first);
    for (const uint64_t page : held.bits) CHECK(held.plan->full.contains(page));
  }
  CHECK(unstarted == unstarted_);
  CHECK(by_lease_.size() == held_.size());
  for (const auto& [job, plan] : plans_) CHECK(plan->held == by_plan[plan.get()]);
  CHECK(plan_of_nothing_.held == by_plan[&plan_of_nothing_]);
}

void WorkerMind::check_amounts() const {
  uint64_t cpus = 0;
  uint64_t mem = 0;
  uint64_t heavy = 0;
  uint64_t doubtful = 0;
  std::set<uint32_t> gpus = gpus_free_;
  size_t gpus_count = gpus.size();
  for (const auto& [ticket, running] : running_) {
    const auto held = held_.find(running.held);
    CHECK(ticket <= last_ticket_ && held != held_.end());
    CHECK(held->second.first <= running.task && running.task < held->second.next);
    const model::Requirements& needs = held->second.plan->spec().requires_();
    cpus += std::max(needs.cpus(), 1U);
    mem += needs.mem_bytes();
    heavy += needs.cpus() > 1 || needs.mem_bytes() > 0 || needs.gpus() > 0 ? 1 : 0;
    doubtful += running.doubtful ? 1 : 0;
    CHECK(running.gpus.size() == needs.gpus());
    gpus.insert(running.gpus.begin(), running.gpus.end());
    gpus_count += running.gpus.size();
  }
  CHECK(cpus == cpus_used_ && mem == mem_used_);
  CHECK(heavy == heavy_ && doubtful == doubtful_);
  CHECK(gpus.size() == gpus_count && gpus_count == options_.gpus);
  for (const auto& [ticket, uploading] : uploading_) {
    CHECK(running_.contains(ticket) && uploading.left > 0);
  }
}

void WorkerMind::check_plans() const {
  uint64_t claims = sent_ ? sent_->claims.size() : 0;
  std::map<uint64_t, uint64_t> pending;  // By held range.
  const auto count = [&](const auto& list) {
    for (const auto& one : list) ++pending[one.held];
  };
  std::set<std::pair<const Plan*, uint64_t>> dirty;
  for (const auto& [job, plan] : plans_) {
    CHECK(plan->job == job);
    uint64_t busy = 0;
    for (const auto& [number, view] : plan->pages) {
      CHECK(view.dirty || !view.has_news());
      CHECK(!view.bad || !view.known);
      if (view.dirty) dirty.insert({plan.get(), number});
      busy += view.dirty ? 1 : 0;
      claims += view.bad ? 0 : view.claims.size();
      count(view.outcomes);
      count(view.moves);
      count(view.claims);
    }
    busy += (plan->climbing ? 1 : 0) + (plan->releasing ? 1 : 0);
    if (sent_) busy += std::ranges::count(sent_->pages, plan.get(), &Draft::Written::plan);
    CHECK(plan->busy >= busy);
  }
  CHECK(claims == claiming_);
  CHECK(dirty.size() == dirty_.size());
  for (const auto& [plan, number] : dirty_) CHECK(dirty.contains({plan, number}));
  for (const auto& [ticket, running] : running_) ++pending[running.held];
  if (sent_) {
    CHECK(publishing_);
    count(sent_->outcomes);
    count(sent_->moves);
    count(sent_->claims);
  }
  // A claim that comes too late is dropped, and its task goes on counting until the lease is lost.
  for (const auto& [id, held] : held_) {
    if (held.plan != &plan_of_nothing_ && !is_over(held)) CHECK(pending[id] <= held.pending);
  }
}

void WorkerMind::check_requests() const {
  size_t pulls = 0;
  size_t renewals = 0;
  for (const auto& [id, asked] : asked_) {
    CHECK(id <= last_ask_);
    if (std::holds_alternative<Pull>(asked.request)) ++pulls;
    const auto* renew = std::get_if<Renew>(&asked.request);
    if (renew != nullptr && !renew->leases.empty()) ++renewals;
  }
  CHECK(pulls == pulling_.size());
  CHECK(renewals == renewing_);
  CHECK(!asking_ || !pulling_.empty());
  CHECK(recovering_ == 0 || publishing_);
  CHECK(slots_ > 0);
}

}  // namespace dunlin
