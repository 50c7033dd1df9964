// The completion tree, the end of jobs, and the jobs that come after them.

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "base/log.h"
#include "model/cascade.h"
#include "model/release.h"
#include "worker/worker.h"

namespace dunlin {
namespace {

constexpr uint32_t kCollisionDoublings = 6;
constexpr size_t kEndedMax = 4096;

std::vector<std::pair<uint32_t, uint64_t>> path_of(uint64_t page, uint32_t root) {
  std::vector<std::pair<uint32_t, uint64_t>> path;
  uint64_t number = page;
  for (uint32_t level = 1; level <= root; ++level) {
    number = parent_of(number);
    path.emplace_back(level, number);
  }
  return path;
}

}  // namespace

// Enters full pages into the tree. Nodes are shared by all workers of the job, so this is a commit
// of its own: who loses a race repeats little.
void WorkerMind::climb(Plan& plan) {
  if (plan.full.empty() || plan.climbing || !plan.ready) return;
  if (!may_climb(plan)) return;
  plan.climbing = true;
  ++plan.busy;
  const uint32_t root = root_level(plan.spec().tasks());
  if (root == 0 && !plan.pages[0].known) {
    return read_page(plan, 0, [this, &plan] { climb_from(plan); });
  }
  std::set<std::pair<uint32_t, uint64_t>> missing;
  size_t count = 0;
  for (const auto& [page, counts] : plan.full) {
    if (++count > kClimbMax) break;
    for (const auto& place : path_of(page, root)) {
      if (!plan.nodes.contains(place)) missing.insert(place);
    }
  }
  if (missing.empty()) return climb_from(plan);
  read_nodes(plan, {missing.begin(), missing.end()}, [this, &plan] { climb_from(plan); });
}

// Only who holds a range enters its pages: if its lease is lost, somebody else does. While that is
// in doubt, all of them wait for the renewal.
bool WorkerMind::may_climb(Plan& plan) {
  std::set<uint64_t> ours;
  for (const auto& [id, held] : held_) {
    if (held.plan != &plan || held.bits.empty()) continue;
    if (in_doubt(held)) return false;
    ours.insert(held.bits.begin(), held.bits.end());
  }
  absl::erase_if(plan.full, [&](const auto& one) { return !ours.contains(one.first); });
  return !plan.full.empty();
}

// These need not be entered any more.
void WorkerMind::forget_bits(Plan& plan, const std::vector<uint64_t>& pages) {
  for (const uint64_t page : pages) plan.full.erase(page);
  for (auto& [id, held] : held_) {
    if (held.plan != &plan) continue;
    if (!held.bits.empty()) {
      for (const uint64_t page : pages) held.bits.erase(page);
    }
    settled_.insert(id);
  }
}

void WorkerMind::read_nodes(Plan& plan, const std::vector<std::pair<uint32_t, uint64_t>>& which,
                            std::function<void()> then) {
  Get get{std::string(kNodes), {}};
  for (const auto& [level, number] : which) {
    if (get.keys.size() == kBatchMax) break;  // More than kClimbMax pages have.
    get.keys.push_back(node_key(plan.job, level, number));
  }
  ++plan.busy;
  get_rows(std::move(get), [this, &plan, which, then = std::move(then)](std::vector<Row>&& rows) {
    --plan.busy;
    for (size_t i = 0; i < rows.size(); ++i) {
      NodeView& view = plan.nodes[which[i]];
      view.version = rows[i].version;
      view.node.Clear();
      if (view.node.ParseFromString(rows[i].value)) continue;
      log::error("node {} is damaged: job {} cannot end before it is repaired", rows[i].key,
                 plan.job);
      plan.nodes.clear();
      return climb_later(plan, kBadRowWait);
    }
    then();
    tidy(plan);
  });
}

void WorkerMind::climb_from(Plan& plan) {
  const uint32_t root = root_level(plan.spec().tasks());
  if (root == 0 && !plan.pages[0].known) {
    return plan.pages[0].bad ? climb_later(plan, kBadRowWait) : climb_again(plan);
  }
  Climb climb = climb_of(plan);
  // Somebody else has entered one of them, as far as we remember the nodes. But a retry may have
  // taken it out since.
  const bool fresh = std::exchange(plan.nodes_fresh, false);
  if (climb.found_there && !fresh) {
    plan.nodes.clear();
    plan.climbing = false;
    plan.nodes_fresh = true;
    this->climb(plan);
    --plan.busy;
    return;
  }
  std::vector<Write> writes;
  const auto put = [&](const std::pair<uint32_t, uint64_t>& place) {
    writes.emplace_back(Put{std::string(kNodes), node_key(plan.job, place.first, place.second),
                            climb.nodes.at(place).SerializeAsString(), plan.nodes[place].version});
  };
  for (const auto& place : climb.changed) put(place);
  const bool ends = climb.complete && !plan.end_there;
  if (ends) {
    // What the end rests on is as we saw it, also if we do not change it.
    if (root == 0) {
      const PageView& view = plan.pages[0];
      writes.emplace_back(Put{std::string(kPages), page_key(plan.job, 0),
                              view.page.SerializeAsString(), view.version});
    } else if (climb.changed.insert({root, 0}).second) {
      put({root, 0});
    }
    draft_end(writes, plan, climb.total);
  }
  if (writes.empty()) return climbed(plan, climb);
  commit(std::move(writes),
         [this, &plan, ends, root, climb = std::move(climb)](Answer&& answer) mutable {
           const auto* done = std::get_if<Committed>(&answer);
           if (done == nullptr) return climb_again(plan);
           // The job was opened again since: pages that were entered then must be entered anew.
           if (climb.round != plan.round) return climb_later(plan, Millis(0));
           for (const auto& place : climb.changed) {
             plan.nodes[place] = {std::move(climb.nodes.at(place)), done->version};
           }
           if (ends && root == 0) plan.pages[0].version = done->version;
           climbed(plan, climb);
         });
}

void WorkerMind::climbed(Plan& plan, const Climb& climb) {
  plan.climbing = false;
  plan.collisions = 0;
  forget_bits(plan, climb.pages);
  if (climb.complete && climb.round == plan.round) end_plan(plan);
  if (owes_release(plan)) release(plan);
  --plan.busy;
  this->climb(plan);
  tidy(plan);
}

// Somebody else changed a node or the page, or the end is there already.
void WorkerMind::climb_again(Plan& plan) {
  plan.nodes.clear();
  if (root_level(plan.spec().tasks()) == 0) plan.pages[0].known = false;
  const uint64_t most = 2ULL << std::min(plan.collisions++, kCollisionDoublings);
  const Millis delay(random_.below(most));
  read_end(plan, [this, &plan, delay] { climb_later(plan, delay); });
}

void WorkerMind::climb_later(Plan& plan, Millis delay) {
  later(delay, [this, &plan] {
    plan.climbing = false;
    climb(plan);
    --plan.busy;  // Of this round; climb() has counted its own.
    tidy(plan);
  });
}

// What ends the job. It fails if another job has come after it since we last looked.
void WorkerMind::draft_end(std::vector<Write>& writes, const Plan& plan,
                           const Counts& counts) const {
  model::End end;
  end.set_kind(model::End::DONE);
  end.set_ok(counts.ok);
  end.set_failed(counts.failed);
  end.set_ended_us(now_.wall_us);
  writes.emplace_back(Put{std::string(kEnds), plan.job, end.SerializeAsString(), 0});
  if (!plan.marked) writes.emplace_back(Erase{std::string(kAfter), after_key(plan.job, ""), 0});
}

bool WorkerMind::owes_release(const Plan& plan) const {
  return plan.end_there && plan.marked && !plan.released;
}

// The end first: what comes after the job since then is the business of who submitted that. The
// other way round we could take an ended job for one that nothing comes after.
void WorkerMind::read_end(Plan& plan, std::function<void()> then) {
  ask_for(plan, Get{std::string(kEnds), {plan.job}},
          [this, &plan, round = plan.round, then = std::move(then)](Answer&& end) {
            ask_for(plan, Get{std::string(kAfter), {after_key(plan.job, "")}},
                    [this, &plan, round, then, end = std::move(end)](Answer&& answer) {
                      const auto* mark = std::get_if<Rows>(&answer);
                      // Answers may come in any order: what was there once is looked after once.
                      plan.marked |= mark != nullptr && mark->rows.at(0).version != 0;
                      const auto* rows = std::get_if<Rows>(&end);
                      // It may have been opened again since.
                      if (rows != nullptr && round == plan.round) end_read(plan, rows->rows.at(0));
                      then();
                    });
          });
}

void WorkerMind::end_read(Plan& plan, const Row& row) {
  plan.end_read = true;
  // We may have ended it since it was read. An end stays, until the job is opened again.
  if (row.version != 0) job_has_ended(plan);
}

// Or it was removed since.
void WorkerMind::job_has_ended(Plan& plan) {
  end_plan(plan);
  if (owes_release(plan)) release(plan);
}

// Nothing of this job is to be done any more: running tasks are stopped, its messages finished.
void WorkerMind::end_plan(Plan& plan) {
  plan.end_there = true;
  if (std::exchange(plan.ended, true)) return;
  if (ended_.size() >= kEndedMax) ended_.clear();
  ended_[plan.job] = plan.round;
  for (auto& [id, held] : held_) {
    if (held.plan != &plan) continue;
    abandon(held);
    settled_.insert(id);
  }
}

// Looks after the jobs that come after one that has ended. Its ranges are finished only after that,
// so whoever comes next repeats it if we die. The mark stays if the job is opened again meanwhile.
void WorkerMind::release(Plan& plan) {
  if (std::exchange(plan.releasing, true)) return;
  ++plan.busy;
  const auto done = [this, &plan, round = plan.round](Answer&& answer) {
    plan.releasing = false;
    // The row of the end has another version: the job was opened again, or whoever submitted
    // another job after it has compared it. Then the mark is still there.
    const bool conflict = std::holds_alternative<Error>(answer);
    plan.released = plan.round == round && !conflict;
    --plan.busy;
    for (const auto& [id, held] : held_) {
      if (held.plan == &plan) settled_.insert(id);
    }
    if (owes_release(plan)) release(plan);
    tidy(plan);
  };
  ask(Get{std::string(kEnds), {plan.job}}, [this, &plan, done](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr || rows->rows.at(0).version == 0) return done(Done{});
    const uint64_t id = ++last_cascade_;
    cascades_.emplace(id,
                      RunningCascade{Cascade::after(plan.job), [this, done, end = rows->rows[0]] {
                                       commit(released_writes(end), done);
                                     }});
    cascade(id);
  });
}

void WorkerMind::cascade(uint64_t id) {
  Cascade& now = cascades_.at(id).cascade;
  if (now.done()) {
    const std::function<void()> then = std::move(cascades_.at(id).then);
    cascades_.erase(id);
    return then();
  }
  Request request = now.next(now_.wall_us);
  if (auto* commit = std::get_if<Commit>(&request)) commit->nonce = random_.next() | 1U;
  ask(std::move(request), [this, id](Answer&& answer) {
    const Result<void> taken = cascades_.at(id).cascade.take(std::move(answer));
    if (taken.ok()) return cascade(id);
    // The mark stays, so whoever gets the message again begins again; and so do we.
    log::error("cannot look after the jobs that come after another: {}", taken.error().what);
    later(kBadRowWait, [this, id] { cascade(id); });
  });
}

}  // namespace dunlin
