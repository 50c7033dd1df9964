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
void WorkerMind::climb(JobView& job) {
  if (job.full.empty() || job.climbing || !job.ready) return;
  if (!may_climb(job)) return;
  job.climbing = true;
  const uint32_t root = root_level(job.spec().tasks());
  if (root == 0 && !job.pages[0].known) {
    return read_page(job, 0, [this, pin = Pin(job)] { climb_from(*pin); });
  }
  std::set<std::pair<uint32_t, uint64_t>> missing;
  size_t count = 0;
  for (const auto& [page, counts] : job.full) {
    if (++count > kClimbMax) break;
    for (const auto& place : path_of(page, root)) {
      if (!job.nodes.contains(place)) missing.insert(place);
    }
  }
  if (missing.empty()) return climb_from(job);
  read_nodes(job, {missing.begin(), missing.end()}, [this, &job] { climb_from(job); });
}

// Only who holds a range enters its pages: if its lease is lost, somebody else does. While that is
// in doubt, all of them wait for the renewal.
bool WorkerMind::may_climb(JobView& job) {
  std::set<uint64_t> ours;
  for (const auto& [id, held] : held_) {
    if (held.job.get() != &job || held.bits.empty()) continue;
    if (in_doubt(held)) return false;
    ours.insert(held.bits.begin(), held.bits.end());
  }
  absl::erase_if(job.full, [&](const auto& one) { return !ours.contains(one.first); });
  return !job.full.empty();
}

// These need not be entered any more.
void WorkerMind::forget_bits(JobView& job, const std::vector<uint64_t>& pages) {
  for (const uint64_t page : pages) job.full.erase(page);
  for (auto& [id, held] : held_) {
    if (held.job.get() != &job) continue;
    if (!held.bits.empty()) {
      for (const uint64_t page : pages) held.bits.erase(page);
    }
    settled_.insert(id);
  }
}

void WorkerMind::read_nodes(JobView& job, const std::vector<std::pair<uint32_t, uint64_t>>& which,
                            std::function<void()> then) {
  Get get{std::string(kNodes), {}};
  for (const auto& [level, number] : which) {
    if (get.keys.size() == kBatchMax) break;  // More than kClimbMax pages have.
    get.keys.push_back(node_key(job.id, level, number));
  }
  asks_.get_rows(std::move(get),
                 [this, pin = Pin(job), which, then = std::move(then)](std::vector<Row>&& rows) {
                   if (nodes_read(*pin, which, rows)) then();
                 });
}

bool WorkerMind::nodes_read(JobView& job, const std::vector<std::pair<uint32_t, uint64_t>>& which,
                            const std::vector<Row>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    NodeView& view = job.nodes[which[i]];
    view.version = rows[i].version;
    view.node.Clear();
    if (view.node.ParseFromString(rows[i].value)) continue;
    log::error("node {} is damaged: job {} cannot end before it is repaired", rows[i].key, job.id);
    job.nodes.clear();
    climb_later(job, kBadRowWait);
    return false;
  }
  return true;
}

void WorkerMind::climb_from(JobView& job) {
  const uint32_t root = root_level(job.spec().tasks());
  if (root == 0 && !job.pages[0].known) {
    return job.pages[0].bad ? climb_later(job, kBadRowWait) : climb_again(job);
  }
  Climb climb = climb_of(job);
  // Somebody else has entered one of them, as far as we remember the nodes. But a retry may have
  // taken it out since.
  const bool fresh = std::exchange(job.nodes_fresh, false);
  if (climb.found_there && !fresh) {
    job.nodes.clear();
    job.climbing = false;
    job.nodes_fresh = true;
    return this->climb(job);
  }
  std::vector<Write> writes;
  const auto put = [&](const std::pair<uint32_t, uint64_t>& place) {
    writes.emplace_back(Put{std::string(kNodes), node_key(job.id, place.first, place.second),
                            climb.nodes.at(place).SerializeAsString(), job.nodes[place].version});
  };
  for (const auto& place : climb.changed) put(place);
  const bool ends = climb.complete && !job.end_there;
  if (ends) {
    // What the end rests on is as we saw it, also if we do not change it.
    if (root == 0) {
      const PageView& view = job.pages[0];
      writes.emplace_back(Put{std::string(kPages), page_key(job.id, 0),
                              view.page.SerializeAsString(), view.version});
    } else if (climb.changed.insert({root, 0}).second) {
      put({root, 0});
    }
    draft_end(writes, job, climb.total);
  }
  if (writes.empty()) return climbed(job, climb);
  asks_.commit(std::move(writes),
               [this, pin = Pin(job), ends, climb = std::move(climb)](Answer&& answer) mutable {
                 climb_answered(*pin, std::move(climb), ends, answer);
               });
}

void WorkerMind::climb_answered(JobView& job, Climb&& climb, bool ends, const Answer& answer) {
  const auto* done = std::get_if<Committed>(&answer);
  if (done == nullptr) return climb_again(job);
  // The job was opened again since: pages that were entered then must be entered anew.
  if (climb.round != job.round) return climb_later(job, Millis(0));
  for (const auto& place : climb.changed) {
    job.nodes[place] = {std::move(climb.nodes.at(place)), done->version};
  }
  if (ends && root_level(job.spec().tasks()) == 0) job.pages[0].version = done->version;
  climbed(job, climb);
}

void WorkerMind::climbed(JobView& job, const Climb& climb) {
  job.climbing = false;
  job.collisions = 0;
  forget_bits(job, climb.pages);
  if (climb.complete && climb.round == job.round) drop_job(job);
  if (owes_release(job)) release(job);
  this->climb(job);
}

// Somebody else changed a node or the page, or the end is there already.
void WorkerMind::climb_again(JobView& job) {
  job.nodes.clear();
  if (root_level(job.spec().tasks()) == 0) job.pages[0].known = false;
  const uint64_t most = 2ULL << std::min(job.collisions++, kCollisionDoublings);
  const Millis delay(asks_.random().below(most));
  read_end(job, [this, pin = Pin(job), delay] { climb_later(*pin, delay); });
}

void WorkerMind::climb_later(JobView& job, Millis delay) {
  asks_.later(delay, [this, pin = Pin(job)] {
    pin->climbing = false;
    climb(*pin);
  });
}

// What ends the job. It fails if another job has come after it since we last looked.
void WorkerMind::draft_end(std::vector<Write>& writes, const JobView& job,
                           const Counts& counts) const {
  model::End end;
  end.set_kind(model::End::DONE);
  end.set_ok(counts.ok);
  end.set_failed(counts.failed);
  end.set_ended_us(now_.wall_us);
  writes.emplace_back(Put{std::string(kEnds), job.id, end.SerializeAsString(), 0});
  if (!job.marked) writes.emplace_back(Erase{std::string(kAfter), after_key(job.id, ""), 0});
}

bool WorkerMind::owes_release(const JobView& job) const {
  return job.end_there && job.marked && !job.released;
}

// The end first: what comes after the job since then is the business of who submitted that. The
// other way round we could take an ended job for one that nothing comes after.
void WorkerMind::read_end(JobView& job, std::function<void()> then) {
  ask_for(job, Get{std::string(kEnds), {job.id}},
          [this, &job, round = job.round, then = std::move(then)](Answer&& end) {
            ask_for(job, Get{std::string(kAfter), {after_key(job.id, "")}},
                    [this, &job, round, then, end = std::move(end)](Answer&& answer) {
                      const auto* mark = std::get_if<Rows>(&answer);
                      // Answers may come in any order: what was there once is looked after once.
                      job.marked |= mark != nullptr && mark->rows.at(0).version != 0;
                      const auto* rows = std::get_if<Rows>(&end);
                      // It may have been opened again since.
                      if (rows != nullptr && round == job.round) end_read(job, rows->rows.at(0));
                      then();
                    });
          });
}

void WorkerMind::end_read(JobView& job, const Row& row) {
  job.end_read = true;
  // We may have ended it since it was read. An end stays, until the job is opened again.
  if (row.version != 0) job_has_ended(job);
}

// Or it was removed since.
void WorkerMind::job_has_ended(JobView& job) {
  drop_job(job);
  if (owes_release(job)) release(job);
}

// Nothing of this job is to be done any more: running tasks are stopped, its messages finished.
void WorkerMind::drop_job(JobView& job) {
  job.end_there = true;
  if (std::exchange(job.ended, true)) return;
  jobs_.remember_end(job);
  for (auto& [id, held] : held_) {
    if (held.job.get() != &job) continue;
    abandon(held);
    settled_.insert(id);
  }
}

// Looks after the jobs that come after one that has ended. Its ranges are finished only after that,
// so whoever comes next repeats it if we die. The mark stays if the job is opened again meanwhile.
void WorkerMind::release(JobView& job) {
  if (std::exchange(job.releasing, true)) return;
  const auto done = [this, pin = Pin(job), round = job.round](Answer&& answer) {
    released(*pin, round, answer);
  };
  asks_.ask(Get{std::string(kEnds), {job.id}}, [this, &job, done](Answer&& answer) {
    const auto* rows = std::get_if<Rows>(&answer);
    if (rows == nullptr || rows->rows.at(0).version == 0) return done(Done{});
    const uint64_t id = ++last_cascade_;
    cascades_.emplace(id, RunningCascade{Cascade::after(job.id), [this, done, end = rows->rows[0]] {
                                           asks_.commit(released_writes(end), done);
                                         }});
    cascade(id);
  });
}

void WorkerMind::released(JobView& job, uint32_t round, const Answer& answer) {
  job.releasing = false;
  // The row of the end has another version: the job was opened again, or whoever submitted
  // another job after it has compared it. Then the mark is still there.
  const bool conflict = std::holds_alternative<Error>(answer);
  job.released = job.round == round && !conflict;
  for (const auto& [id, held] : held_) {
    if (held.job.get() == &job) settled_.insert(id);
  }
  if (owes_release(job)) release(job);
}

void WorkerMind::cascade(uint64_t id) {
  Cascade& now = cascades_.at(id).cascade;
  if (now.done()) {
    const std::function<void()> then = std::move(cascades_.at(id).then);
    cascades_.erase(id);
    return then();
  }
  Request request = now.next(now_.wall_us);
  if (auto* commit = std::get_if<Commit>(&request)) commit->nonce = asks_.random().next() | 1U;
  asks_.ask(std::move(request), [this, id](Answer&& answer) {
    const Result<void> taken = cascades_.at(id).cascade.take(std::move(answer));
    if (taken.ok()) return cascade(id);
    // The mark stays, so whoever gets the message again begins again; and so do we.
    log::error("cannot look after the jobs that come after another: {}", taken.error().what);
    asks_.later(kBadRowWait, [this, id] { cascade(id); });
  });
}

}  // namespace dunlin
